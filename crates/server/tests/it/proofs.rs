//! Proofs and exports, checked with nothing of the hub's but the documents: SHA-256 and Ed25519.

use domain::audit::export::ExportVerifier;
use ed25519_dalek::{Signature, VerifyingKey};
use futures_util::future::join_all;
use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{TestHub, on_each_engine, scaled};

use crate::random::Random;
use crate::support::{all_items, eventually, expect, get, mint, refused, send};

type Hash = [u8; 32];

fn sha256(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

fn bytes<const N: usize>(value: &Value) -> [u8; N] {
    hex::decode(value.as_str().unwrap()).unwrap().try_into().unwrap()
}

/// The root of a tree of `count` leaves, from one of them and the hashes beside its way up (RFC 6962). `path` comes
/// from the leaf upwards, so the last one is the half that this leaf is not in.
fn root_of(leaf: Hash, index: u64, count: u64, path: &[Hash]) -> Hash {
    let Some((beside, lower)) = path.split_last() else {
        assert_eq!(count, 1, "the path is too short");
        return leaf;
    };
    let left = count.next_power_of_two() / 2;
    if index < left {
        let here = root_of(leaf, index, left, lower);
        sha256(&[&[1], &here, beside])
    } else {
        let here = root_of(leaf, index - left, count - left, lower);
        sha256(&[&[1], beside, &here])
    }
}

fn seal_hash(seal: &Value, organization: &str) -> Hash {
    let chain = uuid::Uuid::parse_str(organization).unwrap();
    let number = |name: &str| seal[name].as_u64().unwrap().to_be_bytes();
    let time: domain::Timestamp = seal["sealed_at"].as_str().unwrap().parse().unwrap();
    sha256(&[
        &[2],
        &bytes::<32>(&seal["previous"]),
        chain.as_bytes(),
        &number("number"),
        &number("count"),
        &bytes::<32>(&seal["root"]),
        &time.micros().to_be_bytes(),
    ])
}

async fn sealed(hub: &TestHub, keys: usize) {
    for number in 0..keys {
        mint(hub, &hub.admin_key, json!({"name": format!("key {number}")})).await;
    }
    seal_all(&hub.hub).await.unwrap();
}

#[tokio::test]
async fn a_proof_holds_without_the_hub() {
    on_each_engine(async |hub| {
        sealed(&hub, 11).await;
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await;
        let organization = me["organization"]["id"].as_str().unwrap();
        let seals = all_items(&hub, &hub.admin_key, "/api/v1/audit/seals").await;
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit").await;
        for row in &rows {
            let path = format!("/api/v1/audit/{}/proof", row["id"].as_str().unwrap());
            let proof = get(&hub, &hub.admin_key, &path).await;
            assert_eq!(proof["row_id"], row["id"]);
            let body = proof["body"].as_str().unwrap();
            let claims: Value = serde_json::from_str(body).unwrap();
            for name in ["id", "actor", "action", "occurred_at", "ip", "user_agent", "subject", "details"] {
                assert_eq!(claims[name], row[name], "{name}");
            }
            let leaf = sha256(&[&[0], body.as_bytes()]);
            assert_eq!(bytes::<32>(&proof["leaf"]), leaf);
            let path: Vec<Hash> = proof["path"].as_array().unwrap().iter().map(bytes).collect();
            let [index, count] = ["index", "count"].map(|name| proof[name].as_u64().unwrap());
            let root = root_of(leaf, index, count, &path);
            assert_eq!(bytes::<32>(&proof["root"]), root);
            let seal = &proof["seal"];
            assert!(seals.contains(seal), "{seal}");
            assert_eq!((bytes::<32>(&seal["root"]), &seal["count"]), (root, &proof["count"]));
            let hash = seal_hash(seal, organization);
            assert_eq!(bytes::<32>(&seal["hash"]), hash);
            let key: [u8; 32] = bytes(&proof["public_key"]);
            assert_eq!(seal["key_id"], hex::encode(&sha256(&[&key])[..8]));
            let signature = Signature::from_bytes(&bytes(&seal["signature"]));
            VerifyingKey::from_bytes(&key).unwrap().verify_strict(&hash, &signature).unwrap();
        }
        assert!(rows.len() > 11);
    })
    .await;
}

/// Several servers seal the same chains; whoever is first, the chain has no gap and no fork.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sealers_make_one_chain() {
    on_each_engine(async |hub| {
        for round in 0..10 {
            let mints = (0..4).map(async |number| {
                mint(&hub, &hub.admin_key, json!({"name": format!("key {round}/{number}")})).await;
                seal_all(&hub.hub).await.unwrap();
            });
            join_all(mints).await;
        }
        seal_all(&hub.hub).await.unwrap();
        let check = expect(hub.admin("POST", "/api/v1/audit/verification"), 200).await.json();
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit").await.len();
        assert_eq!((&check["ok"], &check["rows"]), (&json!(true), &json!(rows)), "{check}");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_sealed_yet_has_no_proof_yet() {
    on_each_engine(async |hub| {
        // Sealing follows within a second; asked at once, it has mostly not happened.
        let problem = eventually("a row that is not sealed", async || {
            mint(&hub, &hub.admin_key, json!({"name": "fresh"})).await;
            let newest = get(&hub, &hub.admin_key, "/api/v1/audit?limit=1").await["items"][0]["id"].clone();
            let path = format!("/api/v1/audit/{}/proof", newest.as_str().unwrap());
            let answer = send(hub.admin("GET", &path)).await;
            (answer.status != 200).then(|| answer.problem(409, "INVALID_STATE"))
        })
        .await;
        assert_eq!(problem["state"], "unsealed");
    })
    .await;
}

fn verify(export: &[u8], trusted: Option<VerifyingKey>) -> Result<u64, String> {
    let mut verifier = ExportVerifier::new(trusted.map(|key| vec![key]));
    for line in export.split_inclusive(|byte| *byte == b'\n') {
        verifier.line(line).map_err(|finding| finding.to_string())?;
    }
    verifier.finish().map(|report| report.rows).map_err(|finding| finding.to_string())
}

#[tokio::test]
async fn an_export_proves_itself_and_shows_every_change() {
    on_each_engine(async |hub| {
        sealed(&hub, 5).await;
        mint(&hub, &hub.admin_key, json!({"name": "perhaps not sealed yet"})).await;
        let answer = expect(hub.admin("GET", "/api/v1/audit/export"), 200).await;
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit").await;
        let row = rows.last().unwrap()["id"].as_str().unwrap();
        let proof = get(&hub, &hub.admin_key, &format!("/api/v1/audit/{row}/proof")).await;
        let key = VerifyingKey::from_bytes(&bytes(&proof["public_key"])).unwrap();
        assert_eq!(verify(&answer.body, Some(key)), Ok(rows.len() as u64));
        // Another tenant's chain is not in it.
        let theirs = hub.tenant("other").await;
        let others = expect(hub.request("GET", "/api/v1/audit/export").bearer_auth(&theirs), 200).await;
        assert!(!others.text().contains(row));
        assert_eq!(verify(&others.body, Some(key)).map(|rows| rows > 0), Ok(true));
        let stranger = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
        assert!(verify(&answer.body, Some(stranger)).is_err(), "signed with a key nobody trusts");
        let mut random = Random::new(9);
        for round in 0..scaled(2000) {
            let mut changed = answer.body.clone();
            let place = random.below(changed.len());
            changed[place] ^= 1 << random.below(8);
            assert!(
                verify(&changed, Some(key)).is_err(),
                "round {round}: byte {place} was changed unnoticed"
            );
        }
        let mut lines: Vec<&[u8]> = answer.body.split_inclusive(|byte| *byte == b'\n').collect();
        for number in 0..lines.len() {
            let line = lines.remove(number);
            assert!(verify(&lines.concat(), Some(key)).is_err(), "line {number} was left out unnoticed");
            lines.insert(number, line);
        }
    })
    .await;
}

#[tokio::test]
async fn a_member_gets_no_export() {
    on_each_engine(async |hub| {
        let member = hub.member(&hub.admin_key, "curious").await;
        refused(hub.request("GET", "/api/v1/audit/export").bearer_auth(&member), 403, "FORBIDDEN").await;
    })
    .await;
}
