//! Proving a chain from the rows themselves, in bounded memory.

use std::time::Duration;

use domain::Timestamp;
use domain::audit::merkle::Hash;
use domain::audit::seal::SEAL_LEAVES_MAX;
use domain::audit::{Chain, ChainVerifier, Finding, Report};
use domain::permissions::Capability;
use ed25519_dalek::VerifyingKey;
use records::Db;
use records::audit::checks::{self, AuditCheck};
use records::audit::seals;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::{Caller, Hub, HubError};

const SEALS_AT_ONCE: i64 = 32;
const ROWS_AT_ONCE: i64 = 1000;

/// What a full check came to.
pub type Verdict = Result<Report, Finding>;

/// Checks a whole chain, and that it contains `head` if one is given.
pub async fn verify_chain(
    db: &Db,
    chain: Chain,
    keys: &[VerifyingKey],
    head: Option<Hash>,
) -> Result<Verdict, HubError> {
    let mut verifier = ChainVerifier::new(chain, keys);
    if let Some(head) = head {
        verifier = verifier.with_head(head);
    }
    if let Some((row, column)) = checks::touched_seal(db, chain).await? {
        return Ok(Err(Finding::ColumnDiffers { row, column }));
    }
    if let Err(finding) = verify_seals(db, chain, &mut verifier).await? {
        return Ok(Err(finding));
    }
    if let Some(row) = checks::row_without_seal(db, chain).await? {
        return Ok(Err(Finding::RowExtra { row, seal: 0 }));
    }
    if let Err(finding) = verify_unsealed(db, chain, &mut verifier).await? {
        return Ok(Err(finding));
    }
    Ok(verifier.finish())
}

async fn verify_seals(
    db: &Db,
    chain: Chain,
    verifier: &mut ChainVerifier,
) -> Result<Result<(), Finding>, HubError> {
    let mut after = 0;
    loop {
        let page = seals::seals_up(db, chain, after, SEALS_AT_ONCE).await?;
        let Some(last) = page.last() else {
            return Ok(Ok(()));
        };
        after = i64::try_from(last.number).unwrap_or(i64::MAX);
        for seal in &page {
            let rows = checks::rows_of_seal(db, chain, seal.id, SEAL_LEAVES_MAX as i64 + 1).await?;
            if let Err(finding) = verifier.seal(seal, &rows) {
                return Ok(Err(finding));
            }
            if let Some((row, column)) =
                checks::touched_row(db, chain, Some((seal.id, seal.sealed_at))).await?
            {
                return Ok(Err(Finding::ColumnDiffers { row, column }));
            }
        }
    }
}

async fn verify_unsealed(
    db: &Db,
    chain: Chain,
    verifier: &mut ChainVerifier,
) -> Result<Result<(), Finding>, HubError> {
    if let Some((row, column)) = checks::touched_row(db, chain, None).await? {
        return Ok(Err(Finding::ColumnDiffers { row, column }));
    }
    let mut after = (Timestamp::from_micros(0), Uuid::nil());
    loop {
        let page = checks::unsealed_rows(db, chain, after, ROWS_AT_ONCE).await?;
        for row in &page {
            if let Err(finding) = verifier.unsealed(row) {
                return Ok(Err(finding));
            }
        }
        match page.last() {
            Some(row) => after = (row.columns.created_at.unwrap_or(after.0), row.id),
            None => return Ok(Ok(())),
        }
    }
}

/// Checks the caller's organization's chain now and keeps what was found, also if the caller does not wait for it.
pub async fn verify_now(hub: &Hub, caller: &Caller) -> Result<AuditCheck, HubError> {
    caller.require(Capability::AuditVerify)?;
    let org = caller.credential.organization.id;
    let running = || HubError::InvalidState {
        state: "checking".into(),
        detail: "a check of this chain is running; its result will be at GET /api/v1/audit/verification"
            .into(),
    };
    let turn = hub.coordination.checks.enter(org, Duration::ZERO).await.ok_or_else(running)?;
    let (reply, answer) = oneshot::channel();
    let working = hub.clone();
    hub.lifecycle.spawn(async move {
        let checked = check_and_keep(&working, Chain::Organization(org)).await;
        drop(turn);
        if let Err(Err(error)) = reply.send(checked) {
            tracing::warn!("the audit trail of {org} could not be checked: {error}");
        }
    });
    answer
        .await
        .unwrap_or_else(|_| Err(records::Error::Misbehaved("a check of the audit trail ended early").into()))
}

async fn check_and_keep(hub: &Hub, chain: Chain) -> Result<AuditCheck, HubError> {
    let keys = hub.config.keys.verifying_keys();
    let now = hub.clock.now();
    let check = match verify_chain(&hub.records, chain, &keys, None).await {
        Ok(Ok(report)) => passed(&report, now),
        Ok(Err(finding)) => found(finding.to_string(), now),
        // A value that cannot even be read was not written by a hub.
        Err(HubError::Records(error @ records::Error::BadRow { .. })) => found(error.to_string(), now),
        Err(error) => return Err(error),
    };
    if let Some(finding) = &check.finding {
        tracing::error!("the audit trail of {chain} is not what was sealed: {finding}");
    }
    let kept = check.clone();
    hub.records
        .write((chain, kept), |tx, (chain, kept)| Box::pin(checks::keep_check(tx, *chain, kept)))
        .await?;
    Ok(check)
}

fn passed(report: &Report, now: Timestamp) -> AuditCheck {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    AuditCheck {
        ok: true,
        finding: None,
        seals: signed(report.seals),
        rows: signed(report.rows),
        unsealed: signed(report.unsealed),
        head: report.head.map(|head| head.to_vec()),
        updated_at: now,
    }
}

fn found(finding: String, now: Timestamp) -> AuditCheck {
    AuditCheck {
        ok: false,
        finding: Some(finding),
        seals: 0,
        rows: 0,
        unsealed: 0,
        head: None,
        updated_at: now,
    }
}

/// What the last full check of the caller's organization found.
pub async fn last(hub: &Hub, caller: &Caller) -> Result<AuditCheck, HubError> {
    caller.require(Capability::AuditRead)?;
    let chain = Chain::Organization(caller.credential.organization.id);
    checks::last_check(&hub.records, chain)
        .await?
        .ok_or(HubError::NotFound("check yet; ask for one with POST"))
}
