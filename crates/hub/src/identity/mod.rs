//! Who may act: authentication, keys, passwords, logins, the first start.

pub mod api_keys;
pub(crate) mod attempts;
pub mod authenticate;
pub mod bootstrap;
pub mod credential;
pub mod device_logins;
pub mod login_links;
pub mod login_sessions;
pub mod operator;
pub mod organizations;
pub mod password_logins;
pub mod passwords;
