//! However many use a token at once, one of them does.

use futures_util::future::join_all;
use testkit::scaled;

use super::on_each_store;
use crate::backdoor::Backdoor;
use crate::support::{Answer, send};

const CROWD: usize = 64;
const ROUNDS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_uses_a_token() {
    on_each_store(async |ground| {
        let rounds = scaled(ROUNDS);
        for round in 0..rounds {
            let minted = ground.mint().await;
            let crowd = join_all((0..CROWD).map(|_| send(ground.consume(&minted.token)))).await;
            let count = |status: u16| crowd.iter().filter(|answer| answer.status.as_u16() == status).count();
            assert_eq!((count(200), count(409)), (1, CROWD - 1), "round {round}: {:?}", statuses(&crowd));
        }
        let rounds = rounds as u64;
        assert_eq!(ground.counts().await, (0, rounds, 0));
        let backdoor = Backdoor::open(&ground.hub).await;
        assert_eq!(backdoor.count("consumed_tokens").await, rounds);
        assert_eq!(backdoor.count("audit_logs WHERE action = 'grant:consumed'").await, rounds);
        assert_eq!(backdoor.count("events WHERE type = 'grant:consumed'").await, rounds);
    })
    .await;
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status.as_u16()).collect()
}

/// DECISIONS 33: the mark of the token decides, even where every row says that it was never used.
#[tokio::test]
async fn a_token_that_was_marked_is_used_whatever_its_row_says() {
    on_each_store(async |ground| {
        let minted = ground.mint().await;
        let backdoor = Backdoor::open(&ground.hub).await;
        let mark = format!(
            "INSERT INTO consumed_tokens (token_hash, org_id, grant_id, created_at, updated_at) \
             SELECT token_hash, org_id, id, created_at, created_at FROM standalone_grants WHERE id = '{}'",
            minted.id
        );
        backdoor.change(&mark).await;
        send(ground.consume(&minted.token)).await.problem(409, "ALREADY_CONSUMED");
        assert_eq!(ground.counts().await, (1, 0, 0), "nothing was changed");
        assert_eq!(backdoor.count("audit_logs WHERE action = 'grant:consumed'").await, 0);
    })
    .await;
}
