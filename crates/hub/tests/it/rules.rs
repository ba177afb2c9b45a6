//! The rules of an organization, as units see them: ready in memory, and never other than the records say.

use std::sync::Arc;

use domain::Id;
use domain::organizations::Organization;
use domain::policies::{Policy, PolicyChange, RuleSet};
use domain::resource_catalogue::ResourceCatalogue;
use hub::idempotency::Outcome;
use hub::{Hub, HubError, policies, resource_catalogue, rules};
use serde_json::json;
use testkit::{TestHub, on_each_engine};

async fn load(hub: &Hub, org: Id<Organization>) -> Arc<RuleSet> {
    let input = (hub.clone(), org);
    let loaded =
        hub.records.write(input, |tx, (hub, org)| Box::pin(async move { rules::load(tx, hub, *org).await }));
    loaded.await.unwrap()
}

fn named(name: &str) -> PolicyChange {
    PolicyChange {
        name: Some(name.to_owned()),
        required_roles: Some(vec!["reviewer".to_owned()]),
        ..PolicyChange::default()
    }
}

async fn create(hub: &TestHub, name: &str) -> Policy {
    let caller = hub.caller(&hub.admin_key).await;
    match policies::create(&hub.hub, &caller, named(name), None).await.unwrap() {
        Outcome::Fresh(policy) => policy,
        Outcome::Replayed(_) => panic!("made for the first time"),
    }
}

#[tokio::test]
async fn what_is_ready_is_used_until_something_changes() {
    on_each_engine(async |hub| {
        let caller = hub.caller(&hub.admin_key).await;
        let org = caller.credential.organization.id;
        let first = load(&hub.hub, org).await;
        assert!(Arc::ptr_eq(&first, &load(&hub.hub, org).await), "nothing changed");
        let policy = create(&hub, "p").await;
        let second = load(&hub.hub, org).await;
        assert_eq!(second.version(), first.version() + 1);
        assert!(Arc::ptr_eq(&second, &load(&hub.hub, org).await));
        let stricter = PolicyChange { min_approvers: Some(2), ..PolicyChange::default() };
        policies::change(&hub.hub, &caller, policy.id, stricter, None).await.unwrap();
        let third = load(&hub.hub, org).await;
        assert_eq!(third.version(), second.version() + 1);
        let rules = json!([{"pattern": "*", "criticality": 7}]);
        let catalogue = ResourceCatalogue::from_value(&rules).unwrap();
        resource_catalogue::replace(&hub.hub, &caller, catalogue.clone(), None).await.unwrap();
        assert_eq!(load(&hub.hub, org).await.catalogue(), &catalogue);
        policies::deactivate(&hub.hub, &caller, policy.id).await.unwrap();
        assert_eq!(load(&hub.hub, org).await.version(), third.version() + 2);
    })
    .await;
}

/// A unit that changed the rules, looked at them and failed leaves nothing behind: not in the records, and not in
/// memory, where the next change would get the same version.
#[tokio::test]
async fn what_was_rolled_back_was_never_in_force() {
    on_each_engine(async |hub| {
        let caller = hub.caller(&hub.admin_key).await;
        let org = caller.credential.organization.id;
        let before = load(&hub.hub, org).await;
        let failed: Result<(), HubError> = hub
            .hub
            .records
            .write((hub.hub.clone(), org), |tx, (hub, org)| {
                Box::pin(async move {
                    let mut set = records::rule_sets::get_locked(tx, *org).await?;
                    set.version += 1;
                    set.stamp = hub.ids.fresh();
                    set.catalogue =
                        ResourceCatalogue::from_value(&json!([{"pattern": "*", "criticality": 1}])).unwrap();
                    records::rule_sets::update(tx, *org, &set).await?;
                    assert_eq!(rules::load(tx, hub, *org).await?.version(), set.version);
                    Err(HubError::NotFound("reason to commit"))
                })
            })
            .await;
        assert!(failed.is_err());
        let after = load(&hub.hub, org).await;
        assert_eq!((after.version(), after.catalogue().rules().len()), (before.version(), 0));
        create(&hub, "p").await;
        let next = load(&hub.hub, org).await;
        assert_eq!((next.version(), next.catalogue().rules().len()), (before.version() + 1, 0));
    })
    .await;
}

#[tokio::test]
async fn each_organization_has_its_own() {
    on_each_engine(async |hub| {
        let theirs = hub.tenant("theirs").await;
        let theirs = hub.caller(&theirs).await.credential.organization.id;
        let before = load(&hub.hub, theirs).await;
        create(&hub, "p").await;
        assert!(Arc::ptr_eq(&before, &load(&hub.hub, theirs).await));
    })
    .await;
}
