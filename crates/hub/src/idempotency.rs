//! The same request twice gets the same answer once (DECISIONS 17).

use domain::Timestamp;
use domain::idempotency::{ANSWER_KEPT, IN_FLIGHT_WAIT, Repeat, Slot, compare};
use records::idempotency as kept;
pub use records::idempotency::Answer;
use records::{Tx, Unit};

use crate::{Hub, HubError};

/// A request that carries an idempotency key.
pub struct Once<T> {
    /// Whose key, for what.
    pub slot: Slot,
    /// SHA-256 of the request's body.
    pub body_hash: [u8; 32],
    /// The answer as it is kept: without what is shown only once.
    pub render: fn(&T) -> Answer,
}

/// What came of it.
pub enum Outcome<T> {
    /// The unit ran.
    Fresh(T),
    /// It had run before; this was its answer.
    Replayed(Answer),
}

struct Guarded<I, T, F> {
    input: I,
    unit: F,
    once: Option<Once<T>>,
    now: Timestamp,
}

/// Runs the unit, or gives the answer of the first time. The answer is kept in the unit of the change itself;
/// refusals are not kept and are worked out again.
pub async fn write_once<I, T, F>(
    hub: &Hub,
    once: Option<Once<T>>,
    input: I,
    unit: F,
) -> Result<Outcome<T>, HubError>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, HubError> + Send + Sync + 'static,
{
    let _turn = match &once {
        Some(once) => Some(
            hub.coordination
                .turns
                .enter(once.slot.clone(), IN_FLIGHT_WAIT)
                .await
                .ok_or(HubError::IdempotencyInFlight)?,
        ),
        None => None,
    };
    let guarded = Guarded { input, unit, once, now: hub.clock.now() };
    hub.records.write(guarded, |tx, guarded| Box::pin(run(tx, guarded))).await
}

async fn run<I, T, F>(tx: &mut Tx, guarded: &Guarded<I, T, F>) -> Result<Outcome<T>, HubError>
where
    I: Sync,
    T: Send,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Unit<'t, T, HubError> + Sync,
{
    let now = guarded.now;
    if let Some(once) = &guarded.once {
        let oldest = now.minus(ANSWER_KEPT);
        if let Some(kept) = kept::take(tx, &once.slot, &once.body_hash, oldest, now).await? {
            return match compare(&kept.body_hash, &once.body_hash) {
                Repeat::SameBody => Ok(Outcome::Replayed(kept.answer)),
                Repeat::OtherBody => Err(HubError::IdempotencyMismatch),
            };
        }
    }
    let value = (guarded.unit)(tx, &guarded.input).await?;
    if let Some(once) = &guarded.once {
        kept::fill(tx, &once.slot, &(once.render)(&value), now).await?;
    }
    Ok(Outcome::Fresh(value))
}

/// Forgets answers nobody may ask for any more.
pub(crate) async fn forget_old(hub: &Hub) -> Result<u64, HubError> {
    let cutoff = hub.clock.now().minus(ANSWER_KEPT);
    hub.records
        .write(cutoff, |tx, &cutoff| Box::pin(async move { Ok(kept::forget(tx, cutoff).await?) }))
        .await
}
