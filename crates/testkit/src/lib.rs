//! What tests share: private servers, a hub in the test's process, a clock that obeys. Never shipped.
//!
//! A missing backend is a failure here, never a skipped test.

#![expect(clippy::expect_used, reason = "a test that cannot be set up must fail, loudly")]

pub mod browser;
pub mod clock;
pub mod detour;
pub mod directory;
pub mod hub;
pub mod locks;
pub mod oidc;
pub mod postgres;
pub mod receiver;
pub mod redis;
pub mod scale;
mod servers;
pub mod socket;
pub mod standalone_grants;
pub mod watch;

pub use hub::{Setup, TestHub, on_each_engine};
pub use records::Engine;
pub use reqwest;
pub use scale::scaled;
pub use tokio_tungstenite::tungstenite;
