//! What the schema refuses and keeps when rows go, whatever the code above it does.

use domain::accounts::Account;
use domain::organizations::Organization;
use domain::projects::Project;
use domain::workspaces::Workspace;
use domain::{Id, Timestamp};
use records::statement::{Command, Query, Text};
use records::{Db, Error, Result, args, row};
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Ground, NOW, assert_error, on_both_engines};

on_both_engines!(
    audit_rows_outlive_what_they_name,
    deleting_the_successor_only_drops_the_link,
    a_project_outlives_its_organization,
    workspaces_go_with_their_project,
    words_outside_the_lists_are_refused,
);

static ADD_KEY: Command = Command(Text::same(
    "INSERT INTO api_keys (id, org_id, owner_id, minted_by, name, prefix, key_hash, enabled, rotated_to_id, created_at, \
     updated_at) VALUES ($1, $2, $3, $3, 'k', 'csk_', $4, true, $5, $6, $6)",
));
static ADD_AUDIT: Command = Command(Text::same(
    "INSERT INTO audit_logs (id, chain, org_id, owner_id, key_id, action, subject_type, subject_id, body, created_at, \
     updated_at) VALUES ($1, $2, $2, $3, $4, 'a', 's', 'i', $5, $6, $6)",
));
static DELETE_KEY: Command = Command(Text::same("DELETE FROM api_keys WHERE id = $1"));
static DELETE_ACCOUNT: Command = Command(Text::same("DELETE FROM accounts WHERE id = $1"));
static DELETE_ORGANIZATION: Command = Command(Text::same("DELETE FROM organizations WHERE id = $1"));
static AUDIT: Query<Links> = Query::new(Text::same("SELECT org_id, key_id FROM audit_logs"));
static KEYS: Query<Link> = Query::new(Text::same("SELECT rotated_to_id AS link FROM api_keys"));

#[derive(PartialEq, Debug)]
struct Links {
    org_id: Option<Uuid>,
    key_id: Option<Uuid>,
}
row!(Links { org_id, key_id });
struct Link {
    link: Option<Uuid>,
}
row!(Link { link });

type Tenant = (Id<Organization>, Id<Account>);

async fn delete(db: &Db, statement: &'static Command, id: Uuid) -> Result<u64> {
    db.write(id, move |tx, id| Box::pin(async move { tx.exec(statement, args![*id]).await })).await
}

async fn add_key(db: &Db, (org, owner): Tenant, number: u8, successor: Option<Uuid>) -> Uuid {
    let id = Uuid::from_u128(u128::from(number));
    let added: Result<()> = db
        .write((), move |tx, ()| {
            Box::pin(async move {
                let hash = [number; 32];
                tx.push(&ADD_KEY, args![id, org, owner, &hash, successor, NOW]).await
            })
        })
        .await;
    added.unwrap();
    id
}

/// AUDIT-10.
async fn audit_rows_outlive_what_they_name(ground: Ground) {
    let db = &ground.db;
    let tenant = tenant(&ground, 1).await;
    let (org, owner) = tenant;
    let key = add_key(db, tenant, 1, None).await;
    let written: Result<()> = db
        .write((), move |tx, ()| {
            Box::pin(async move {
                let body: &[u8] = b"{}";
                tx.push(&ADD_AUDIT, args![Uuid::from_u128(9), org, owner, key, body, NOW]).await
            })
        })
        .await;
    written.unwrap();
    let links = async || db.all(&AUDIT, args![]).await.unwrap();
    assert_eq!(links().await, [Links { org_id: Some(org.raw()), key_id: Some(key) }]);
    assert_error!(delete(db, &DELETE_ACCOUNT, owner.raw()).await, Error::Constraint { .. });
    assert_eq!(delete(db, &DELETE_KEY, key).await.unwrap(), 1);
    assert_eq!(links().await, [Links { org_id: Some(org.raw()), key_id: None }]);
    assert_eq!(delete(db, &DELETE_ORGANIZATION, org.raw()).await.unwrap(), 1);
    assert_eq!(links().await, [Links { org_id: None, key_id: None }]);
    assert_error!(delete(db, &DELETE_ACCOUNT, owner.raw()).await, Error::Constraint { .. });
}

