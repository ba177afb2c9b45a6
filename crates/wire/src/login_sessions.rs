//! Logging in and out, passwords, and programs that ask for a login.

use std::fmt;

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Account, Organization};

/// The longest e-mail address, in bytes.
pub const EMAIL_BYTES_MAX: usize = 254;
/// The longest password, in characters.
pub const PASSWORD_CHARS_MAX: usize = 256;
/// More than any token has.
pub const TOKEN_BYTES_MAX: usize = 128;

/// Logs in with a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    /// Who.
    #[garde(length(bytes, min = 1, max = EMAIL_BYTES_MAX))]
    #[schema(min_length = 1, max_length = 254)]
    pub email: String,
    /// What only they know.
    #[garde(length(chars, min = 1, max = PASSWORD_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 256, format = Password)]
    pub password: String,
    /// Where to act (default: the account's home organization).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<Uuid>,
}

impl fmt::Debug for LogIn {
    /// Leaves out the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogIn").field("email", &self.email).finish_non_exhaustive()
    }
}

/// A login, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginSession {
    /// The login's id, which is no secret.
    pub id: Uuid,
    /// Where it acts now.
    pub organization_id: Uuid,
    /// How it began: `password`, `link`, `device` or `oidc`.
    #[schema(example = "password")]
    pub method: String,
    /// From where it began.
    #[schema(required)]
    pub ip_address: Option<String>,
    /// With what it began.
    #[schema(required)]
    pub user_agent: Option<String>,
    /// The account's roles where it acts, as they are now.
    pub roles: Vec<String>,
    /// What it may do there now.
    pub permissions: Vec<String>,
    /// Whether this request was made with it.
    pub current: bool,
    /// When it was last used, to the minute.
    #[schema(format = DateTime)]
    pub last_active: String,
    /// When it ends by itself.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// The answer to logging in. The token is in the cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    /// The login.
    pub login_session: LoginSession,
    /// Who logged in.
    pub account: Account,
    /// Where it acts.
    pub organization: Organization,
}

/// Moves the login to another organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchOrganization {
    /// Where to act from now on.
    #[garde(skip)]
    pub organization_id: Uuid,
}

/// Sets the caller's own password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPassword {
    /// The one until now; needed where there is one, unless the login began with a one-time link.
    #[garde(inner(length(chars, min = 1, max = PASSWORD_CHARS_MAX)))]
    #[schema(format = Password)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_password: Option<String>,
    /// The one from now on: 12 to 256 characters.
    // The rule about passwords is a whole; it is checked as one, behind this.
    #[garde(skip)]
    #[schema(min_length = 12, max_length = 256, format = Password)]
    pub new_password: String,
}

impl fmt::Debug for SetPassword {
    /// Leaves out the passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetPassword").finish_non_exhaustive()
    }
}

/// What a program is given that asks for a login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceLogin {
    /// What the program shows when it comes for its login; a secret.
    pub device_code: String,
    /// What the person compares.
    #[schema(example = "WDJB-MJHT")]
    pub user_code: String,
    /// What the person opens in a browser.
    pub url: String,
    /// Seconds between two questions.
    pub interval: u32,
    /// Seconds until it is too late.
    pub expires_in: u32,
}

impl fmt::Debug for DeviceLogin {
    /// Leaves out the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLogin").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// Comes for the login that a person granted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExchangeDeviceCode {
    /// What the program was given.
    #[garde(length(bytes, min = 1, max = TOKEN_BYTES_MAX))]
    pub device_code: String,
}

impl fmt::Debug for ExchangeDeviceCode {
    /// Leaves out the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeDeviceCode").finish_non_exhaustive()
    }
}

/// The login a program was granted: the only answer that shows its token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceToken {
    /// What was granted.
    #[serde(flatten)]
    pub logged_in: LoggedIn,
    /// Sent as `Authorization: Bearer css_…`.
    pub token: String,
}

impl fmt::Debug for DeviceToken {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceToken").field("logged_in", &self.logged_in).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_never_shows_a_secret() {
        let hush = || "hush-hush-hush".to_owned();
        let log_in = LogIn { email: "a@b".to_owned(), password: hush(), organization_id: None };
        let set = SetPassword { current_password: Some(hush()), new_password: hush() };
        let device =
            DeviceLogin { device_code: hush(), user_code: hush(), url: hush(), interval: 5, expires_in: 600 };
        let exchange = ExchangeDeviceCode { device_code: hush() };
        for text in
            [format!("{log_in:?}"), format!("{set:?}"), format!("{device:?}"), format!("{exchange:?}")]
        {
            assert!(!text.contains("hush"), "{text}");
        }
    }

    #[test]
    fn logins_have_bounds() {
        let body = |email: &str, password: &str| json!({"email": email, "password": password});
        let long = "x".repeat(257);
        let cases = [
            (body("a@b", "x"), true),
            (body("", "x"), false),
            (body("a@b", ""), false),
            (body(&long, "x"), false),
            (body("a@b", &long), false),
        ];
        for (body, valid) in cases {
            let log_in: LogIn = serde_json::from_value(body).unwrap();
            assert_eq!(log_in.validate().is_ok(), valid, "{log_in:?}");
        }
        assert!(
            serde_json::from_value::<LogIn>(json!({"email": "a@b", "password": "x", "remember": 1})).is_err()
        );
    }
}
