//! Tasks that were handed in, with what policies ask about.

use domain::accounts::Account;
use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::risk::Risk;
use domain::tasks::{Provenance, Task};
use domain::{Id, Timestamp};

use crate::{Result, Tx, args, row, statement};

/// A task at its current revision.
#[derive(Clone, PartialEq, Debug)]
pub struct HandedIn {
    /// Which.
    pub task_id: Id<Task>,
    /// Who proposed it.
    pub author_id: Id<Account>,
    /// How dangerous it is.
    pub risk: Risk,
    /// The hash of a hub-made preview's changes.
    pub effect_hash: Option<Sha256Hash>,
    /// When it was last handed in.
    pub submitted_at: Timestamp,
    /// The RFC 8785 bytes of its config.
    pub config: Vec<u8>,
    /// Everybody who may not decide on it.
    pub provenance: Provenance,
}
row!(HandedIn { task_id, author_id, risk, effect_hash, submitted_at, config, provenance });

statement!(
    HANDED_IN: HandedIn = "SELECT t.id AS task_id, t.author_id, t.risk, t.effect_hash, t.submitted_at, v.config, \
                           v.provenance FROM tasks t JOIN task_revisions v ON v.task_id = t.id AND \
                           v.number = t.revision WHERE t.org_id = $1 AND t.created_at >= $2 AND \
                           t.submitted_at >= $3 ORDER BY t.created_at DESC, t.id DESC LIMIT $4"
);

/// Tasks that were handed in since then and made since that other time, the newest first. It is a walk along the index of
/// when they were made: there is none of when they were handed in, which every submission would pay for.
pub async fn handed_in(
    tx: &mut Tx,
    org: Id<Organization>,
    (since, made_since): (Timestamp, Timestamp),
    limit: i64,
) -> Result<Vec<HandedIn>> {
    tx.all(&HANDED_IN, args![org, made_since, since, limit]).await
}
