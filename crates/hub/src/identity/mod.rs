//! Who may act: authentication, keys, passwords, logins, accounts, members, the first start.

pub mod accounts;
pub mod api_keys;
pub(crate) mod attempts;
pub mod authenticate;
pub mod bootstrap;
pub mod credential;
pub mod device_logins;
pub mod external_identities;
mod failed_logins;
pub mod founding;
pub mod invitations;
pub mod login_links;
pub mod login_sessions;
pub mod members;
pub mod names;
pub mod oidc;
pub mod oidc_flows;
pub mod operator;
pub mod organizations;
pub mod password_logins;
pub mod passwords;
