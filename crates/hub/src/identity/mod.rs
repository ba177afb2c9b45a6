//! Who may act: authentication, keys, the first start.

pub mod api_keys;
pub mod authenticate;
pub mod bootstrap;
pub mod credential;
pub mod organizations;
