//! Logging in at a provider: a browser is sent there, comes back once, and is somebody or nobody.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Id;
use domain::accounts::Account;
use domain::id_tokens::Claims;
use domain::login_sessions::LoginMethod;
use domain::oidc_flows::{FLOW_LASTS, OidcFlow};
use domain::permissions::Capability;
use domain::secrets::{Secret, SecretKind};
use records::{Tx, accounts, oidc_flows};

use super::authenticate::{authenticate, confirm};
use super::external_identities::{self, Named};
use super::failed_logins::{self, Failure};
use super::login_sessions::{Beginner, LoggedIn};
use super::oidc::{Asking, Coming, Provider, Trouble, Unproven};
use crate::ids::{random, secret};
use crate::{Caller, Hub, HubError, Origin};

/// Where a browser wants to be sent, and why.
pub struct Leaving<'a> {
    /// Where the provider sends it back to.
    pub redirect_uri: &'a str,
    /// Where the person goes then.
    pub next: Option<&'a str>,
    /// Whose account is to be connected; none to log in.
    pub connects: Option<&'a Caller>,
}

/// A browser on its way.
pub struct Sent {
    /// Where to.
    pub location: String,
    /// What only this browser has.
    pub browser: Secret,
}

fn provider(hub: &Hub) -> Result<&Provider, HubError> {
    hub.config.oidc.as_ref().ok_or(HubError::NotFound("way to sign in at this hub"))
}

fn unavailable(provider: &Provider) -> impl FnOnce(Trouble) -> HubError {
    |_| HubError::ProviderUnavailable(provider.settings().name.clone())
}

/// Looks at the provider once, beside the start, so that the operator is told early if something is wrong.
pub(crate) fn get_ready(hub: &Hub) {
    if hub.config.oidc.is_none() {
        return;
    }
    let asking = hub.clone();
    hub.lifecycle.spawn(async move {
        if let Some(provider) = &asking.config.oidc {
            tokio::select! {
                // What was wrong is in the log already.
                found = provider.find(&*asking.clock) => drop(found),
                () = asking.lifecycle.stopping() => {}
            }
        }
    });
}

struct Begin {
    flow: OidcFlow,
    state_hash: [u8; 32],
    connects: Option<Caller>,
}

/// Sends a browser to the provider.
pub async fn begin(hub: &Hub, leaving: &Leaving<'_>, origin: &Origin) -> Result<Sent, HubError> {
    let provider = provider(hub)?;
    let now = hub.clock.now();
    hub.coordination.attempts.flow(origin, now)?;
    let found = provider.find(&*hub.clock).await.map_err(unavailable(provider))?;
    let (state, browser) = (secret(SecretKind::State)?, secret(SecretKind::Browser)?);
    let [nonce, verifier] = [random::<32>()?, random::<32>()?].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
    let now = hub.clock.now();
    let flow = OidcFlow {
        id: hub.ids.id(),
        browser_hash: browser.hash(),
        nonce,
        verifier,
        next: leaving.next.map(str::to_owned),
        link_account_id: leaving.connects.map(|caller| caller.credential.account.id),
        expires_at: now.plus(FLOW_LASTS),
        created_at: now,
        updated_at: now,
    };
    let asking = Asking {
        state: state.expose(),
        nonce: &flow.nonce,
        verifier: &flow.verifier,
        redirect_uri: leaving.redirect_uri,
    };
    let location = provider.authorization(&found, &asking).to_string();
    let input = Begin { flow, state_hash: state.hash(), connects: leaving.connects.cloned() };
    hub.records.write(input, |tx, input| Box::pin(begin_unit(tx, input))).await?;
    Ok(Sent { location, browser })
}

async fn begin_unit(tx: &mut Tx, input: &Begin) -> Result<(), HubError> {
    if let Some(caller) = &input.connects {
        may_connect(caller)?;
        confirm(tx, caller, Capability::AccountsWrite, input.flow.created_at).await?;
    }
    Ok(oidc_flows::insert(tx, &input.flow, &input.state_hash).await?)
}

