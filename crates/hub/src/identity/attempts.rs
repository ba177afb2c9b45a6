//! How often one may try to log in. An attempt counts from its beginning, so that many at once are no way around the
//! limit, and is given back when it turns out well.

use std::net::{IpAddr, Ipv4Addr};

use coordination::limits::Limits;
use domain::accounts::Account;
use domain::canonical::sha256;
use domain::limits::{Decision, QUARTER_HOUR};
use domain::{Id, Timestamp};

use crate::{HubError, Origin};

/// Failures in a quarter of an hour, for each account and for each address (DECISIONS 21).
const FAILURES_MAX: u32 = 10;
/// Programs that ask for a login in a quarter of an hour, for each address.
const DEVICES_MAX: u32 = 60;
/// Browsers that are sent to the provider of logins in a quarter of an hour, for each address.
const FLOWS_MAX: u32 = 60;

/// Counts attempts in windows of a quarter of an hour.
pub(crate) struct Attempts {
    /// By e-mail, whether there is an account with it or not; hashed, so that each takes little space.
    by_email: Limits<[u8; 32], QUARTER_HOUR>,
    by_address: Limits<IpAddr, QUARTER_HOUR>,
    codes: Limits<Id<Account>, QUARTER_HOUR>,
    devices: Limits<IpAddr, QUARTER_HOUR>,
    flows: Limits<IpAddr, QUARTER_HOUR>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            by_email: Limits::new(FAILURES_MAX),
            by_address: Limits::new(FAILURES_MAX),
            codes: Limits::new(FAILURES_MAX),
            devices: Limits::new(DEVICES_MAX),
            flows: Limits::new(FLOWS_MAX),
        }
    }
}

/// An attempt to log in that counts as a failure until it has succeeded.
pub(crate) struct Attempt<'a> {
    attempts: &'a Attempts,
    email: Option<[u8; 32]>,
    address: Option<IpAddr>,
    at: Timestamp,
}

impl Attempts {
    /// Begins an attempt with a password from elsewhere, unless there were too many.
    pub(crate) fn log_in(
        &self,
        email: &str,
        origin: &Origin,
        at: Timestamp,
    ) -> Result<Attempt<'_>, HubError> {
        let from = self.come_back(origin, at)?;
        match self.prove(email, at) {
            Ok(attempt) => Ok(Attempt { email: attempt.email, ..from }),
            Err(refused) => {
                // It was not looked at, so it is no failure of the address.
                from.succeeded();
                Err(refused)
            }
        }
    }

    /// Begins an attempt of which only the address is known: somebody comes back from the provider of logins.
    pub(crate) fn come_back(&self, origin: &Origin, at: Timestamp) -> Result<Attempt<'_>, HubError> {
        let address = address(origin);
        let what = "too many failed attempts to sign in from your address";
        allowed(self.by_address.check(address, at), what)?;
        Ok(Attempt { attempts: self, email: None, address: Some(address), at })
    }

    /// Begins an attempt of somebody who is logged in to prove their password, unless there were too many.
    pub(crate) fn prove(&self, email: &str, at: Timestamp) -> Result<Attempt<'_>, HubError> {
        let email = sha256(email.to_lowercase().as_bytes());
        allowed(self.by_email.check(email, at), "too many failed attempts with this email")?;
        Ok(Attempt { attempts: self, email: Some(email), address: None, at })
    }

    /// Counts a code that an account tries.
    pub(crate) fn code(&self, account: Id<Account>, at: Timestamp) -> Result<(), HubError> {
        allowed(self.codes.check(account, at), "too many wrong codes")
    }

    /// The code was right, and does not count.
    pub(crate) fn code_was_right(&self, account: Id<Account>, at: Timestamp) {
        self.codes.give_back(&account, at);
    }

    /// Counts a program that asks for a login.
    pub(crate) fn device(&self, origin: &Origin, at: Timestamp) -> Result<(), HubError> {
        allowed(
            self.devices.check(address(origin), at),
            "too many programs ask for a login from your address",
        )
    }

    /// Counts a browser that is sent to the provider of logins.
    pub(crate) fn flow(&self, origin: &Origin, at: Timestamp) -> Result<(), HubError> {
        allowed(self.flows.check(address(origin), at), "too many sign-ins are begun from your address")
    }
}

impl Attempt<'_> {
    /// It was no failure.
    pub(crate) fn succeeded(self) {
        if let Some(email) = self.email {
            self.attempts.by_email.give_back(&email, self.at);
        }
        if let Some(address) = self.address {
            self.attempts.by_address.give_back(&address, self.at);
        }
    }
}

/// Whoever hides their address shares one limit with all who do.
fn address(origin: &Origin) -> IpAddr {
    let known = origin.ip.as_deref().and_then(|ip| ip.parse().ok());
    known.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

fn allowed(decision: Option<Decision>, what: &'static str) -> Result<(), HubError> {
    match decision.filter(|decision| !decision.allowed) {
        Some(refused) => Err(HubError::TooMany { what, retry_after_seconds: refused.reset_seconds }),
        None => Ok(()),
    }
}
