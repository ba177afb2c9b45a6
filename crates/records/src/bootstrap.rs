//! The first start: whether there is anything yet, seen by one server at a time.

use crate::{Result, Tx, args, row, statement};

/// Any number no other program on the database uses: "bootstra" cut to 63 bits.
const BOOTSTRAP_LOCK: i64 = 0x626f_6f74_7374_7261;

struct Any {
    any_row: bool,
}
row!(Any { any_row });
// A void function has no column to read, so it stands in FROM.
statement!(
    LOCK: Any = lite "SELECT 1 AS any_row WHERE $1 IS NOT NULL",
                pg "SELECT true AS any_row FROM pg_advisory_xact_lock($1)"
);
statement!(ANY_ORGANIZATION: Any = "SELECT EXISTS (SELECT 1 FROM organizations) AS any_row");

/// From here to its end this unit is the only one that makes what an empty database needs: on PostgreSQL other servers
/// wait until it has ended.
pub async fn alone(tx: &mut Tx) -> Result<()> {
    tx.one(&LOCK, args![BOOTSTRAP_LOCK]).await.map(drop)
}

/// Whether the database already belongs to somebody. The unit is [`alone`] from here on.
pub async fn is_done(tx: &mut Tx) -> Result<bool> {
    alone(tx).await?;
    Ok(tx.one(&ANY_ORGANIZATION, args![]).await?.any_row)
}
