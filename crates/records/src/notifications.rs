//! What people were told.

use domain::accounts::Account;
use domain::notifications::{Notification, NotificationKind};
use domain::organizations::Organization;
use domain::tasks::Task;
use domain::{Id, Timestamp};
use serde_json::Value as Json;

use crate::value::Value;
use crate::{Result, Tx, args, row, statement};

row!(Notification {
    id,
    org_id,
    account_id,
    kind,
    task_id,
    approval_id,
    event_id,
    event_type,
    event_seq,
    actor_id,
    facts,
    created_at,
    delivered_at,
    read_at
});

/// That somebody was told of a review that waits for nobody.
pub struct Alarm {
    /// Who.
    pub account_id: Id<Account>,
    /// As what.
    pub kind: NotificationKind,
    /// When.
    pub created_at: Timestamp,
}
row!(Alarm { account_id, kind, created_at });

struct Count {
    count: i64,
}
row!(Count { count });

statement!(
    INSERT = "INSERT INTO notifications (id, org_id, account_id, kind, task_id, approval_id, event_id, event_type, \
              actor_id, facts, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)"
);
statement!(
    GET: Notification = "SELECT n.id, n.org_id, n.account_id, n.kind, n.task_id, n.approval_id, n.event_id, \
                         n.event_type, e.seq AS event_seq, n.actor_id, n.facts, n.created_at, n.delivered_at, n.read_at \
                         FROM notifications n LEFT JOIN events e ON e.id = n.event_id \
                         WHERE NULLIF(n.org_id, NULL) = $1 AND n.account_id = $2 AND n.id = $3"
);
statement!(
    LIST: Notification = "SELECT n.id, n.org_id, n.account_id, n.kind, n.task_id, n.approval_id, n.event_id, \
                          n.event_type, e.seq AS event_seq, n.actor_id, n.facts, n.created_at, n.delivered_at, \
                          n.read_at FROM notifications n LEFT JOIN events e ON e.id = n.event_id \
                          WHERE n.org_id = $1 AND n.account_id = $2"
                         and ["n.read_at IS NULL", "n.read_at IS NOT NULL", "(n.created_at, n.id) < (?, ?)"]
                         then "ORDER BY n.created_at DESC, n.id DESC LIMIT ?"
);
statement!(
    ALARMS: Alarm = "SELECT account_id, kind, created_at FROM notifications WHERE NULLIF(org_id, NULL) = $1 AND \
                     task_id = $2 AND kind IN ('nobody_told', 'escalated') ORDER BY created_at DESC, id DESC LIMIT $3"
);
// No further than somebody would count.
statement!(
    UNREAD: Count = "SELECT count(*) AS count FROM (SELECT 1 AS one FROM notifications WHERE org_id = $1 AND \
                     account_id = $2 AND read_at IS NULL LIMIT $3) AS unread"
);
statement!(
    MARK_READ = "UPDATE notifications SET read_at = $1, delivered_at = COALESCE(delivered_at, $1), updated_at = $1 \
                 WHERE NULLIF(org_id, NULL) = $2 AND account_id = $3 AND id = $4 AND read_at IS NULL"
);
statement!(
    MARK_DELIVERED = lite "UPDATE notifications SET delivered_at = $1, updated_at = $1 WHERE \
                           NULLIF(org_id, NULL) = $2 AND NULLIF(account_id, NULL) = $3 AND delivered_at IS NULL AND \
                           id IN (SELECT value FROM json_each($4))",
                     pg "UPDATE notifications SET delivered_at = $1, updated_at = $1 WHERE org_id = $2 AND \
                         account_id = $3 AND delivered_at IS NULL AND id IN (SELECT CAST(value AS UUID) FROM \
                         jsonb_array_elements_text($4))"
);
statement!(
    FORGET = "DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE org_id = $1 AND \
              created_at < $2 ORDER BY created_at LIMIT $3)"
);

/// Forgotten in one go.
const FORGOTTEN_MAX: i64 = 1000;

/// Which notifications of an account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Only those that are not read, or are.
    pub unread: Option<bool>,
    /// Only those behind this place in the list.
    pub after: Option<(Timestamp, Id<Notification>)>,
}

/// Tells somebody, in the unit of the event that is addressed to them.
pub async fn insert(tx: &mut Tx, told: &Notification) -> Result<()> {
    let facts = Json::Object(told.facts.clone());
    let values = args![
        told.id,
        told.org_id,
        told.account_id,
        told.kind.as_str(),
        told.task_id,
        told.approval_id,
        told.event_id,
        &told.event_type,
        told.actor_id,
        &facts,
        told.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// One that the account was told.
pub async fn get(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    id: Id<Notification>,
) -> Result<Option<Notification>> {
    tx.opt(&GET, args![org, account, id]).await
}

/// Who was told of a review of the task that waits for nobody, newest first.
pub async fn alarms(
    tx: &mut Tx,
    (org, task): (Id<Organization>, Id<Task>),
    limit: i64,
) -> Result<Vec<Alarm>> {
    tx.all(&ALARMS, args![org, task, limit]).await
}

/// What the account was told, newest first.
pub async fn list(
    tx: &mut Tx,
    whose: (Id<Organization>, Id<Account>),
    filter: Filter,
    limit: i64,
) -> Result<Vec<Notification>> {
    // What is read and what is not stand in an index each; the first of both are the first of all.
    let lists = filter.unread.map_or_else(|| vec![true, false], |unread| vec![unread]);
    let mut found = Vec::new();
    for unread in lists {
        found.extend(search(tx, whose, (unread, filter.after), limit).await?);
    }
    found.sort_by_key(|told: &Notification| std::cmp::Reverse((told.created_at, told.id)));
    found.truncate(usize::try_from(limit).unwrap_or_default());
    Ok(found)
}

async fn search(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    (unread, after): (bool, Option<(Timestamp, Id<Notification>)>),
    limit: i64,
) -> Result<Vec<Notification>> {
    let mut search = LIST.with(args![org, account]);
    match unread {
        true => LIST.and(&mut search, "n.read_at IS NULL", args![]),
        false => LIST.and(&mut search, "n.read_at IS NOT NULL", args![]),
    }
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(n.created_at, n.id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}

/// How many the account has not read, counted no further than this.
pub async fn count_unread(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    limit: i64,
) -> Result<i64> {
    Ok(tx.one(&UNREAD, args![org, account, limit]).await?.count)
}

/// Notes that the account has read it; the first time counts.
pub async fn mark_read(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    id: Id<Notification>,
    now: Timestamp,
) -> Result<()> {
    tx.push(&MARK_READ, args![now, org, account, id]).await
}

/// Notes that the account was handed these; the first time counts.
pub async fn mark_delivered(
    tx: &mut Tx,
    (org, account): (Id<Organization>, Id<Account>),
    ids: &[Id<Notification>],
    now: Timestamp,
) -> Result<()> {
    let ids = Json::from(ids.iter().map(ToString::to_string).collect::<Vec<_>>());
    tx.push(&MARK_DELIVERED, args![now, org, account, &ids]).await
}

/// Deletes a bounded number of what the organization's people were told before `cutoff`. How many.
pub async fn forget(tx: &mut Tx, org: Id<Organization>, cutoff: Timestamp) -> Result<u64> {
    tx.exec(&FORGET, args![org, cutoff, FORGOTTEN_MAX]).await
}
