//! Many answers at once: all are taken, or none.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use domain::Id;
use domain::approvals::Answer as Said;
use domain::canonical::Sha256Hash;
use domain::json::FieldError;
use hub::approvals::{self, Batch, Seen, Vote};
use hub::idempotency::Answer;
use uuid::Uuid;
use wire::{AnswerBatch, BatchAction, BatchAnswered};

use super::approvals::{hash, shown};
use super::{answer as kept, made};
use crate::App;
use crate::extract::{Input, Terms, Who};
use crate::problem::Problem;

const _: () = assert!(wire::approvals::BATCH_MAX == approvals::BATCH_MAX);

/// Answers many requests: all of them, or none.
#[utoipa::path(post, path = "/api/v1/approvals/batch", operation_id = "answer_batch",
    tag = "approvals", request_body = AnswerBatch,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeat the request safely for 24 h")),
    responses((status = 200, description = "All answered", body = BatchAnswered),
              (status = 403, description = "Not yours, your own work, or switched off", body = wire::Problem),
              (status = 404, description = "No such request", body = wire::Problem),
              (status = 409, description = "A task changed, or a review is over", body = wire::Problem),
              (status = 422, description = "Not valid", body = wire::Problem)))]
pub(crate) async fn answer(
    State(app): State<App>,
    Who(caller): Who,
    terms: Terms,
    input: Input<AnswerBatch>,
) -> Result<Response<Body>, Problem> {
    let Input { value, body_hash } = input.checked()?;
    let once = terms.once(&caller, body_hash, rendered);
    let batch = understood(&value)?;
    Ok(made(approvals::batch(&app.hub, &caller, batch, once).await?, rendered))
}

fn understood(value: &AnswerBatch) -> Result<Batch, Problem> {
    let options = value.options.unwrap_or_default();
    let none = BTreeMap::new();
    let review_hashes = value.review_hashes.as_ref().unwrap_or(&none);
    check(value, review_hashes)?;
    let answer = match value.action {
        BatchAction::Approve => Said::Approve,
        BatchAction::Reject => Said::Reject,
    };
    let vote = |id: &Uuid| {
        let content_hash = hash_of("content_hashes", *id, &value.content_hashes)?;
        let content_hash = content_hash.ok_or_else(|| {
            Problem::field(format!("/content_hashes/{id}"), "say what was read of this one")
        })?;
        let review_hash = hash_of("review_hashes", *id, review_hashes)?;
        Ok(Vote {
            approval_id: Id::new(*id),
            answer,
            reason: value.reason.clone(),
            content_hash,
            review_hash,
        })
    };
    let votes = value.approval_ids.iter().map(vote).collect::<Result<Vec<Vote>, Problem>>()?;
    let (skip_validation, apply_immediately) = (options.skip_validation, options.apply_immediately);
    Ok(Batch { votes, skip_validation, apply_immediately })
}

/// Each request once, no hash of another one, and nothing that makes no sense.
fn check(value: &AnswerBatch, review_hashes: &BTreeMap<Uuid, String>) -> Result<(), Problem> {
    let mut errors = Vec::new();
    let mut wrong =
        |pointer: String, detail: &str| errors.push(FieldError { pointer, detail: detail.into() });
    let mut known = BTreeSet::new();
    for (place, id) in value.approval_ids.iter().enumerate() {
        if !known.insert(*id) {
            wrong(format!("/approval_ids/{place}"), "is named twice");
        }
    }
    for (name, hashes) in [("content_hashes", &value.content_hashes), ("review_hashes", review_hashes)] {
        for id in hashes.keys().filter(|id| !known.contains(*id)) {
            wrong(format!("/{name}/{id}"), "is not among approval_ids");
        }
    }
    let puts_first = value.options.is_some_and(|options| options.apply_immediately);
    if puts_first && value.action == BatchAction::Reject {
        wrong("/options/apply_immediately".into(), "what is rejected is not applied");
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
}

fn hash_of(name: &str, id: Uuid, hashes: &BTreeMap<Uuid, String>) -> Result<Option<Sha256Hash>, Problem> {
    hashes.get(&id).map(|text| hash(&format!("/{name}/{id}"), text)).transpose()
}

#[expect(clippy::ptr_arg, reason = "an answer is rendered from exactly what the use case gives")]
fn rendered(seen: &Vec<Seen>) -> Answer {
    kept(StatusCode::OK, None, &BatchAnswered { items: seen.iter().map(shown).collect() })
}