/// IDENT-24.
async fn deleting_the_successor_only_drops_the_link(ground: Ground) {
    let tenant = tenant(&ground, 1).await;
    let successor = add_key(&ground.db, tenant, 1, None).await;
    add_key(&ground.db, tenant, 2, Some(successor)).await;
    delete(&ground.db, &DELETE_KEY, successor).await.unwrap();
    let left = ground.db.all(&KEYS, args![]).await.unwrap();
    assert_eq!(left.iter().map(|key| key.link).collect::<Vec<_>>(), [None]);
}

async fn project(ground: &Ground, org: Id<Organization>, number: u128) -> Project {
    let project = Project {
        id: Id::new(Uuid::from_u128(number)),
        org_id: org,
        name: "Default".to_owned(),
        slug: format!("project-{number}"),
        created_at: NOW,
        updated_at: NOW,
    };
    let added: Result<()> = ground
        .db
        .write(project.clone(), |tx, project| Box::pin(records::projects::insert(tx, project)))
        .await;
    added.unwrap();
    project
}

/// PROJ-02.
async fn a_project_outlives_its_organization(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    project(&ground, org, 1).await;
    delete(&ground.db, &DELETE_ORGANIZATION, org.raw()).await.unwrap();
    let orphans = "SELECT count(*) FROM projects WHERE org_id IS NULL";
    assert_eq!(ground.count_behind_its_back(orphans).await, 1);
}

/// PROJ-05.
async fn workspaces_go_with_their_project(ground: Ground) {
    let (org, _) = tenant(&ground, 1).await;
    let (gone, kept) = (project(&ground, org, 1).await, project(&ground, org, 2).await);
    for (number, project) in [(1, &gone), (2, &gone), (3, &kept)] {
        let workspace = Workspace {
            id: Id::new(Uuid::from_u128(number)),
            org_id: org,
            project_id: project.id,
            name: format!("workspace {number}"),
            path: "/srv".to_owned(),
            created_at: NOW,
            updated_at: NOW,
        };
        let added: Result<()> = ground
            .db
            .write(workspace, |tx, workspace| Box::pin(records::workspaces::insert(tx, workspace)))
            .await;
        added.unwrap();
    }
    let deleted: Result<()> =
        ground.db.write(gone, |tx, gone| Box::pin(records::projects::delete(tx, gone))).await;
    deleted.unwrap();
    assert_eq!(ground.count_behind_its_back("SELECT count(*) FROM workspaces").await, 1);
}

/// IDENT-02, IDENT-03: a typing error in a statement must not become a level nobody knows.
async fn words_outside_the_lists_are_refused(ground: Ground) {
    static LEVEL: Command = Command(Text::same("UPDATE accounts SET access_level = $1, updated_at = $2"));
    static STATUS: Command = Command(Text::same("UPDATE accounts SET status = $1, updated_at = $2"));
    tenant(&ground, 1).await;
    let set = async |statement: &'static Command, word: &'static str| -> Result<u64> {
        let set = ground.db.write((), move |tx, ()| {
            Box::pin(async move { tx.exec(statement, args![word, Timestamp::from_micros(1)]).await })
        });
        set.await
    };
    for (statement, words) in
        [(&LEVEL, ["admin", "user", "service"]), (&STATUS, ["active", "suspended", "deactivated"])]
    {
        for word in words {
            assert_eq!(set(statement, word).await.unwrap(), 1);
        }
        assert_error!(set(statement, "Admin").await, Error::Constraint { .. });
        assert_error!(set(statement, "").await, Error::Constraint { .. });
    }
}
