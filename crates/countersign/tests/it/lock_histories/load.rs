//! What everybody does with locks that are held until the hub is gone: renews them, asks for them, waits for them.

use std::collections::{BTreeSet, HashMap};

use client::{Client, ClientError};
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::{AcquireLock, HeartbeatLock};

use super::held::{Desk, Kept, asked, wanted};
use crate::support::chance;

/// Those who renew, each of them a part of the locks.
const BEATERS: usize = 8;
/// Those who ask for what is held.
const PASSERS: usize = 4;
/// Those who wait for it with a connection.
const STANDING: usize = 8;
/// Longer than the hub lives.
const WAIT_SECONDS: u32 = 60;

/// How often each lock was renewed: answered, and asked for.
pub(super) type Beats = HashMap<Uuid, (u32, u32)>;

pub(super) struct Load {
    beaters: JoinSet<Beats>,
    others: JoinSet<()>,
    lines: BTreeSet<usize>,
}

impl Load {
    pub(super) fn start(desk: &Desk, held: &[&Kept]) -> Self {
        let (mut beaters, mut others) = (JoinSet::new(), JoinSet::new());
        for part in 0..BEATERS {
            let own = held.iter().skip(part).step_by(BEATERS);
            let own = own.map(|kept| (desk.agents[kept.agent].clone(), kept.seen.lock_id)).collect();
            beaters.spawn(beat(own));
        }
        let keys: Vec<usize> = held.iter().map(|kept| kept.seen.key).collect();
        for number in 0..PASSERS {
            others.spawn(ask(desk.agents[number % desk.agents.len()].clone(), keys.clone()));
        }
        let lines: BTreeSet<usize> = (0..STANDING).map(|_| keys[chance(keys.len())]).collect();
        for key in &lines {
            others.spawn(stand(desk.agents[chance(desk.agents.len())].clone(), *key));
        }
        Self { beaters, others, lines }
    }

    /// The keys for which somebody waits with a connection, one each.
    pub(super) fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.lines.iter().copied()
    }

    /// The hub is gone; what was renewed before.
    pub(super) async fn finish(self) -> Beats {
        self.others.join_all().await;
        self.beaters.join_all().await.into_iter().flatten().collect()
    }
}

async fn beat(locks: Vec<(Client, Uuid)>) -> Beats {
    let mut beats = Beats::new();
    for (client, lock_id) in locks.iter().cycle() {
        let count = beats.entry(*lock_id).or_default();
        count.1 += 1;
        let request =
            HeartbeatLock { lock_id: *lock_id, agent_id: None, timestamp: None, ttl_extension: None };
        match client.heartbeat_lock(&request).await {
            Ok(_) => count.0 += 1,
            Err(ClientError::Problem(problem)) if problem.status < 500 => panic!("{lock_id}: {problem:?}"),
            Err(_) => return beats,
        }
    }
    unreachable!("locks go round until the hub is gone")
}

async fn ask(client: Client, keys: Vec<usize>) {
    loop {
        let request = wanted(&asked(keys[chance(keys.len())], false));
        match client.acquire_lock(&request).await {
            Err(ClientError::Problem(problem)) if problem.code == "LOCK_HELD" => {}
            Err(ClientError::Problem(problem)) if problem.status < 500 => panic!("{problem:?}"),
            Ok(lock) => panic!("given away while it was held: {lock:?}"),
            Err(_) => return,
        }
    }
}

async fn stand(client: Client, key: usize) {
    let request = AcquireLock { wait_seconds: Some(WAIT_SECONDS), ..wanted(&asked(key, false)) };
    match client.acquire_lock(&request).await {
        Err(ClientError::Problem(problem)) if problem.status < 500 => panic!("{problem:?}"),
        Ok(lock) => panic!("given away while it was held: {lock:?}"),
        Err(_) => {}
    }
}
