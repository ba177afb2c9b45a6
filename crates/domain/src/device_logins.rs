//! A program asks for a login, and a person grants it in a browser (RFC 8628 in spirit).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::accounts::Account;
use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// How long a program may wait for its grant.
pub const DEVICE_LASTS: Duration = Duration::from_secs(10 * 60);
/// How long a program waits between two questions.
pub const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How many characters a person types.
pub const USER_CODE_CHARS: usize = 8;
/// Without 0, 1, I and O, which look alike. 32 of them, so that each random byte gives one without bias.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// What a person compares or types, to say which program they mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserCode(String);

/// The text is no code of this form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a code has 8 letters and digits, such as WDJB-MJHT")]
pub struct NotACode;

impl UserCode {
    /// Dresses fresh random bytes.
    #[must_use]
    pub fn from_bytes(random: [u8; USER_CODE_CHARS]) -> Self {
        Self(random.map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).iter().collect())
    }

    /// Without the hyphen, as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// With a hyphen in the middle, as people read it.
impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = self.0.split_at(self.0.len() / 2);
        write!(f, "{left}-{right}")
    }
}

impl FromStr for UserCode {
    type Err = NotACode;

    /// People may leave out the hyphen, add spaces and use small letters.
    fn from_str(text: &str) -> Result<Self, NotACode> {
        let kept = text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_ascii_uppercase());
        let code: String = kept.take(USER_CODE_CHARS + 1).collect();
        let in_alphabet = code.bytes().all(|byte| ALPHABET.contains(&byte));
        if code.len() == USER_CODE_CHARS && in_alphabet { Ok(Self(code)) } else { Err(NotACode) }
    }
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceStatus {
    /// Nobody has answered.
    Pending,
    /// Somebody granted it; the program has not come for its login.
    Approved,
    /// Somebody denied it.
    Denied,
    /// The program has its login.
    Used,
}

impl DeviceStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Used];

    /// As stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
        }
    }
}

impl FromStr for DeviceStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// A program that wants a login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceLogin {
    /// Its id, which is no secret.
    pub id: Id<DeviceLogin>,
    /// What a person types, as stored.
    pub user_code: String,
    /// How far it has come.
    pub status: DeviceStatus,
    /// Who granted it, and whom the login will stand for.
    pub account_id: Option<Id<Account>>,
    /// Where the granting login acted.
    pub org_id: Option<Id<Organization>>,
    /// Who stands behind the granting login.
    pub minted_by: Option<Id<Account>>,
    /// Where the program is.
    pub ip: Option<String>,
    /// What it says it is.
    pub user_agent: Option<String>,
    /// When the program last asked in time.
    pub polled_at: Option<Timestamp>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When the program asked first.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a person granted: the login's account, organization, and who stands behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// Whom the login will stand for.
    pub account: Id<Account>,
    /// Where it begins.
    pub org: Id<Organization>,
    /// Who stands behind it.
    pub minted_by: Id<Account>,
}

/// What a program that asks is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poll {
    /// Its login can be made.
    Granted(Granted),
    /// Nobody has answered.
    Pending,
    /// It asks too often.
    TooSoon,
    /// Somebody said no.
    Denied,
    /// Too late, or it had its login already.
    Gone,
}

impl DeviceLogin {
    /// What the program is told now.
    #[must_use]
    pub fn poll(&self, now: Timestamp) -> Poll {
        if self.status == DeviceStatus::Used || self.expires_at <= now {
            return Poll::Gone;
        }
        if self.polled_at.is_some_and(|last| now < last.plus(POLL_INTERVAL)) {
            return Poll::TooSoon;
        }
        match (self.status, self.account_id, self.org_id, self.minted_by) {
            (DeviceStatus::Pending, ..) => Poll::Pending,
            (DeviceStatus::Approved, Some(account), Some(org), Some(minted_by)) => {
                Poll::Granted(Granted { account, org, minted_by })
            }
            _ => Poll::Denied,
        }
    }

    /// Whether somebody can still answer.
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.status == DeviceStatus::Pending && now < self.expires_at
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_code_is_read_however_people_write_it() {
        let code = UserCode::from_bytes([0, 31, 32, 63, 1, 2, 3, 255]);
        assert_eq!(code.to_string(), "2Z2Z-345Z");
        for text in ["2Z2Z-345Z", "2z2z345z", " 2Z2Z - 345Z "] {
            assert_eq!(text.parse(), Ok(code.clone()), "{text:?}");
        }
        for bad in ["", "2Z2Z-345", "2Z2Z-345ZZ", "2Z2Z-345I", "2Z2Z-3450", "é2Z2Z345", &"2".repeat(1000)] {
            assert_eq!(bad.parse::<UserCode>(), Err(NotACode), "{bad:?}");
        }
    }

    fn asked() -> DeviceLogin {
        let at = Timestamp::from_micros(0);
        DeviceLogin {
            id: Id::new(Uuid::from_u128(1)),
            user_code: "2Z2Z345Z".to_owned(),
            status: DeviceStatus::Pending,
            account_id: None,
            org_id: None,
            minted_by: None,
            ip: None,
            user_agent: None,
            polled_at: None,
            expires_at: at.plus(DEVICE_LASTS),
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn a_program_gets_its_login_once_and_in_time() {
        let at = |seconds| Timestamp::from_micros(0).plus(Duration::from_secs(seconds));
        let granted = Granted {
            account: Id::new(Uuid::from_u128(2)),
            org: Id::new(Uuid::from_u128(3)),
            minted_by: Id::new(Uuid::from_u128(4)),
        };
        let approved = DeviceLogin {
            status: DeviceStatus::Approved,
            account_id: Some(granted.account),
            org_id: Some(granted.org),
            minted_by: Some(granted.minted_by),
            ..asked()
        };
        assert_eq!(asked().poll(at(599)), Poll::Pending);
        assert_eq!(asked().poll(at(600)), Poll::Gone);
        assert_eq!(approved.poll(at(599)), Poll::Granted(granted));
        assert_eq!(approved.poll(at(600)), Poll::Gone);
        let used = DeviceLogin { status: DeviceStatus::Used, ..approved.clone() };
        assert_eq!(used.poll(at(1)), Poll::Gone);
        let denied = DeviceLogin { status: DeviceStatus::Denied, ..approved.clone() };
        assert_eq!(denied.poll(at(1)), Poll::Denied);
        let polled = DeviceLogin { polled_at: Some(at(10)), ..approved };
        assert_eq!((polled.poll(at(14)), polled.poll(at(15))), (Poll::TooSoon, Poll::Granted(granted)));
        for status in DeviceStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            let one = DeviceLogin { status, ..asked() };
            assert_eq!(one.is_open(at(599)), status == DeviceStatus::Pending);
            assert!(!one.is_open(at(600)));
        }
    }
}
