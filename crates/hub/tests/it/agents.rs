//! Silent agents are noticed once, whoever looks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::Id;
use domain::accounts::Account;
use hub::AgentFilter;
use hub::agents::{self, NewAgent};
use hub::idempotency::Outcome;
use records::Engine;
use records::events::{Reader, stretch};
use serde_json::Map;
use testkit::{Setup, TestHub, on_each_engine};

use crate::jobs::settled;

const JOB: &str = "agents:mark_offline";

async fn make(hub: &TestHub, name: &str) -> Id<Account> {
    let wanted = NewAgent {
        name: name.into(),
        description: String::new(),
        model: None,
        role_name: None,
        max_tasks: 1,
        labels: BTreeMap::new(),
        config: Map::new(),
    };
    let admin = hub.caller(&hub.admin_key).await;
    match agents::create(&hub.hub, &admin, wanted, None).await.unwrap() {
        Outcome::Fresh(seen) => seen.agent.id,
        Outcome::Replayed(_) => panic!("nothing to replay"),
    }
}

async fn heard(hub: &TestHub, id: Id<Account>) {
    let admin = hub.caller(&hub.admin_key).await;
    agents::heartbeat(&hub.hub, &admin, id, None).await.unwrap();
}

/// How many events of this type there are, numbered or not yet.
async fn count(hub: &TestHub, event_type: &str) -> usize {
    let org = hub.caller(&hub.admin_key).await.credential.organization.id;
    let reader = Reader { org, with_instance: false };
    let found = stretch(&hub.hub.records, reader, 0, 10_000).await.unwrap();
    found.events.iter().filter(|event| event.event_type == event_type).count()
}

async fn all_offline(hub: &TestHub) -> bool {
    let admin = hub.caller(&hub.admin_key).await;
    let found = agents::list(&hub.hub, &admin, AgentFilter::default(), 1000).await.unwrap();
    found.iter().all(|seen| seen.agent.offline_since.is_some())
}

async fn until(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !look().await {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// More agents than fit into one unit, and two servers that look for them.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_tell_of_each_silent_agent_once() {
    const AGENTS: usize = 120;
    let first = TestHub::start(Setup::on(Engine::Postgres)).await;
    let second = first.twin().await;
    for number in 0..AGENTS {
        let id = make(&first, &format!("agent {number}")).await;
        heard(&first, id).await;
    }
    for round in 1..=2 {
        first.clock.advance(Duration::from_secs(31));
        until("the silence", async || all_offline(&first).await).await;
        // Another look finds nothing new.
        first.clock.advance(Duration::from_secs(11));
        until("the events", async || count(&first, "agent:offline").await >= round * AGENTS).await;
        first.clock.advance(Duration::from_secs(11));
        settled(&first, JOB).await;
        assert_eq!(count(&first, "agent:offline").await, round * AGENTS);
        let admin = first.caller(&first.admin_key).await;
        for seen in agents::list(&first.hub, &admin, AgentFilter::default(), 1000).await.unwrap() {
            heard(&first, seen.agent.id).await;
        }
    }
    second.stop().await;
}

/// Heartbeats and the look for silence at the same time: who is heard in time is never called gone.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_heard_in_time_is_never_lost() {
    on_each_engine(async |hub| {
        let id = make(&hub, "lively").await;
        heard(&hub, id).await;
        for _ in 0..10 {
            hub.clock.advance(Duration::from_secs(25));
            heard(&hub, id).await;
            settled(&hub, JOB).await;
        }
        assert_eq!(count(&hub, "agent:offline").await, 0);
        hub.clock.advance(Duration::from_secs(31));
        until("the silence", async || all_offline(&hub).await).await;
    })
    .await;
}
