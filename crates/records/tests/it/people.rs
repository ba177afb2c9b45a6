//! Somebody for rows to belong to.

use domain::Id;
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::organizations::Organization;
use records::{Error, accounts, organizations};
use uuid::Uuid;

use crate::support::{Ground, NOW};

/// Adds an organization and the account that owns it; `number` tells them from others.
pub(crate) async fn tenant(ground: &Ground, number: u128) -> (Id<Organization>, Id<Account>) {
    let account = Account {
        id: Id::new(Uuid::from_u128(number << 64 | 1)),
        email: format!("owner@{number}.example"),
        display_name: format!("Owner of {number}"),
        gitea_username: None,
        access_level: AccessLevel::User,
        status: AccountStatus::Active,
        home_org_id: None,
        created_at: NOW,
        updated_at: NOW,
    };
    let organization = Organization {
        id: Id::new(Uuid::from_u128(number << 64 | 2)),
        name: format!("Tenant {number}"),
        slug: format!("tenant-{number}"),
        owner_id: account.id,
        gitea_org_name: None,
        archived_at: None,
        created_at: NOW,
        updated_at: NOW,
    };
    let ids = (organization.id, account.id);
    ground
        .db
        .write((account, organization), |tx, (account, organization)| {
            Box::pin(async move {
                accounts::insert(tx, account).await?;
                organizations::insert(tx, organization).await?;
                Ok::<_, Error>(())
            })
        })
        .await
        .unwrap();
    ids
}
