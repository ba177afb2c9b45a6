//! The policy that stands in where no other applies: every organization has one, from its first moment.

use domain::Id;
use domain::audit::Chain;
use domain::organizations::Organization;
use domain::policies::{DEFAULT_NAME, Policy, PolicyRules};
use domain::subject::Subject;
use records::{Tx, policies, rule_sets};

use super::{facts, nothing};
use crate::act::differences;
use crate::identity::founding::Maker;
use crate::{HubError, audit, rules};

/// Gives an organization its first rules: the default policy, and an empty catalogue.
pub(crate) async fn give_default(
    tx: &mut Tx,
    maker: Maker<'_>,
    org_id: Id<Organization>,
) -> Result<(), HubError> {
    rule_sets::insert(tx, org_id, &rules::first(maker.ids, maker.now)).await?;
    let policy = Policy {
        id: maker.ids.id(),
        org_id,
        name: DEFAULT_NAME.to_owned(),
        is_default: true,
        active: true,
        version: 1,
        rules: PolicyRules::of_default(),
        created_at: maker.now,
        updated_at: maker.now,
    };
    policies::insert(tx, &policy, maker.actor).await?;
    let subject = Subject::new("policy", policy.id);
    let mut entry = maker.entry(Chain::Organization(org_id), "policy:created", subject);
    entry.details = differences(&nothing(), &facts(&policy));
    audit::record(tx, &entry).await
}

/// Gives it to organizations from before there were policies.
pub(crate) async fn complete(tx: &mut Tx, maker: Maker<'_>) -> Result<(), HubError> {
    for org_id in rule_sets::missing(tx).await? {
        give_default(tx, maker, org_id).await?;
    }
    Ok(())
}
