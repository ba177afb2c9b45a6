//! A grant as Redis keeps it: JSON with the fields of S002 (TOKEN-08). All values are texts, so that scripts read and
//! write them without changing one.

use domain::canonical::Sha256Hash;
use domain::standalone_grants::{StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};
use serde_json::{Value, json};

use super::StoreError;

/// The digits of a hash, without its name.
pub(super) fn digits(hash: Sha256Hash) -> String {
    hash.to_string().split_off("sha256:".len())
}

pub(super) fn written(grant: &StandaloneGrant) -> String {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let record = json!({
        "approval_id": grant.id.to_string(),
        "tenant_id": grant.org_id.to_string(),
        "ir_hash": grant.ir_hash,
        "token_hash": digits(grant.token_hash),
        "status": grant.status.as_str(),
        "expires_at": grant.expires_at.to_string(),
        "created_at": grant.created_at.to_string(),
        "updated_at": grant.updated_at.to_string(),
        "consumed_at": time(grant.consumed_at),
        "created_by": grant.created_by,
        "consumed_by": grant.consumed_by,
        "acknowledged_at": time(grant.acknowledged_at),
        "acknowledged_by": grant.acknowledged_by,
    });
    record.to_string()
}

pub(super) fn read(text: &str) -> Result<StandaloneGrant, StoreError> {
    let strange = |what: &str| StoreError(format!("a record in Redis is damaged: {what}"));
    let record: Value = serde_json::from_str(text).map_err(|error| strange(&error.to_string()))?;
    let word = |name: &str| record[name].as_str().ok_or_else(|| strange(name));
    let time = |name: &str| word(name)?.parse::<Timestamp>().map_err(|_| strange(name));
    let maybe_time = |name: &str| if record[name].is_null() { Ok(None) } else { time(name).map(Some) };
    let maybe_word = |name: &str| record[name].as_str().map(str::to_owned);
    Ok(StandaloneGrant {
        id: word("approval_id")?.parse::<Id<StandaloneGrant>>().map_err(|_| strange("approval_id"))?,
        org_id: word("tenant_id")?.parse().map_err(|_| strange("tenant_id"))?,
        store: StoreKind::Redis,
        ir_hash: word("ir_hash")?.to_owned(),
        token_hash: format!("sha256:{}", word("token_hash")?).parse().map_err(|_| strange("token_hash"))?,
        status: word("status")?.parse().map_err(|_| strange("status"))?,
        expires_at: time("expires_at")?,
        consumed_at: maybe_time("consumed_at")?,
        created_by: word("created_by")?.to_owned(),
        consumed_by: maybe_word("consumed_by"),
        acknowledged_at: maybe_time("acknowledged_at")?,
        acknowledged_by: maybe_word("acknowledged_by"),
        created_at: time("created_at")?,
        updated_at: time("updated_at")?,
    })
}

#[cfg(test)]
mod tests {
    use domain::standalone_grants::GrantStatus;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_record_comes_back_whole() {
        let at = Timestamp::from_micros;
        let pending = StandaloneGrant {
            id: Id::new(Uuid::from_u128(7)),
            org_id: Id::new(Uuid::from_u128(8)),
            store: StoreKind::Redis,
            ir_hash: "sha256:\"/\\".into(),
            token_hash: Sha256Hash::of(b"t"),
            status: GrantStatus::Pending,
            expires_at: at(1_773_847_800_123_456),
            consumed_at: None,
            created_by: "Zoë / \"ci\"".into(),
            consumed_by: None,
            acknowledged_at: None,
            acknowledged_by: None,
            created_at: at(0),
            updated_at: at(1),
        };
        assert_eq!(read(&written(&pending)), Ok(pending.clone()));
        let used = pending.consumed(&pending.ir_hash, "ci", at(5)).unwrap();
        assert_eq!(read(&written(&used)), Ok(used));
        for damaged in ["", "{}", "[]", "null", &written(&pending).replace("pending", "new")] {
            assert!(read(damaged).is_err(), "{damaged}");
        }
    }
}
