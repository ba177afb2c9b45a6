//! Puts the crowd into the records of a hub, in units of many rows.

use std::time::Instant;

use anyhow::{Context as _, Result};
use domain::accounts::{AccessLevel, Account, AccountStatus};
use domain::api_keys::ApiKey;
use domain::organizations::{Membership, MembershipLevel, Organization};
use domain::{Id, Timestamp};
use hub::clock::{Clock as _, SystemClock};
use hub::ids::{Ids as _, SystemIds};
use records::{Tx, accounts, api_keys, members, organizations};

use super::people::{KEYS_EACH, display_name, email, secret};
use crate::homes::Home;
use crate::progress;

/// Enough for the commit to be nothing, few enough for the memory.
const PEOPLE_PER_UNIT: u64 = 200;
/// Units between two words to whoever waits.
const UNITS_PER_WORD: usize = 50;

/// Some of the crowd, on their way into the records.
struct Batch {
    first: u64,
    end: u64,
    org: Id<Organization>,
    now: Timestamp,
}

/// Adds so many members, each with their keys, to the organization of the first start.
pub(crate) async fn fill(home: &Home, people: u64) -> Result<()> {
    let (records, began) = (home.records()?, Instant::now());
    let org = organizations::all(&records).await?.into_iter().next().context("no organization")?.id;
    let now = SystemClock::default().now();
    for (unit, first) in (0..people).step_by(usize::try_from(PEOPLE_PER_UNIT)?).enumerate() {
        let batch = Batch { first, end: people.min(first + PEOPLE_PER_UNIT), org, now };
        let (end, took) = (batch.end, began.elapsed().as_secs_f64());
        if unit % UNITS_PER_WORD == 0 && unit > 0 {
            progress(&format!("  {first} of {people} accounts with {KEYS_EACH} keys each, {took:.0} s"));
        }
        let written: records::Result<()> = records.write(batch, |tx, batch| Box::pin(add(tx, batch))).await;
        written.with_context(|| format!("accounts {first} to {end}"))?;
    }
    records.close().await;
    home.settle().await?;
    progress(&format!("  {people} accounts filled in {:.0} s", began.elapsed().as_secs_f64()));
    Ok(())
}

async fn add(tx: &mut Tx, batch: &Batch) -> records::Result<()> {
    for person in batch.first..batch.end {
        let account = account(person, batch);
        accounts::insert(tx, &account).await?;
        members::insert(tx, &membership(&account, batch), &account).await?;
        for key in person * KEYS_EACH..(person + 1) * KEYS_EACH {
            let secret = secret(key);
            api_keys::insert(tx, &api_key(key, secret.prefix(), &account, batch), &secret.hash()).await?;
        }
    }
    Ok(())
}

fn account(person: u64, batch: &Batch) -> Account {
    Account {
        id: Id::new(SystemIds.fresh()),
        email: email(person),
        display_name: display_name(person),
        gitea_username: None,
        access_level: AccessLevel::User,
        status: AccountStatus::Active,
        home_org_id: Some(batch.org),
        created_at: batch.now,
        updated_at: batch.now,
    }
}

fn membership(account: &Account, batch: &Batch) -> Membership {
    Membership {
        id: Id::new(SystemIds.fresh()),
        org_id: batch.org,
        account_id: account.id,
        membership_level: MembershipLevel::Member,
        manager_id: None,
        created_at: batch.now,
        updated_at: batch.now,
    }
}

fn api_key(key: u64, prefix: &str, owner: &Account, batch: &Batch) -> ApiKey {
    ApiKey {
        id: Id::new(SystemIds.fresh()),
        org_id: batch.org,
        owner_id: owner.id,
        minted_by: owner.id,
        name: format!("key {key}"),
        prefix: prefix.to_owned(),
        scopes: None,
        enabled: true,
        revoked_at: None,
        expires_at: None,
        rotated_to_id: None,
        last_used_at: None,
        created_at: batch.now,
        updated_at: batch.now,
    }
}
