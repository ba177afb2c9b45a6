//! Reading the log, and waiting for what is not there yet.

use std::time::Duration;

use domain::events::{Event, TypeFilter};
use domain::permissions::Capability;
use records::events::{self, Reader};
use tokio::time::Instant;

use crate::identity::authenticate::still_may;
use crate::{Caller, Hub, HubError};

/// Events looked at in one read; a narrow filter takes several reads.
const SCAN_EVENTS: i64 = 1000;

/// What a reader wants.
pub struct Wanted {
    /// Only what comes after this number; from the oldest without it.
    pub after: Option<i64>,
    /// Only these types.
    pub types: TypeFilter,
    /// At most so many.
    pub limit: usize,
    /// How long to wait if there is nothing.
    pub wait: Duration,
}

/// Events, and how far the log was searched for them.
pub struct Found {
    /// In order.
    pub events: Vec<Event>,
    /// Continue after this number.
    pub last_seq: i64,
}

/// The organization's events after a number. Who waits holds no database connection.
pub async fn read(hub: &Hub, caller: &Caller, wanted: Wanted) -> Result<Found, HubError> {
    let mut reader = reader(caller, Capability::EventsRead)?;
    let _place = match wanted.wait.is_zero() {
        true => None,
        false => {
            let account = caller.credential.account.id;
            Some(hub.coordination.waiting.enter(account).ok_or(HubError::TooManyWaiting)?)
        }
    };
    let deadline = Instant::now() + wanted.wait;
    let mut after = wanted.after;
    let mut has_waited = false;
    loop {
        // Listening first: what is appended during the search is told afterwards.
        let mut news = hub.coordination.news.listen(reader.org);
        let mut found = search(hub, reader, after, (&wanted.types, wanted.limit)).await?;
        if !found.events.is_empty() || Instant::now() >= deadline || hub.lifecycle.is_stopping() {
            if has_waited {
                let standing = still_may(hub, caller, Capability::EventsRead).await?;
                reader.with_instance &= standing.is_instance_admin();
                found.events.retain(|event| reader.sees(event));
            }
            return Ok(found);
        }
        after = Some(found.last_seq);
        has_waited = true;
        tokio::select! {
            _ = news.changed() => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = hub.lifecycle.stopping() => {}
        }
    }
}

/// What a caller may see of the log: the one rule, for whoever waits, follows or looks once.
pub(super) fn reader(caller: &Caller, needs: Capability) -> Result<Reader, HubError> {
    caller.require(needs)?;
    Ok(Reader {
        org: caller.credential.organization.id,
        with_instance: caller.credential.standing().is_instance_admin(),
    })
}

/// At most so many events of these types, and how far the log was searched for them.
pub(super) async fn search(
    hub: &Hub,
    reader: Reader,
    after: Option<i64>,
    (types, limit): (&TypeFilter, usize),
) -> Result<Found, HubError> {
    let mut events = Vec::new();
    let mut last_seq = after.unwrap_or(0);
    loop {
        let stretch = events::stretch(&hub.records, reader, last_seq, SCAN_EVENTS).await?;
        if after.is_some_and(|after| after < stretch.gone_through) {
            return Err(HubError::EventsGone { oldest_seq: stretch.gone_through + 1 });
        }
        let whole = i64::try_from(stretch.events.len()).unwrap_or(i64::MAX) < SCAN_EVENTS;
        for event in stretch.events {
            last_seq = event.seq.unwrap_or(last_seq);
            if types.matches(&event.event_type) {
                events.push(event);
            }
            if events.len() == limit {
                return Ok(Found { events, last_seq });
            }
        }
        if whole {
            // The rest of the log is other tenants'; it was searched all the same.
            return Ok(Found { events, last_seq: last_seq.max(stretch.head) });
        }
    }
}
