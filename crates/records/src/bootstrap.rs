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

/// Whether the database already belongs to somebody. On PostgreSQL other servers wait until this unit has ended.
pub async fn is_done(tx: &mut Tx) -> Result<bool> {
    tx.one(&LOCK, args![BOOTSTRAP_LOCK]).await?;
    Ok(tx.one(&ANY_ORGANIZATION, args![]).await?.any_row)
}
