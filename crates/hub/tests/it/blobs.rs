//! Blobs: appended, read in chunks, within the quota, never across tenants.

use domain::blobs::{Blob, CHUNK_BYTES};
use domain::organizations::Organization;
use domain::{Id, Timestamp};
use hub::{HubError, blobs};
use testkit::{TestHub, on_each_engine};

const NOW: Timestamp = Timestamp::from_micros(1);

async fn append(
    hub: &TestHub,
    org: Id<Organization>,
    id: Id<Blob>,
    bytes: Vec<u8>,
    quota: i64,
) -> Result<Blob, HubError> {
    hub.hub
        .records
        .write((org, id, bytes, quota), |tx, (org, id, bytes, quota)| {
            Box::pin(async move {
                let blob = records::blobs::get_locked(tx, *org, *id).await?;
                let blob = match blob {
                    Some(blob) => blob,
                    None => blobs::create(tx, *id, *org, "output", NOW).await?,
                };
                blobs::append(tx, &blob, bytes, *quota, NOW).await
            })
        })
        .await
}

async fn read_all(hub: &TestHub, org: Id<Organization>, id: Id<Blob>) -> Result<Vec<u8>, HubError> {
    let mut whole = Vec::new();
    loop {
        let offset = i64::try_from(whole.len()).unwrap();
        let piece = hub
            .hub
            .records
            .read((org, id, offset), |tx, &(org, id, offset)| Box::pin(blobs::read(tx, org, id, offset)))
            .await?;
        if piece.is_empty() {
            return Ok(whole);
        }
        whole.extend(piece);
    }
}

#[tokio::test]
async fn what_is_appended_is_read_back_within_the_quota() {
    on_each_engine(async |hub| {
        let admin = hub.caller(&hub.admin_key).await;
        let other = hub.caller(&hub.tenant("other").await).await;
        let (org, other) = (admin.credential.organization.id, other.credential.organization.id);
        let id: Id<Blob> = hub.hub.ids.id();
        let pieces = [1, CHUNK_BYTES - 2, 3, 2 * CHUNK_BYTES + 5];
        let mut expected = Vec::new();
        for (number, length) in pieces.into_iter().enumerate() {
            let bytes = vec![u8::try_from(number).unwrap() + 1; length];
            expected.extend_from_slice(&bytes);
            let blob = append(&hub, org, id, bytes, i64::MAX).await.unwrap();
            assert_eq!(blob.size, i64::try_from(expected.len()).unwrap());
        }
        assert_eq!(read_all(&hub, org, id).await.unwrap(), expected);
        let full = i64::try_from(expected.len()).unwrap();
        assert!(matches!(append(&hub, org, id, vec![0], full).await, Err(HubError::Forbidden(_))));
        append(&hub, org, id, vec![0], full + 1).await.unwrap();
        assert!(matches!(read_all(&hub, other, id).await, Err(HubError::NotFound(_))), "another tenant's");
        let quota_is_per_tenant = append(&hub, other, hub.hub.ids.id(), vec![0; 10], 10).await;
        assert!(quota_is_per_tenant.is_ok());
    })
    .await;
}
