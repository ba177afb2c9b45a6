//! Who may act: authentication, keys, accounts, members, the first start.

pub mod accounts;
pub mod api_keys;
pub mod authenticate;
pub mod bootstrap;
pub mod credential;
pub mod founding;
pub mod invitations;
pub mod members;
pub mod organizations;