/// A key must not grow into a login, and services have none.
fn may_connect(caller: &Caller) -> Result<(), HubError> {
    let credential = &caller.credential;
    if credential.login().is_none() || !credential.account.access_level.is_person() {
        return Err(HubError::Forbidden(
            "only people connect their accounts, and only where they log in".into(),
        ));
    }
    Ok(())
}

/// What the provider answers through the browser.
pub enum Answer {
    /// The person logged in there; this is exchanged for who it is.
    Code(String),
    /// They did not, or the provider did not let them.
    Refusal,
}

/// A browser that comes back.
pub struct Returned {
    /// What it was given for the way.
    pub state: String,
    /// What only the browser has that was sent.
    pub browser: Option<String>,
    /// The login the browser has, if it has one.
    pub login: Option<String>,
    /// What the provider answers.
    pub answer: Answer,
    /// Who the provider says it is.
    pub issuer: Option<String>,
    /// Where it was sent back to.
    pub redirect_uri: String,
}

/// How it ended well.
pub enum Arrived {
    /// Somebody is logged in and wanted to go there.
    LoggedIn(Box<LoggedIn>, Option<String>),
    /// The account is connected.
    Connected,
}

/// Takes a browser back. Whatever happens, its flow is over.
pub async fn come_back(hub: &Hub, returned: &Returned, origin: &Origin) -> Result<Arrived, HubError> {
    let provider = provider(hub)?;
    // Whoever comes without a flow of this browser is counted against nobody: any page can make a browser do that.
    let flow = end(hub, returned).await?;
    let attempt = hub.coordination.attempts.come_back(origin, hub.clock.now())?;
    let arrived = arrive(hub, provider, &flow, returned, origin).await;
    if matches!(arrived, Ok(_) | Err(HubError::ProviderUnavailable(_))) {
        // A provider that is away is nobody's failure to log in.
        attempt.succeeded();
    }
    arrived
}

const NOT_THIS_BROWSER: HubError = HubError::Expired(
    "nobody was signed in: this took longer than 10 minutes, was finished already, or began in another browser",
);

/// Ends the flow, if this is the browser that was sent.
async fn end(hub: &Hub, returned: &Returned) -> Result<OidcFlow, HubError> {
    let state = Secret::parse_as(SecretKind::State, &returned.state).map_err(|_| NOT_THIS_BROWSER)?;
    let browser = returned.browser.as_deref().unwrap_or_default();
    let browser = Secret::parse_as(SecretKind::Browser, browser).map_err(|_| NOT_THIS_BROWSER)?;
    let input = (state.hash(), browser.hash(), hub.clock.now());
    hub.records
        .write(input, |tx, (state, browser, now)| {
            Box::pin(async move {
                let flow = oidc_flows::by_state_locked(tx, state).await?;
                let flow = flow.filter(|flow| flow.may_return(browser, *now)).ok_or(NOT_THIS_BROWSER)?;
                oidc_flows::delete(tx, &flow).await?;
                Ok(flow)
            })
        })
        .await
}

async fn arrive(
    hub: &Hub,
    provider: &Provider,
    flow: &OidcFlow,
    returned: &Returned,
    origin: &Origin,
) -> Result<Arrived, HubError> {
    let claims = match prove(hub, provider, flow, returned).await {
        Ok(claims) => claims,
        Err(Unproven::Trouble(trouble)) => return Err(unavailable(provider)(trouble)),
        Err(Unproven::Refused(reason)) => {
            note(hub, flow, None, &reason, origin).await?;
            return Err(HubError::Unauthenticated(match returned.answer {
                Answer::Refusal => "the provider signed nobody in",
                Answer::Code(_) => "what the provider answered cannot be trusted; nobody was signed in",
            }));
        }
    };
    let named = Named { issuer: provider.settings().issuer.as_str().to_owned(), claims };
    match flow.link_account_id {
        None => log_in(hub, flow, named, origin).await,
        Some(account) => {
            let connected = connect(hub, account, returned, named, origin).await;
            if let Err(refusal @ (HubError::Unauthenticated(_) | HubError::Conflict(_))) = &connected {
                note(hub, flow, None, &refusal.to_string(), origin).await?;
            }
            connected
        }
    }
}

