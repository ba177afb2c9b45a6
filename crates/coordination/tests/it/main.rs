//! The lock engine of this process against its contract, the plain model, and a bad disk.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot be set up must fail, loudly"
)]

mod damage;
mod gone;
mod linear;
mod local;
mod locks;
mod writing;
