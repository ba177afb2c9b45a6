//! Blobs: chunks, the quota's sum, and nobody else's.

use domain::Id;
use domain::blobs::{Blob, CHUNK_BYTES};
use domain::organizations::Organization;
use records::{Db, Error, Result, blobs};
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Ground, NOW, assert_error, on_both_engines};

on_both_engines!(chunks_come_back, appending_to_what_has_grown_is_a_lost_race, blobs_are_their_tenants_own);

async fn create(db: &Db, org_id: Id<Organization>, number: u128, size: i64) -> Blob {
    let id = Id::new(Uuid::from_u128(number));
    let blob = Blob { id, org_id, kind: "output".into(), size, created_at: NOW, updated_at: NOW };
    let made: Result<()> = db.write(blob.clone(), |tx, blob| Box::pin(blobs::create(tx, blob))).await;
    made.unwrap();
    blob
}

async fn put(db: &Db, blob: &Blob, number: i64, bytes: Vec<u8>) -> Result<()> {
    db.write((blob.clone(), number, bytes), |tx, (blob, number, bytes)| {
        Box::pin(blobs::put_chunk(tx, blob, *number, bytes, NOW))
    })
    .await
}

async fn chunk(db: &Db, blob: &Blob, number: i64) -> Option<Vec<u8>> {
    let bytes: Result<Option<Vec<u8>>> =
        db.read((blob.clone(), number), |tx, (blob, number)| Box::pin(blobs::chunk(tx, blob, *number))).await;
    bytes.unwrap()
}

async fn get(db: &Db, org: Id<Organization>, blob: &Blob) -> Option<Blob> {
    let found: Result<Option<Blob>> =
        db.read((org, blob.id), |tx, (org, id)| Box::pin(blobs::get(tx, *org, *id))).await;
    found.unwrap()
}

async fn delete(db: &Db, org: Id<Organization>, blob: &Blob) -> bool {
    let deleted: Result<bool> =
        db.write((org, blob.id), |tx, (org, id)| Box::pin(blobs::delete(tx, *org, *id))).await;
    deleted.unwrap()
}

async fn used(db: &Db, org: Id<Organization>) -> i64 {
    let used: Result<i64> = db.read(org, |tx, org| Box::pin(blobs::used(tx, *org))).await;
    used.unwrap()
}

async fn chunks_come_back(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let blob = create(&ground.db, org, 1, 0).await;
    let whole: Vec<u8> = (0..CHUNK_BYTES).map(|n| u8::try_from(n % 251).unwrap()).collect();
    put(&ground.db, &blob, 0, whole.clone()).await.unwrap();
    put(&ground.db, &blob, 1, b"half".to_vec()).await.unwrap();
    put(&ground.db, &blob, 1, b"half of it, grown".to_vec()).await.unwrap();
    put(&ground.db, &blob, 2, Vec::new()).await.unwrap();
    assert_eq!(chunk(&ground.db, &blob, 0).await, Some(whole));
    assert_eq!(chunk(&ground.db, &blob, 1).await.as_deref(), Some(&b"half of it, grown"[..]));
    assert_eq!(chunk(&ground.db, &blob, 2).await, Some(Vec::new()));
    assert_eq!(chunk(&ground.db, &blob, 3).await, None);
    assert!(delete(&ground.db, org, &blob).await);
    assert!(!delete(&ground.db, org, &blob).await);
    assert_eq!(ground.count_behind_its_back("SELECT count(*) FROM blob_chunks").await, 0, "they go with it");
    assert_error!(put(&ground.db, &blob, 0, Vec::new()).await, Error::Constraint { .. });
}

async fn appending_to_what_has_grown_is_a_lost_race(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let blob = create(&ground.db, org, 1, 0).await;
    let grow = async |size: i64| -> Result<()> {
        let seen = blob.clone();
        ground.db.write((seen, size), |tx, (seen, size)| Box::pin(blobs::grow(tx, seen, *size, NOW))).await
    };
    grow(10).await.unwrap();
    assert_error!(grow(20).await, Error::LostRace { .. });
    assert_eq!(get(&ground.db, org, &blob).await.unwrap().size, 10);
}

async fn blobs_are_their_tenants_own(ground: Ground) {
    let ((org, _), (other, _)) = (tenant(&ground, 1).await, tenant(&ground, 2).await);
    assert_eq!(used(&ground.db, org).await, 0);
    let blob = create(&ground.db, org, 1, i64::MAX / 4).await;
    create(&ground.db, org, 2, i64::MAX / 4).await;
    create(&ground.db, other, 3, 5).await;
    assert_eq!(used(&ground.db, org).await, i64::MAX / 4 * 2);
    assert_eq!(used(&ground.db, other).await, 5);
    assert_eq!(get(&ground.db, other, &blob).await, None);
    assert!(!delete(&ground.db, other, &blob).await);
    assert_eq!(get(&ground.db, org, &blob).await, Some(blob));
}
