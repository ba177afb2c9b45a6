//! New ids and secrets, as a port.

use domain::Id;
use domain::secrets::{Secret, SecretKind};
use uuid::Uuid;

/// Makes ids (names, never secrets).
pub trait Ids: Send + Sync {
    /// A new UUIDv7.
    fn fresh(&self) -> Uuid;
}

impl dyn Ids + '_ {
    /// A new id of a `T`.
    pub fn id<T>(&self) -> Id<T> {
        Id::new(self.fresh())
    }
}

/// UUIDv7 from the machine's clock and randomness.
pub struct SystemIds;

impl Ids for SystemIds {
    #[expect(clippy::disallowed_methods, reason = "this is the Ids port")]
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// The operating system gives no randomness: nothing secret can be made.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no randomness: {0}")]
pub struct NoRandomness(String);

/// Random bytes for a secret.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// A new secret.
pub fn secret(kind: SecretKind) -> Result<Secret, NoRandomness> {
    Ok(Secret::from_bytes(kind, &random()?))
}
