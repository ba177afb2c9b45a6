//! Following the log as it grows: what sockets and streams are fed from.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::crowds::Place;
use domain::accounts::Account;
use domain::events::{Event, TypeFilter};
use domain::permissions::Capability;
use domain::{Id, Timestamp};
use records::events::{self, Reader};
use tokio::sync::{broadcast, watch};

use super::read::{reader, search};
use crate::identity::authenticate::still_may;
use crate::{Caller, Hub, HubError};

/// Events handed over at once.
const BATCH_EVENTS: usize = 256;
/// Events of this namespace happen outside the log too.
const LIVE_SAMPLES: [&str; 3] = ["lock:acquired", "lock:released", "lock:queued"];

/// An event on its way to those who follow, with the text they get of it: written once, however many they are.
pub struct Told {
    event: Event,
    text: OnceLock<String>,
}

impl Told {
    pub(crate) fn new(event: Event) -> Self {
        Self { event, text: OnceLock::new() }
    }

    /// Its text; `write` makes it for the first who asks.
    pub fn text(&self, write: impl FnOnce(&Event) -> String) -> &str {
        self.text.get_or_init(|| write(&self.event))
    }
}

impl Deref for Told {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

/// What a follower wants.
pub struct Wanted {
    /// What comes after this number; from now on without it.
    pub since: Option<i64>,
    /// Only these types.
    pub types: TypeFilter,
    /// How many may follow in this process.
    pub followers_max: usize,
    /// What the caller must be allowed to do, now and as long as it follows.
    pub needs: Capability,
}

/// Why there is no more to follow.
#[derive(Debug)]
pub enum End {
    /// The hub stops.
    Stopping,
    /// The caller may not go on, or cannot.
    Refused(HubError),
}

impl From<HubError> for End {
    fn from(error: HubError) -> Self {
        Self::Refused(error)
    }
}

/// Somebody who follows the log.
pub struct Follower {
    hub: Hub,
    caller: Caller,
    reader: Reader,
    types: TypeFilter,
    needs: Capability,
    after: i64,
    live: Option<broadcast::Receiver<Arc<Told>>>,
    /// Something live that was not handed over yet.
    held: Option<Arc<Told>>,
    identity: watch::Receiver<u64>,
    asked: Asked,
    _places: (Place<Id<Account>>, Place<()>),
}

/// When the caller was last asked whether it may.
struct Asked {
    epoch: u64,
    at: Timestamp,
}

/// Whether anybody follows the log in this process.
pub(super) fn is_followed(hub: &Hub) -> bool {
    hub.coordination.all_followers.count(&()) > 0
}

/// Begins to follow.
pub async fn follow(hub: &Hub, caller: &Caller, wanted: Wanted) -> Result<Follower, HubError> {
    let reader = reader(caller, wanted.needs)?;
    let account = caller.credential.account.id;
    let place = hub.coordination.followers.enter(account).ok_or(HubError::TooManyWaiting)?;
    let everybody = hub.coordination.all_followers.enter_below((), wanted.followers_max);
    let places = (place, everybody.ok_or(HubError::TooManyFollowers)?);
    let identity = hub.records.signals().identity_changes.subscribe();
    // Older than anything: the first look asks.
    let asked = Asked { epoch: u64::MAX, at: Timestamp::from_micros(0) };
    let live = LIVE_SAMPLES.iter().any(|live| wanted.types.matches(live));
    let live = live.then(|| hub.coordination.live.listen());
    let after = begin(hub, reader, wanted.since).await?;
    Ok(Follower {
        hub: hub.clone(),
        caller: caller.clone(),
        reader,
        types: wanted.types,
        needs: wanted.needs,
        after,
        live,
        held: None,
        identity,
        asked,
        _places: places,
    })
}

/// Where to begin. A number that the log has not reached is from another log: what comes until it does would be missed.
async fn begin(hub: &Hub, reader: Reader, since: Option<i64>) -> Result<i64, HubError> {
    let head = events::head(&hub.records).await?;
    let Some(since) = since else { return Ok(head) };
    if since > head {
        return Err(HubError::field(
            "/since",
            format!("the log ends at {head}: this number is not from it; read what is there and follow that"),
        ));
    }
    // Whether the log goes back that far is asked before anything is promised.
    search(hub, reader, Some(since), (&TypeFilter::EVERYTHING, 1)).await?;
    Ok(since)
}

impl Follower {
    /// Continue after this number.
    #[must_use]
    pub fn last_seq(&self) -> i64 {
        self.after
    }

    /// Waits for what comes next, in order. It may be dropped and called again at any time.
    pub async fn next(&mut self) -> Result<Vec<Arc<Told>>, End> {
        loop {
            // Listening first: what is appended during the look is told afterwards.
            let mut news = self.hub.coordination.news.listen(self.reader.org);
            let (mut found, through) = self.look().await?;
            // Last, so that whoever lost the right meanwhile sees nothing of it.
            self.ask_again().await?;
            found.retain(|told| self.reader.sees(told));
            self.after = through;
            if !found.is_empty() {
                return Ok(found);
            }
            if let Some(held) = self.held.take() {
                return Ok(vec![held]);
            }
            if self.hub.lifecycle.is_stopping() {
                return Err(End::Stopping);
            }
            tokio::select! {
                _ = news.changed() => {}
                _ = self.identity.changed() => {}
                live = next_live(&mut self.live) => self.held = live.filter(|told| self.wants(told)),
                () = self.hub.lifecycle.stopping() => {}
            }
        }
    }

    /// Whether the caller may still follow, asked at times when nothing comes: a credential also ends by its hour, and
    /// where several servers share the records another one may have ended it.
    pub async fn check(&mut self) -> Result<(), HubError> {
        self.caller.credential.check(self.hub.clock.now())?;
        self.ask_again().await
    }

    /// What comes after where we are: from memory, or from the records for whoever is far behind.
    async fn look(&self) -> Result<(Vec<Arc<Told>>, i64), HubError> {
        if let Some(found) = self.hub.coordination.tail.after(self.after, BATCH_EVENTS) {
            let wanted = found.items.into_iter().filter(|told| self.wants(told)).collect();
            return Ok((wanted, found.through));
        }
        let asked = (&self.types, BATCH_EVENTS);
        let found = search(&self.hub, self.reader, Some(self.after), asked).await?;
        Ok((found.events.into_iter().map(|event| Arc::new(Told::new(event))).collect(), found.last_seq))
    }

    fn wants(&self, told: &Told) -> bool {
        self.reader.sees(told) && self.types.matches(&told.event_type)
    }

    /// Asks whether the caller may still, if anything about credentials has changed since it was asked.
    async fn ask_again(&mut self) -> Result<(), HubError> {
        let moment = self.hub.moment(self.hub.records.signals().identity_epoch());
        let is_old =
            moment.max_age.is_some_and(|max_age: Duration| moment.now.since(self.asked.at) >= max_age);
        if self.asked.epoch == moment.epoch && !is_old {
            return Ok(());
        }
        // Nobody closes it.
        let _turn = self.hub.coordination.rechecks.acquire().await.ok();
        let standing = still_may(&self.hub, &self.caller, self.needs).await?;
        self.reader.with_instance = standing.is_instance_admin();
        self.asked = Asked { epoch: moment.epoch, at: moment.now };
        Ok(())
    }
}

/// The next event that is not in the log. Whoever is too slow misses some of them: they are told once.
async fn next_live(live: &mut Option<broadcast::Receiver<Arc<Told>>>) -> Option<Arc<Told>> {
    match live {
        Some(live) => live.recv().await.ok(),
        None => std::future::pending().await,
    }
}
