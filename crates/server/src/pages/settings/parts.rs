//! What the page shows of each kind, as far as the reader may see it.

use domain::Id;
use domain::accounts::AccountStatus;
use domain::cursor::CursorKey;
use domain::members::Member;
use domain::permissions::Capability;
use hub::identity::api_keys;
use hub::identity::members::{self, Looking};
use hub::webhooks::endpoints;
use hub::{HubError, MemberPlace, WantedMembers};
use uuid::Uuid;

use super::Asking;
use crate::App;
use crate::api::page::List;
use crate::pages::lists::{Address, Names, given};
use crate::pages::shell::Shell;
use crate::pages::show::{Face, Markup, absolute, ago, line};
use crate::problem::Problem;

const SHOWN: usize = 25;

/// Some of a kind, and whether there are more; or nothing, because it is not the reader's to see.
pub(super) enum Shared<T> {
    Some { rows: Vec<T>, more: bool },
    Denied,
}

impl<T> Shared<T> {
    fn of<S>(mut found: Vec<S>, row: impl Fn(S) -> T) -> Self {
        let more = found.len() > SHOWN;
        found.truncate(SHOWN);
        Self::Some { rows: found.into_iter().map(row).collect(), more }
    }
}

fn read() -> i64 {
    i64::try_from(SHOWN + 1).unwrap_or(i64::MAX)
}

/// A part of the hub.
pub(super) struct HealthRow {
    pub(super) name: &'static str,
    pub(super) ok: bool,
    /// For those who may read the instance's metrics.
    pub(super) detail: Option<String>,
}

pub(super) async fn health(app: &App, shell: &Shell) -> Vec<HealthRow> {
    let may = shell.caller.capabilities.contains(Capability::MetricsRead);
    let checks = hub::health::checks(&app.hub).await;
    let row = |check: hub::health::Check| HealthRow {
        name: check.name,
        ok: check.ok,
        detail: may.then_some(check.detail),
    };
    checks.into_iter().map(row).collect()
}

/// Somebody who belongs here.
pub(super) struct AccountRow {
    pub(super) id: Uuid,
    pub(super) face: Face,
    pub(super) email: Markup,
    pub(super) roles: Vec<Markup>,
    pub(super) status: &'static str,
    pub(super) is_active: bool,
}

/// Some who belong here, by name, and where the others are.
pub(super) struct Accounts {
    pub(super) shared: Shared<AccountRow>,
    /// Who is looked for.
    pub(super) sought: String,
    pub(super) older: Option<String>,
    pub(super) newest: Option<String>,
}

pub(super) async fn accounts(app: &App, shell: &Shell, asking: &Asking) -> Result<Accounts, Problem> {
    let sought = given(asking.who.as_deref());
    let cursor = given(asking.cursor.as_deref());
    let mut accounts = Accounts {
        shared: Shared::Denied,
        sought: sought.unwrap_or_default().to_owned(),
        older: None,
        newest: None,
    };
    if shell.caller.require(Capability::AccountsRead).is_err() {
        return Ok(accounts);
    }
    let list = List::new(&shell.caller, "pages/settings/accounts").filtered("who", sought);
    let after = match list.keys(cursor)?.as_deref() {
        None => None,
        Some([CursorKey::Text(name), CursorKey::Uuid(id)]) => Some((name.as_bytes().to_vec(), Id::new(*id))),
        Some(_) => return Err(Problem::field("/cursor", "not of this list")),
    };
    let wanted = sought.map_or(WantedMembers::Everybody, |text| WantedMembers::Called(text.to_owned()));
    let org = shell.caller.credential.organization.id;
    let looking = Looking { org, wanted, after, limit: read() };
    let found = members::list(&app.hub, &shell.caller, looking).await?;
    let place = |(_, (name, id)): &&(Member, MemberPlace)| {
        vec![CursorKey::Text(String::from_utf8_lossy(name).into_owned()), CursorKey::Uuid(id.raw())]
    };
    let next = list.page(found.iter().collect(), SHOWN, place, |_| ()).next_cursor;
    let address = Address::of("/settings").maybe("who", sought);
    let at = |address: &Address| format!("{address}#accounts");
    accounts.older = next.map(|cursor| at(&address.clone().with("cursor", cursor)));
    accounts.newest = cursor.map(|_| at(&address));
    let names = Names::of(app, shell, found.iter().map(|(member, _)| member.account.id)).await?;
    accounts.shared = Shared::of(found, |(member, _)| AccountRow {
        id: member.account.id.raw(),
        face: names.face(member.account.id),
        email: line(&member.account.email),
        roles: member
            .seat
            .as_ref()
            .map(|seat| seat.role_names().iter().map(|role| line(role)).collect())
            .unwrap_or_default(),
        status: member.account.status.as_str(),
        is_active: member.account.status == AccountStatus::Active,
    });
    Ok(accounts)
}

/// A key, without its secret.
pub(super) struct KeyRow {
    pub(super) id: Uuid,
    pub(super) name: Markup,
    pub(super) prefix: String,
    pub(super) owner: Face,
    pub(super) scopes: Markup,
    pub(super) used: Option<Markup>,
    pub(super) ends: String,
    pub(super) is_over: bool,
}

pub(super) async fn keys(app: &App, shell: &Shell) -> Result<Shared<KeyRow>, HubError> {
    if shell.caller.require(Capability::KeysRead).is_err() {
        return Ok(Shared::Denied);
    }
    let found = api_keys::list(&app.hub, &shell.caller, None, read()).await?;
    let names = Names::of(app, shell, found.iter().map(|key| key.owner_id)).await?;
    Ok(Shared::of(found, |key| {
        let ended = key.revoked_at.or(key.expires_at.filter(|at| *at <= shell.now));
        KeyRow {
            id: key.id.raw(),
            name: line(&key.name),
            prefix: key.prefix,
            owner: names.face(key.owner_id),
            scopes: line(
                &key.scopes.map_or_else(|| "all its owner may".to_owned(), |scopes| scopes.join(", ")),
            ),
            used: key.last_used_at.map(|at| ago(at, shell.now)),
            ends: match (ended, key.expires_at) {
                (Some(at), _) => format!("ended {}", absolute(at)),
                (None, Some(at)) => absolute(at),
                (None, None) => "no end".to_owned(),
            },
            is_over: ended.is_some() || !key.enabled,
        }
    }))
}

/// An endpoint, without its secret.
pub(super) struct WebhookRow {
    pub(super) id: Uuid,
    pub(super) url: Markup,
    pub(super) types: Markup,
    pub(super) format: &'static str,
    pub(super) active: bool,
}

pub(super) async fn webhooks(app: &App, shell: &Shell) -> Result<Shared<WebhookRow>, HubError> {
    if shell.caller.require(Capability::WebhooksRead).is_err() {
        return Ok(Shared::Denied);
    }
    let found = endpoints::list(&app.hub, &shell.caller, None, read()).await?;
    Ok(Shared::of(found, |webhook| WebhookRow {
        id: webhook.id.raw(),
        url: line(&webhook.url),
        types: line(&match webhook.types.is_empty() {
            true => "everything".to_owned(),
            false => webhook.types.join(", "),
        }),
        format: webhook.format.as_str(),
        active: webhook.active,
    }))
}
