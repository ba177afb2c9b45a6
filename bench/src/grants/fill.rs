//! Very many pending grants of one tenant, by the back door.

use std::time::Duration;

use anyhow::Result;
use hub::clock::{Clock as _, SystemClock};
use rusqlite::{Connection, params};

use crate::homes::Home;

/// None of them ends while anybody measures.
const LIVES: Duration = Duration::from_secs(604_800);

const GRANTS: &str = "\
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
    INSERT INTO standalone_grants (id, org_id, store, ir_hash, token_hash, status, expires_at, created_by, \
    created_at, updated_at) \
    SELECT printf('%08x-0000-7000-8000-%012x', i, i), (SELECT id FROM organizations WHERE slug = 'default'), \
    'records', 'sha256:' || printf('%064x', i), CAST(printf('%032d', i) AS BLOB), 'pending', ?3, 'bench', \
    ?2 - i, ?2 FROM n";
const COUNTS: &str = "\
    INSERT INTO standalone_grant_counts (org_id, shard, pending, consumed, expired, created_at, updated_at) \
    SELECT id, 0, ?1, 0, 0, ?2, ?2 FROM organizations WHERE slug = 'default'";

/// Makes so many, in a hub that does not run and had none.
pub(super) fn fill(home: &Home, count: u64) -> Result<()> {
    let file = Connection::open(home.database_file())?;
    let (count, now) = (i64::try_from(count)?, SystemClock::default().now());
    let (now, end) = (now.micros(), now.plus(LIVES).micros());
    file.execute(GRANTS, params![count, now, end])?;
    file.execute(COUNTS, params![count, now])?;
    drop(file);
    std::fs::File::open(home.database_file())?.sync_all()?;
    Ok(())
}
