//! Hints between servers over one PostgreSQL: whoever numbers events tells the others, who look at once.
//!
//! **Invariant:** nothing rests on them. Whoever hears none looks from time to time, and finds the same.

use std::sync::Arc;
use std::time::Duration;

use coordination::hints::Hints;
use records::{Db, Engine};

use super::Settings;
use crate::Hub;
use crate::ids::Ids;

/// How soon a connection that was lost is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Where a hub tells and hears hints; nowhere if nobody else can use its records.
pub(crate) fn of(settings: &Settings, records: &Db, ids: &dyn Ids) -> Option<Arc<Hints>> {
    let options = settings.hints.clone().filter(|_| records.engine() == Engine::Postgres)?;
    Some(Arc::new(Hints::new(options, ids.fresh().to_string())))
}

/// Stays connected.
pub(super) fn start(hub: &Hub) {
    let Some(hints) = hub.coordination.hints.clone() else { return };
    let lifecycle = hub.lifecycle.clone();
    hub.lifecycle.spawn(async move {
        tokio::select! {
            () = keep_connected(&hints) => {}
            () = lifecycle.stopping() => {}
        }
    });
}

async fn keep_connected(hints: &Hints) {
    let mut is_away = false;
    loop {
        match hints.connect().await {
            Ok(session) => {
                tracing::info!("events are told to other servers through Redis");
                is_away = false;
                let ended = session.run().await;
                tracing::warn!("events are not told through Redis until it is back: {ended}");
            }
            Err(error) if is_away => tracing::debug!("Redis is still away: {error}"),
            Err(error) => {
                tracing::warn!("events are told to other servers by the database alone: {error}");
                is_away = true;
            }
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}