async fn prove(
    hub: &Hub,
    provider: &Provider,
    flow: &OidcFlow,
    returned: &Returned,
) -> Result<Claims, Unproven> {
    let Answer::Code(code) = &returned.answer else {
        return Err(Unproven::Refused("the provider signed nobody in".to_owned()));
    };
    let found = provider.find(&*hub.clock).await?;
    let issuer = returned.issuer.as_deref();
    let coming = Coming { code, issuer, redirect_uri: &returned.redirect_uri };
    provider.prove(&found, &coming, flow, &*hub.clock).await
}

/// Puts on record that a flow led nowhere: about the account where one is known, else about the flow itself.
async fn note(
    hub: &Hub,
    flow: &OidcFlow,
    account: Option<Account>,
    reason: &str,
    origin: &Origin,
) -> Result<(), HubError> {
    let account = match (account, flow.link_account_id) {
        (None, Some(id)) => hub.records.read(id, |tx, id| Box::pin(accounts::get(tx, *id))).await?,
        (account, _) => account,
    };
    let failure = match account {
        Some(account) => Failure::of(&account, LoginMethod::Oidc),
        None => Failure::of_nobody(flow),
    };
    failed_logins::note(hub, &failure.because(reason), origin);
    Ok(())
}

struct LogIn {
    beginner: Beginner,
    named: Named,
}

/// What the provider's word is worth here.
enum Here {
    LoggedIn(Box<LoggedIn>),
    MayNot(Account),
    Nobody,
}

async fn log_in(hub: &Hub, flow: &OidcFlow, named: Named, origin: &Origin) -> Result<Arrived, HubError> {
    let input = LogIn { beginner: Beginner::new(hub, origin)?, named };
    let here = hub.records.write(input, |tx, input| Box::pin(log_in_unit(tx, input))).await?;
    let (account, reason, told) = match here {
        Here::LoggedIn(logged_in) => return Ok(Arrived::LoggedIn(logged_in, flow.next.clone())),
        Here::MayNot(account) => {
            (Some(account), "the account may not log in", "your account may not sign in here; ask an admin")
        }
        Here::Nobody => (
            None,
            "no account is connected",
            "nobody here is known by that identity; ask an admin for an account with your e-mail. If you have one, \
             sign in to it another way and connect it on its page",
        ),
    };
    note(hub, flow, account, reason, origin).await?;
    Err(HubError::Forbidden(told.to_owned()))
}

async fn log_in_unit(tx: &mut Tx, input: &LogIn) -> Result<Here, HubError> {
    let LogIn { beginner, named } = input;
    let account = match external_identities::known(tx, named).await? {
        Some(account) if account.may_log_in() => account,
        Some(account) => return Ok(Here::MayNot(account)),
        None => match external_identities::enrollable(tx, named).await? {
            Some(account) => {
                external_identities::enrol(tx, beginner, named, &account).await?;
                account
            }
            None => return Ok(Here::Nobody),
        },
    };
    let logged_in = beginner.begin_at_home(tx, account, LoginMethod::Oidc).await?;
    Ok(Here::LoggedIn(Box::new(logged_in)))
}

/// Connects the account that the flow began with, if the browser is still logged in as it.
async fn connect(
    hub: &Hub,
    account: Id<Account>,
    returned: &Returned,
    named: Named,
    origin: &Origin,
) -> Result<Arrived, HubError> {
    const OUT: HubError =
        HubError::Unauthenticated("you were signed out meanwhile; sign in and connect your account again");
    let login = returned.login.as_deref().ok_or(OUT)?;
    let caller = authenticate(hub, login, origin.clone()).await.map_err(|error| match error {
        HubError::Unauthenticated(_) => OUT,
        other => other,
    })?;
    if caller.credential.account.id != account {
        return Err(OUT);
    }
    may_connect(&caller)?;
    external_identities::connect(hub, &caller, named).await?;
    Ok(Arrived::Connected)
}
