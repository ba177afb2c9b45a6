//! Seals over rows.

use domain::audit::Chain;
use domain::audit::seal::{Seal, SealHead, leaves_from_bytes};
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::statement::Query;
use crate::value::Value;
use crate::{Db, Error, Result, Tx, args, row, statement};

struct OfChain {
    chain: Chain,
}
row!(OfChain { chain });
struct Sealed {
    created_at: Timestamp,
    id: Uuid,
    body: Vec<u8>,
}
row!(Sealed { created_at, id, body });
struct Head {
    number: i64,
    hash: [u8; 32],
}
row!(Head { number, hash });

statement!(UNSEALED_CHAINS: OfChain = "SELECT DISTINCT chain FROM audit_logs WHERE seal_id IS NULL ORDER BY chain");
statement!(
    HEAD_LOCKED: Head = "SELECT number, hash FROM audit_seals WHERE chain = $1 ORDER BY number DESC LIMIT 1",
    lock "FOR UPDATE"
);
statement!(
    TAKE_UNSEALED: Sealed = "UPDATE audit_logs SET seal_id = $1, updated_at = $2 WHERE id IN (SELECT id FROM \
                             audit_logs WHERE chain = $3 AND seal_id IS NULL ORDER BY created_at, id LIMIT $4) AND \
                             seal_id IS NULL RETURNING created_at, id, body"
);
statement!(
    INSERT_SEAL = "INSERT INTO audit_seals (id, chain, number, count, previous, root, hash, signature, signer, leaves, \
                   created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)"
);

/// Chains with rows that no seal covers yet.
pub async fn unsealed_chains(db: &Db) -> Result<Vec<Chain>> {
    Ok(db.all(&UNSEALED_CHAINS, args![]).await?.into_iter().map(|row| row.chain).collect())
}

/// The newest seal of the chain; another sealer waits until this unit has ended.
pub async fn head_locked(tx: &mut Tx, chain: Chain) -> Result<SealHead> {
    let head = tx.opt(&HEAD_LOCKED, args![chain.uuid()]).await?;
    Ok(head.map_or(SealHead::start(chain), |head| SealHead {
        chain,
        number: u64::try_from(head.number).unwrap_or(0),
        hash: head.hash,
    }))
}

/// Puts unsealed rows under a seal that is about to be made; their bodies in the order of its leaves.
pub async fn take_unsealed(
    tx: &mut Tx,
    chain: Chain,
    seal: Id<Seal>,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Vec<u8>>> {
    let mut rows = tx.all(&TAKE_UNSEALED, args![seal, now, chain.uuid(), limit]).await?;
    rows.sort_by_key(|row| (row.created_at, row.id));
    Ok(rows.into_iter().map(|row| row.body).collect())
}

/// Adds a seal.
pub async fn insert_seal(tx: &mut Tx, seal: &Seal) -> Result<()> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    tx.push(
        &INSERT_SEAL,
        args![
            seal.id,
            seal.chain.uuid(),
            signed(seal.number),
            signed(seal.count),
            &seal.previous,
            &seal.root,
            &seal.hash,
            &seal.signature,
            &seal.key_id,
            &seal.leaf_bytes(),
            seal.sealed_at,
        ],
    )
    .await
}

struct StoredSeal {
    id: Id<Seal>,
    chain: Chain,
    number: i64,
    count: i64,
    // Of any length: somebody may have changed it, and the seal must be named then.
    previous: Vec<u8>,
    root: Vec<u8>,
    hash: Vec<u8>,
    signature: Vec<u8>,
    signer: String,
    leaves: Vec<u8>,
    created_at: Timestamp,
}
row!(StoredSeal { id, chain, number, count, previous, root, hash, signature, signer, leaves, created_at });

statement!(
    SEALS_UP: StoredSeal = "SELECT id, chain, number, count, previous, root, hash, signature, signer, leaves, created_at \
                            FROM audit_seals WHERE chain = $1 AND number > $2 ORDER BY number LIMIT $3"
);
statement!(
    SEALS_DOWN: StoredSeal = "SELECT id, chain, number, count, previous, root, hash, signature, signer, leaves, \
                              created_at FROM audit_seals WHERE chain = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
);
statement!(
    SEAL: StoredSeal = "SELECT id, chain, number, count, previous, root, hash, signature, signer, leaves, created_at \
                        FROM audit_seals WHERE chain = $1 AND id = $2"
);

/// Seals of the chain after a number, oldest first.
pub async fn seals_up(db: &Db, chain: Chain, after: i64, limit: i64) -> Result<Vec<Seal>> {
    seals(db, &SEALS_UP, args![chain.uuid(), after, limit]).await
}

/// Seals of the chain before a number, newest first.
pub async fn seals_down(db: &Db, chain: Chain, before: i64, limit: i64) -> Result<Vec<Seal>> {
    seals(db, &SEALS_DOWN, args![chain.uuid(), before, limit]).await
}

/// One seal of the chain.
pub async fn seal(db: &Db, chain: Chain, id: Uuid) -> Result<Option<Seal>> {
    Ok(seals(db, &SEAL, args![chain.uuid(), id]).await?.into_iter().next())
}

/// One seal of the chain, in a unit.
pub async fn get(tx: &mut Tx, chain: Chain, id: Uuid) -> Result<Option<Seal>> {
    tx.opt(&SEAL, args![chain.uuid(), id]).await?.map(Seal::try_from).transpose()
}

async fn seals(db: &Db, query: &'static Query<StoredSeal>, values: &[Value<'_>]) -> Result<Vec<Seal>> {
    db.all(query, values).await?.into_iter().map(Seal::try_from).collect()
}

impl TryFrom<StoredSeal> for Seal {
    type Error = Error;

    fn try_from(row: StoredSeal) -> Result<Self> {
        let number = row.number;
        let damaged = |column| Error::BadRow { column, reason: format!("seal {number} is damaged") };
        Ok(Self {
            id: row.id,
            chain: row.chain,
            number: u64::try_from(row.number).map_err(|_| damaged("number"))?,
            count: u64::try_from(row.count).map_err(|_| damaged("count"))?,
            previous: row.previous.try_into().map_err(|_| damaged("previous"))?,
            root: row.root.try_into().map_err(|_| damaged("root"))?,
            hash: row.hash.try_into().map_err(|_| damaged("hash"))?,
            signature: row.signature.try_into().map_err(|_| damaged("signature"))?,
            leaves: leaves_from_bytes(&row.leaves).ok_or_else(|| damaged("leaves"))?,
            key_id: row.signer,
            sealed_at: row.created_at,
        })
    }
}
