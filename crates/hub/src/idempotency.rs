//! The same request twice gets the same answer once (DECISIONS 17).

use coordination::turns::Turn;
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

impl<T> Clone for Once<T> {
    fn clone(&self) -> Self {
        Self { slot: self.slot.clone(), body_hash: self.body_hash, render: self.render }
    }
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
    let _turn = enter(hub, once.as_ref()).await?;
    write_in_turn(hub, once, input, unit).await
}

/// Waits until no other request with this key runs. For those who have to do something before their unit: they enter,
/// look with [`kept_answer`], and write with [`write_in_turn`] while they are in.
pub(crate) async fn enter<T>(hub: &Hub, once: Option<&Once<T>>) -> Result<Option<Turn<Slot>>, HubError> {
    let Some(once) = once else { return Ok(None) };
    let turn = hub.coordination.turns.enter(once.slot.clone(), IN_FLIGHT_WAIT).await;
    turn.map(Some).ok_or(HubError::IdempotencyInFlight)
}

/// The answer of the first time, if there was one.
pub(crate) async fn kept_answer<T: 'static>(
    hub: &Hub,
    once: Option<&Once<T>>,
) -> Result<Option<Answer>, HubError> {
    let Some(Once { slot, body_hash, .. }) = once else { return Ok(None) };
    let oldest = hub.clock.now().minus(ANSWER_KEPT);
    let input = (slot.clone(), oldest);
    let kept = hub.records.read(input, |tx, (slot, oldest)| Box::pin(kept::find(tx, slot, *oldest))).await?;
    kept.map(|kept| repeated(kept, body_hash)).transpose()
}

fn repeated(kept: kept::Kept, body_hash: &[u8; 32]) -> Result<Answer, HubError> {
    match compare(&kept.body_hash, body_hash) {
        Repeat::SameBody => Ok(kept.answer),
        Repeat::OtherBody => Err(HubError::IdempotencyMismatch),
    }
}

/// Runs the unit as [`write_once`] does, for somebody who has entered.
pub(crate) async fn write_in_turn<I, T, F>(
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
            return repeated(kept, &once.body_hash).map(Outcome::Replayed);
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
