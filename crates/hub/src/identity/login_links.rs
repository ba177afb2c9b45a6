//! Links that log in once.

use domain::Id;
use domain::accounts::Account;
use domain::audit::Chain;
use domain::login_links::{LinkRefusal, LoginLink};
use domain::login_sessions::LoginMethod;
use domain::organizations::Organization;
use domain::secrets::{Secret, SecretKind};
use domain::subject::Subject;
use records::{Tx, accounts, login_links};

use super::founding::Maker;
use super::login_sessions::{Beginner, LoggedIn};
use crate::{Hub, HubError, Origin, audit};

/// Makes a link for the account, under the hash of its secret.
pub(crate) async fn make(
    tx: &mut Tx,
    maker: Maker<'_>,
    account: &Account,
    home: Option<Id<Organization>>,
    secret: &Secret,
) -> Result<(), HubError> {
    let link = LoginLink::made(maker.ids.id(), account.id, maker.now);
    login_links::insert(tx, &link, &secret.hash()).await?;
    let chain = home.map_or(Chain::Instance, Chain::Organization);
    let mut entry = maker.entry(chain, "login_link:made", Subject::new("login_link", link.id));
    entry.details.insert("account_id".into(), account.id.to_string().into());
    entry.details.insert("expires_at".into(), link.expires_at.to_string().into());
    audit::record(tx, &entry).await
}

/// Logs in whoever has the link. It works once.
pub async fn consume(hub: &Hub, token: &str, origin: &Origin) -> Result<LoggedIn, HubError> {
    let unknown = || HubError::NotFound("login link");
    let link = Secret::parse_as(SecretKind::Link, token.trim()).map_err(|_| unknown())?;
    let input = (Beginner::new(hub, origin)?, link);
    hub.records.write(input, |tx, (beginner, link)| Box::pin(consume_unit(tx, beginner, link))).await
}

async fn consume_unit(tx: &mut Tx, beginner: &Beginner, secret: &Secret) -> Result<LoggedIn, HubError> {
    let link = login_links::by_hash_locked(tx, &secret.hash()).await?;
    let link = link.ok_or(HubError::NotFound("login link"))?;
    link.usable(beginner.now).map_err(|refusal| {
        HubError::Expired(match refusal {
            LinkRefusal::Used => "this link was used already; it works once",
            LinkRefusal::Expired => "this link has expired; it works for 15 minutes",
        })
    })?;
    let account = accounts::get_shared(tx, link.account_id).await?.filter(Account::may_log_in);
    let account = account.ok_or(HubError::Expired("the account of this link may not log in"))?;
    login_links::mark_used(tx, &link, beginner.now).await?;
    beginner.begin_at_home(tx, account, LoginMethod::Link).await
}
