//! What people and agents say about a task.

use domain::organizations::Organization;
use domain::tasks::Task;
use domain::tasks::comments::Comment;
use domain::{Id, Timestamp};

use crate::value::Value;
use crate::{Result, Tx, args, row, statement};

row!(Comment { id, org_id, task_id, author_id, author_name, body, created_at });

statement!(
    INSERT = "INSERT INTO task_comments (id, org_id, task_id, author_id, body, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $6)"
);
statement!(
    GET: Comment = "SELECT c.id, c.org_id, c.task_id, c.author_id, a.display_name AS author_name, c.body, c.created_at \
                    FROM task_comments c JOIN accounts a ON a.id = c.author_id \
                    WHERE c.org_id = $1 AND c.task_id = $2 AND c.id = $3"
);
statement!(
    LIST: Comment = "SELECT c.id, c.org_id, c.task_id, c.author_id, a.display_name AS author_name, c.body, c.created_at \
                     FROM task_comments c JOIN accounts a ON a.id = c.author_id WHERE c.org_id = $1 AND c.task_id = $2"
                    and ["(c.created_at, c.id) < (?, ?)"]
                    then "ORDER BY c.created_at DESC, c.id DESC LIMIT ?"
);

/// A place in a list of comments, newest first.
pub type After = (Timestamp, Id<Comment>);

/// Adds a comment.
pub async fn insert(tx: &mut Tx, comment: &Comment) -> Result<()> {
    let values = args![
        comment.id,
        comment.org_id,
        comment.task_id,
        comment.author_id,
        &comment.body,
        comment.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// A comment on the task.
pub async fn get(
    tx: &mut Tx,
    org: Id<Organization>,
    task: Id<Task>,
    id: Id<Comment>,
) -> Result<Option<Comment>> {
    tx.opt(&GET, args![org, task, id]).await
}

/// Comments on the task, newest first.
pub async fn list(
    tx: &mut Tx,
    org: Id<Organization>,
    task: Id<Task>,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Comment>> {
    let mut search = LIST.with(args![org, task]);
    if let Some((created_at, id)) = after {
        LIST.and(&mut search, "(c.created_at, c.id) < (?, ?)", args![created_at, id]);
    }
    tx.found(&LIST.finish(search, &[Value::from(limit)])).await
}
