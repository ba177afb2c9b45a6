//! Logins of browsers and command lines.

use std::str::FromStr;
use std::time::Duration;

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// How long a login lasts, whatever is done with it.
pub const LOGIN_LASTS: Duration = Duration::from_secs(24 * 3600);

/// How somebody proved who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginMethod {
    /// By a password.
    Password,
    /// By a link that works once.
    Link,
    /// By another login, which granted this one.
    Device,
    /// At a provider of logins.
    Oidc,
}

impl LoginMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Password, Self::Link, Self::Device, Self::Oidc];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Link => "link",
            Self::Device => "device",
            Self::Oidc => "oidc",
        }
    }
}

impl FromStr for LoginMethod {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A login of one account, in one organization at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginSession {
    /// Its id, which is no secret.
    pub id: Id<LoginSession>,
    /// Where it acts now.
    pub org_id: Id<Organization>,
    /// Who logged in.
    pub account_id: Id<Account>,
    /// Who else could have made it: the admin who chose the password, else the account itself.
    pub minted_by: Id<Account>,
    /// How.
    pub method: LoginMethod,
    /// From where.
    pub ip: Option<String>,
    /// With what.
    pub user_agent: Option<String>,
    /// When it was last used, to the minute.
    pub last_active_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub ended_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Why a login opens nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoginRefusal {
    /// Somebody ended it.
    #[error("the login was ended")]
    Ended,
    /// Its day is over.
    #[error("the login has expired")]
    Expired,
}

impl LoginSession {
    /// Whether the login opens anything now.
    ///
    /// # Errors
    /// The reason, the most final one first.
    pub fn usable(&self, now: Timestamp) -> Result<(), LoginRefusal> {
        if self.ended_at.is_some() {
            return Err(LoginRefusal::Ended);
        }
        if self.expires_at <= now { Err(LoginRefusal::Expired) } else { Ok(()) }
    }
}

/// A login as it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beginning {
    /// Where it acts.
    pub org: Id<Organization>,
    /// Who logs in.
    pub account: Id<Account>,
    /// Who else could have made it.
    pub minted_by: Id<Account>,
    /// How.
    pub method: LoginMethod,
}

impl LoginSession {
    /// A login from now on; where it comes from is added by whoever knows.
    #[must_use]
    pub fn begin(id: Id<LoginSession>, beginning: Beginning, now: Timestamp) -> Self {
        Self {
            id,
            org_id: beginning.org,
            account_id: beginning.account,
            minted_by: beginning.minted_by,
            method: beginning.method,
            ip: None,
            user_agent: None,
            last_active_at: now,
            expires_at: now.plus(LOGIN_LASTS),
            ended_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Where a login begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartRefusal {
    /// There is no organization to act in.
    NoOrganization,
    /// The one asked for is none of the account's.
    NotThere,
}

/// Where a login begins: where the person wants it, else at home, else where they have been longest. `open` are the
/// account's organizations that are not archived, the oldest membership first.
///
/// # Errors
/// There is no such place.
pub fn starts_in(
    wanted: Option<Id<Organization>>,
    home: Option<Id<Organization>>,
    open: &[Id<Organization>],
) -> Result<Id<Organization>, StartRefusal> {
    let is_open = |org: &Id<Organization>| open.contains(org);
    match wanted {
        Some(wanted) => Some(wanted).filter(is_open).ok_or(StartRefusal::NotThere),
        None => home.filter(is_open).or_else(|| open.first().copied()).ok_or(StartRefusal::NoOrganization),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_login_begins_where_it_is_wanted_else_at_home_else_where_it_may() {
        let [a, b, c]: [Id<Organization>; 3] = [1, 2, 3].map(|n| Id::new(Uuid::from_u128(n)));
        let cases = [
            (None, Some(b), vec![a, b], Ok(b)),
            (None, Some(c), vec![a, b], Ok(a)),
            (None, None, vec![b, a], Ok(b)),
            (Some(a), Some(b), vec![a, b], Ok(a)),
            (Some(c), Some(b), vec![a, b], Err(StartRefusal::NotThere)),
            (Some(c), None, vec![], Err(StartRefusal::NotThere)),
            (None, Some(a), vec![], Err(StartRefusal::NoOrganization)),
        ];
        for (wanted, home, open, expected) in cases {
            assert_eq!(starts_in(wanted, home, &open), expected, "{wanted:?} {home:?} {open:?}");
        }
    }

    #[test]
    fn a_login_ends_with_its_day_or_before() {
        let at = Timestamp::from_micros;
        let login = LoginSession {
            id: Id::new(Uuid::from_u128(1)),
            org_id: Id::new(Uuid::from_u128(2)),
            account_id: Id::new(Uuid::from_u128(3)),
            minted_by: Id::new(Uuid::from_u128(3)),
            method: LoginMethod::Link,
            ip: None,
            user_agent: None,
            last_active_at: at(0),
            expires_at: at(10),
            ended_at: None,
            created_at: at(0),
            updated_at: at(0),
        };
        assert_eq!(login.usable(at(9)), Ok(()));
        assert_eq!(login.usable(at(10)), Err(LoginRefusal::Expired));
        let ended = LoginSession { ended_at: Some(at(5)), ..login };
        assert_eq!(ended.usable(at(4)), Err(LoginRefusal::Ended));
        for method in LoginMethod::ALL {
            assert_eq!(method.as_str().parse(), Ok(method));
        }
    }
}
