//! Numbers events (PostgreSQL) and wakes those who wait for them.

use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use records::Engine;
use records::events::{self, Numbered};
use tokio::sync::watch;

use super::follow::{self, Told};
use super::hints;
use crate::{Hub, HubError};

/// How soon a failed look is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const BATCH_EVENTS: i64 = 1000;

/// Starts following the log.
pub fn start(hub: &Hub) {
    hints::start(hub);
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        let mut appended = hub.records.signals().events.subscribe();
        let mut hinted = hub.coordination.hints.as_ref().map(|hints| hints.listen());
        let mut told = None;
        while !hub.lifecycle.is_stopping() {
            let pause = match follow(&hub, &mut told).await {
                Ok(()) => match hub.records.engine() {
                    Engine::Sqlite => Duration::MAX,
                    // Another server may have appended: looking is the truth, hints only make it quicker.
                    Engine::Postgres => hub.config.events.poll_every,
                },
                Err(error) => {
                    tracing::warn!("the event log cannot be followed: {error}");
                    RETRY_INTERVAL
                }
            };
            tokio::select! {
                _ = appended.changed() => {}
                () = hinted_at(&mut hinted) => {}
                () = tokio::time::sleep(pause) => {}
                () = hub.lifecycle.stopping() => {}
            }
        }
    });
}

/// Waits until another server says that there is something.
async fn hinted_at(hinted: &mut Option<watch::Receiver<u64>>) {
    match hinted {
        // Whoever tells outlives whoever listens.
        Some(hinted) => drop(hinted.changed().await),
        None => std::future::pending().await,
    }
}

/// Numbers what is committed and tells whom it concerns, until there is nothing new.
async fn follow(hub: &Hub, told: &mut Option<i64>) -> Result<(), HubError> {
    if hub.records.engine() == Engine::Postgres {
        while number(hub, hub.clock.now()).await? > 0 {}
    }
    loop {
        // The first look tells everybody: a reader may have come before the feed.
        let Some(after) = *told else {
            let head = events::head(&hub.records).await?;
            hub.coordination.news.tell_all(head);
            hub.coordination.work.tell_all(head);
            hub.coordination.tail.begin(head);
            hub.coordination.head.send_replace(head);
            *told = Some(head);
            continue;
        };
        let news = news(hub, after).await?;
        let Some(last) = news.last().map(|event| event.seq) else {
            return Ok(());
        };
        for event in &news {
            match &event.org_id {
                Some(org) => {
                    hub.coordination.news.tell(org, event.seq);
                    if frees_work(&event.event_type) {
                        hub.coordination.work.tell(org, event.seq);
                    }
                }
                None => hub.coordination.news.tell_all(event.seq),
            }
        }
        hub.coordination.head.send_replace(last);
        *told = Some(last);
    }
}

/// What came after a number. Those who follow the log get it from the tail, which has it before they are woken.
async fn news(hub: &Hub, after: i64) -> Result<Vec<Numbered>, HubError> {
    let tail = &hub.coordination.tail;
    if !follow::is_followed(hub) {
        let news = events::numbered(&hub.records, after, BATCH_EVENTS).await?;
        if let Some(last) = news.last() {
            tail.begin(last.seq);
        }
        return Ok(news);
    }
    let news = events::whole(&hub.records, after, BATCH_EVENTS).await?;
    let numbered = news.into_iter().filter_map(|event| {
        let seq = event.seq?;
        let (org_id, event_type) = (event.org_id, event.event_type.clone());
        tail.append(seq, Arc::new(Told::new(event)));
        Some(Numbered { seq, org_id, event_type })
    });
    Ok(numbered.collect())
}

/// Whether an agent may find something to do after this. Waking those who look for work with everything that happens
/// would have all of them look all the time. Whatever ends an attempt releases its locks, that of the task at least.
fn frees_work(event_type: &str) -> bool {
    matches!(
        event_type,
        "task:approved"
            | "task:completed"
            | "task:dependencies_skipped"
            | "task:rollback_asked"
            | "lock:released"
            | "agent:resumed"
            | "agent:updated"
    )
}

async fn number(hub: &Hub, now: Timestamp) -> Result<u64, HubError> {
    if !events::any_unnumbered(&hub.records).await? {
        return Ok(0);
    }
    let numbered = hub.records.write(now, |tx, &now| Box::pin(events::number(tx, now))).await?;
    if let Some(hints) = hub.coordination.hints.as_ref().filter(|_| numbered > 0) {
        hints.tell();
    }
    Ok(numbered)
}
