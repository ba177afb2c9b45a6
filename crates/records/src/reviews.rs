//! Reviews: rounds of asking people about one revision.

use domain::Id;
use domain::accounts::Account;
use domain::organizations::Organization;
use domain::policies::{Matched, Quorum};
use domain::reviews::{Resolution, Review};
use serde_json::{Value as Json, json};

use crate::row::{Cell, Col};
use crate::{Result, Tx, args, row, statement, text_column};

text_column!(Resolution);
row!(Review {
    id,
    org_id,
    task_id,
    revision,
    content_hash,
    effect_hash,
    risk_score,
    review_hash,
    policies,
    resolution,
    resolved_at,
    resolved_by,
    created_at
});

statement!(
    INSERT = "INSERT INTO reviews (id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
              policies, resolution, resolved_at, resolved_by, created_at, updated_at) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)"
);
statement!(
    GET: Review = "SELECT id, org_id, task_id, revision, content_hash, effect_hash, risk_score, review_hash, \
                   policies, resolution, resolved_at, resolved_by, created_at FROM reviews \
                   WHERE org_id = $1 AND id = $2"
);
statement!(
    RESOLVE = "UPDATE reviews SET resolution = $1, resolved_at = $2, resolved_by = $3, updated_at = $2 \
               WHERE org_id = $4 AND id = $5"
);

/// A JSON list of what a review pinned.
impl Col for Vec<Matched> {
    fn from_cell(cell: Cell<'_>) -> std::result::Result<Self, String> {
        let list: Vec<Json> = serde_json::from_str(cell.text()?).map_err(|error| error.to_string())?;
        list.iter().map(matched).collect::<Option<_>>().ok_or_else(|| "no list of policies".to_owned())
    }
}

fn matched(value: &Json) -> Option<Matched> {
    let texts = |of: &Json| {
        of.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    let quorum = &value["quorum"];
    let account = |id: &Json| id.as_str()?.parse().ok();
    Some(Matched {
        policy_id: value["policy_id"].as_str()?.parse().ok()?,
        version: value["version"].as_i64()?,
        name: value["name"].as_str()?.to_owned(),
        because: texts(&value["because"])?,
        quorum: Quorum {
            min_approvers: count(&quorum["min_approvers"])?,
            required_roles: texts(&quorum["required_roles"])?,
            reviewers: quorum["reviewers"]
                .as_array()?
                .iter()
                .map(account)
                .collect::<Option<Vec<Id<Account>>>>()?,
            reject_on: quorum["reject_on"].as_str()?.parse().ok()?,
            admins_count: quorum["admins_count"].as_bool()?,
            following_counts: quorum["following_counts"].as_bool()?,
            allow_service_reviewers: quorum["allow_service_reviewers"].as_bool()?,
        },
        timeout_seconds: match &value["timeout_seconds"] {
            Json::Null => None,
            seconds => Some(count(seconds)?),
        },
    })
}

fn count(value: &Json) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn pinned(matched: &Matched) -> Json {
    let quorum = &matched.quorum;
    json!({
        "policy_id": matched.policy_id.to_string(),
        "version": matched.version,
        "name": matched.name,
        "because": matched.because,
        "timeout_seconds": matched.timeout_seconds,
        "quorum": {
            "min_approvers": quorum.min_approvers,
            "required_roles": quorum.required_roles,
            "reviewers": quorum.reviewers.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "reject_on": quorum.reject_on.as_str(),
            "admins_count": quorum.admins_count,
            "following_counts": quorum.following_counts,
            "allow_service_reviewers": quorum.allow_service_reviewers,
        },
    })
}

/// Writes a review.
pub async fn insert(tx: &mut Tx, review: &Review) -> Result<()> {
    let policies = Json::Array(review.policies.iter().map(pinned).collect());
    let values = args![
        review.id,
        review.org_id,
        review.task_id,
        review.revision,
        review.content_hash,
        review.effect_hash,
        i64::from(review.risk_score),
        review.review_hash,
        &policies,
        review.resolution.map(Resolution::as_str),
        review.resolved_at,
        review.resolved_by,
        review.created_at,
    ];
    tx.push(&INSERT, values).await
}

/// The review.
pub async fn get(tx: &mut Tx, org: Id<Organization>, id: Id<Review>) -> Result<Option<Review>> {
    tx.opt(&GET, args![org, id]).await
}

/// Notes how the review ended. Whoever does that has locked its task.
pub async fn resolve(tx: &mut Tx, review: &Review) -> Result<()> {
    let resolution = review.resolution.map(Resolution::as_str);
    let values = args![resolution, review.resolved_at, review.resolved_by, review.org_id, review.id];
    tx.change_one(&RESOLVE, values, "a review").await
}
