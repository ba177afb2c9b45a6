//! Promise 1: nothing is approved but through a review that ended with yes, and every yes leaves one Grant.
//!
//! `xtask tidy` looks at the source: which file may say that a task is approved, that a Grant is made, that an attempt
//! begins. These tests look at the records: every door is opened, and only those listed here may leave a yes behind.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::on_each_engine;

use crate::backdoor::Backdoor;
use crate::support::{expect, send};
use crate::world::pages::{PAGES, PageDoor};
use crate::world::{Column, DOORS, Visitor, World};

/// Through which doors a yes may come while policies ask people.
const ASKED: &[&str] = &["POST /api/v1/approvals/batch", "POST /api/v1/approvals/{id}/approve"];
/// And through which where a policy lets small changes pass by themselves.
const BY_ITSELF: &[&str] =
    &["POST /api/v1/tasks", "POST /api/v1/tasks/{id}/submit", "PATCH /api/v1/tasks/{id}"];

/// The same for the forms of pages.
const ASKED_ON_PAGES: &[&str] = &["POST /approvals/batch", "POST /approvals/{id}/approve"];
const BY_ITSELF_ON_PAGES: &[&str] = &["POST /tasks/new", "POST /tasks/{id}/submit"];

/// Through which doors an attempt may begin.
const BEGINS: &[&str] = &["POST /api/v1/agents/{id}/next", "POST /api/v1/tasks/{id}/claim"];

/// Whatever began: attempts, and undoing them.
const BEGUN: &str = "executions";

/// Whatever was approved, for good.
const YES: &str = "tasks WHERE state IN ('APPROVED', 'APPLYING', 'COMPLETED')";

/// Rows that must not be there, and what they would mean.
const WRONG: &[(&str, &str)] = &[
    (
        "tasks WHERE state IN ('APPROVED', 'APPLYING') AND NOT EXISTS (SELECT 1 FROM grants WHERE \
         grants.org_id = tasks.org_id AND grants.task_id = tasks.id AND grants.voided_at IS NULL AND \
         grants.revision = tasks.revision AND grants.content_hash = tasks.content_hash AND \
         grants.review_id = tasks.review_id)",
        "approved without a Grant for these bytes",
    ),
    (
        "grants JOIN tasks ON tasks.id = grants.task_id WHERE grants.voided_at IS NULL AND \
         tasks.state NOT IN ('APPROVED', 'APPLYING', 'COMPLETED', 'FAILED')",
        "a Grant that stands for a task that is not approved",
    ),
    (
        "grants JOIN reviews ON reviews.id = grants.review_id WHERE reviews.content_hash <> grants.content_hash \
         OR reviews.revision <> grants.revision OR reviews.task_id <> grants.task_id OR \
         (grants.voided_at IS NULL AND COALESCE(reviews.resolution, '') NOT IN ('quorum', 'auto', 'override'))",
        "a Grant of a review that did not end with yes, or was about something else",
    ),
    (
        "grants WHERE basis = 'quorum' AND voided_at IS NULL AND NOT EXISTS (SELECT 1 FROM approvals JOIN \
         task_revisions ON task_revisions.task_id = approvals.task_id AND \
         task_revisions.number = grants.revision WHERE approvals.review_id = grants.review_id AND \
         approvals.status = 'APPROVED' AND approvals.content_hash = grants.content_hash AND \
         CAST(task_revisions.provenance AS TEXT) NOT LIKE '%' || CAST(approvals.reviewer_id AS TEXT) || '%')",
        "a quorum of nobody who had no hand in it",
    ),
    (
        "grants WHERE basis = 'override' AND voided_at IS NULL AND NOT EXISTS (SELECT 1 FROM approvals JOIN \
         task_revisions ON task_revisions.task_id = approvals.task_id AND \
         task_revisions.number = grants.revision WHERE approvals.review_id = grants.review_id AND \
         approvals.kind = 'override' AND approvals.about_skipping = false AND approvals.status = 'APPROVED' AND \
         approvals.content_hash = grants.content_hash AND CAST(approvals.routing AS TEXT) NOT LIKE '%' || \
         CAST(approvals.reviewed_by AS TEXT) || '%' AND CAST(task_revisions.provenance AS TEXT) NOT LIKE '%' || \
         CAST(approvals.reviewer_id AS TEXT) || '%')",
        "an override that one admin alone signed, or one who had a hand in it",
    ),
    (
        "grants WHERE skip IS NOT NULL AND NOT EXISTS (SELECT 1 FROM approvals JOIN task_revisions ON \
         task_revisions.task_id = approvals.task_id AND task_revisions.number = grants.revision WHERE \
         approvals.review_id = grants.review_id AND approvals.kind = 'override' AND \
         approvals.about_skipping = true AND approvals.status = 'APPROVED' AND \
         approvals.content_hash = grants.content_hash AND CAST(approvals.routing AS TEXT) NOT LIKE '%' || \
         CAST(approvals.reviewed_by AS TEXT) || '%' AND CAST(task_revisions.provenance AS TEXT) NOT LIKE '%' || \
         CAST(approvals.reviewer_id AS TEXT) || '%')",
        "prerequisites that one admin alone skipped, or one who had a hand in it",
    ),
    (
        "tasks WHERE state = 'APPLYING' AND EXISTS (SELECT 1 FROM task_dependencies JOIN tasks waited ON \
         waited.id = task_dependencies.depends_on_task_id WHERE task_dependencies.dependent_task_id = tasks.id AND \
         waited.state <> 'COMPLETED') AND NOT EXISTS (SELECT 1 FROM grants WHERE grants.task_id = tasks.id AND \
         grants.voided_at IS NULL AND grants.skip IS NOT NULL)",
        "APPLYING before what it waits for, and nobody signed that",
    ),
    (
        "tasks WHERE state = 'APPLYING' AND 1 <> (SELECT count(*) FROM executions WHERE executions.task_id = \
         tasks.id AND executions.purpose = 'apply' AND executions.ended_at IS NULL)",
        "APPLYING with another number of attempts than one",
    ),
    (
        "executions JOIN tasks ON tasks.id = executions.task_id WHERE executions.purpose = 'apply' AND \
         executions.ended_at IS NULL AND tasks.state <> 'APPLYING'",
        "an attempt of a task that is not APPLYING",
    ),
    (
        "grants WHERE attempts_started <> (SELECT count(*) FROM executions WHERE executions.grant_id = grants.id \
         AND executions.purpose = 'apply') OR attempts_started > attempts",
        "an attempt that was not taken from its Grant",
    ),
    (
        "executions WHERE NOT EXISTS (SELECT 1 FROM audit_logs WHERE audit_logs.subject_id = \
         CAST(executions.task_id AS TEXT) AND audit_logs.action IN ('task:applying', 'task:rolling_back'))",
        "an attempt that is not on record",
    ),
    (
        "(SELECT task_id FROM grants WHERE voided_at IS NULL GROUP BY task_id HAVING count(*) > 1) AS twice",
        "two Grants for one task",
    ),
];

/// Whatever stands as approved was approved.
pub(crate) async fn assert_every_yes_was_said(backdoor: &Backdoor, after: &str) {
    for (rows, meaning) in WRONG {
        assert_eq!(backdoor.count(rows).await, 0, "{after}: {meaning}");
    }
}

#[tokio::test]
async fn only_a_reviewers_yes_approves() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let (mut came, mut began) = (Vec::new(), Vec::new());
        for column in [Column::Agent, Column::Author, Column::Reviewer, Column::Admin, Column::Instance] {
            let visitor = world.visitor(column).clone();
            for door in DOORS.iter().filter(|door| !door.is_read()) {
                let call = world.call(door).await;
                let before = (world.backdoor.count(YES).await, world.backdoor.count(BEGUN).await);
                let answer = send(visitor.ask(call)).await;
                assert!(answer.status.as_u16() < 500, "{door}: {}", answer.text());
                let more = world.backdoor.count(YES).await > before.0;
                let begins = world.backdoor.count(BEGUN).await > before.1;
                let way = door.to_string();
                assert!(
                    !begins || BEGINS.contains(&way.as_str()),
                    "{} began something by {door}",
                    visitor.name
                );
                if begins {
                    began.push(way.clone());
                }
                assert!(
                    !more || ASKED.contains(&way.as_str()),
                    "{} approved something by {door}",
                    visitor.name
                );
                if more {
                    came.push(way);
                }
                world.things.used_up();
            }
        }
        assert_every_yes_was_said(&world.backdoor, "every door").await;
        for (seen, may) in [(&mut came, ASKED), (&mut began, BEGINS)] {
            seen.sort();
            seen.dedup();
            assert_eq!(*seen, may, "the doors that may are seen to");
        }
    })
    .await;
}

/// What came of the forms of all pages.
#[derive(Default)]
struct Forms {
    /// Those that left a yes behind.
    approved: BTreeSet<String>,
    /// Those that were taken.
    taken: BTreeSet<String>,
}

/// The version that the form of a page says, as a browser sends it; empty for whoever gets no form there.
async fn version_on(world: &World<'_>, person: &Visitor, path: &str) -> String {
    let page = expect(person.ask(world.hub.request("GET", path)), 200).await.text();
    let version = page.split_once("name=\"version\" value=\"").and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or_default().replace("&#34;", "%22")
}

/// Sends the form of a page, filled in as its page would have it, by somebody who has read what it is about.
async fn fill_in(world: &mut World<'_>, page: &PageDoor, person: &Visitor, forms: &mut Forms) {
    let org = world.things.get("$org").await;
    // Some end the login they come with.
    let [_, person] = person.logged_in(&world.backdoor, &org).await;
    let (asks, fields) = page.meant();
    let (asks, mut fields) = (world.things.fill(asks).await, world.things.fill(fields).await);
    if let Some(form) = page.form_on() {
        let form = world.things.fill(form).await;
        fields = fields.replace("$version", &version_on(world, &person, &form).await);
    }
    let read = format!("/tasks/{}", world.things.get("$reviewed").await);
    expect(person.ask(world.hub.request("GET", &read)), 200).await;
    let before = (world.backdoor.count(YES).await, world.backdoor.count(BEGUN).await);
    let request = world.hub.request(page.method, &asks);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let answer = send(person.ask(request.body(fields.trim_matches('=').to_owned()))).await;
    let more = world.backdoor.count(YES).await > before.0;
    let begins = world.backdoor.count(BEGUN).await > before.1;
    assert!(!begins, "{} began something by {page}", person.name);
    if answer.status.as_u16() < 400 {
        forms.taken.insert(page.to_string());
    }
    if more {
        forms.approved.insert(page.to_string());
    }
    world.things.used_up();
}

#[tokio::test]
async fn on_a_page_too_only_a_reviewers_yes_approves() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let mut forms = Forms::default();
        for column in [Column::Member, Column::Author, Column::Reviewer, Column::Admin, Column::Instance] {
            let person = world.visitor(column).clone();
            for page in PAGES.iter().filter(|page| !page.is_read()) {
                fill_in(&mut world, page, &person, &mut forms).await;
            }
        }
        assert_every_yes_was_said(&world.backdoor, "every page").await;
        assert_eq!(
            forms.approved.iter().collect::<Vec<_>>(),
            ASKED_ON_PAGES,
            "the pages that may are seen to"
        );
        let forms_meant = PAGES.iter().filter(|page| !page.is_read() && page.is_meant());
        let in_vain = forms_meant.map(ToString::to_string).filter(|page| !forms.taken.contains(page));
        assert_eq!(in_vain.collect::<Vec<_>>(), [""; 0], "nobody could send these");
    })
    .await;
}

#[tokio::test]
async fn where_a_policy_lets_it_pass_handing_in_approves_and_nothing_else() {
    on_each_engine(async |hub| {
        let mut world = World::new(&hub).await;
        let on = json!({"feature:auto_approve_low_risk": "enabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&on), 200).await;
        let body = json!({"name": "small", "required_roles": ["reviewer", "admin"], "auto_approve_if": {
            "risk_below": 100, "author_has_role": ["author", "admin"], "resources_in_scope": ["db:*"]}});
        expect(hub.admin("POST", "/api/v1/policies").json(&body), 201).await;
        let owner = world.visitor(Column::Instance).clone();
        let config = json!({"type": "t", "description": "d", "resources": [{"type": "db", "id": "x"}]});
        let draft = |description: &str| {
            let mut config = config.clone();
            config["description"] = description.into();
            json!({"config": config})
        };
        // Handed in with its making, and on its own.
        let mut both = draft("at once");
        both["submit"] = true.into();
        let made = expect(owner.ask(hub.request("POST", "/api/v1/tasks").json(&both)), 201).await.json();
        assert_eq!(made["state"], "APPROVED", "{made}");
        let made =
            expect(owner.ask(hub.request("POST", "/api/v1/tasks").json(&draft("later"))), 201).await.json();
        assert_eq!(made["state"], "DRAFT", "{made}");
        let submit = format!("/api/v1/tasks/{}/submit", made["id"].as_str().unwrap());
        let made = expect(owner.ask(hub.request("POST", &submit)), 202).await.json();
        assert_eq!((&made["state"], &made["review"]["resolution"]), (&json!("APPROVED"), &json!("auto")));
        // And on its page.
        let made = expect(owner.ask(hub.request("POST", "/api/v1/tasks").json(&draft("on its page"))), 201)
            .await
            .json();
        let path = format!("/tasks/{}", made["id"].as_str().unwrap());
        let [_, person] = owner.logged_in(&world.backdoor, &world.things.get("$org").await).await;
        let page = expect(person.ask(hub.request("GET", &path)), 200).await.text();
        assert!(page.contains("Nobody is asked."), "the page says so before: {page}");
        let form = hub.request("POST", &format!("{path}/submit"));
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        expect(person.ask(form), 303).await;
        let made = expect(owner.ask(hub.request("GET", &format!("/api/v1{path}"))), 200).await.json();
        assert_eq!((&made["state"], &made["review"]["resolution"]), (&json!("APPROVED"), &json!("auto")));
        for door in DOORS.iter().filter(|door| !door.is_read()) {
            let call = world.call(door).await;
            let before = world.backdoor.count(YES).await;
            send(owner.ask(call)).await;
            let more = world.backdoor.count(YES).await > before;
            let way = door.to_string();
            assert!(!more || ASKED.iter().chain(BY_ITSELF).any(|may| *may == way), "approved by {door}");
            world.things.used_up();
        }
        let mut forms = Forms::default();
        for page in PAGES.iter().filter(|page| !page.is_read()) {
            fill_in(&mut world, page, &owner, &mut forms).await;
        }
        let may = |page: &&String| ASKED_ON_PAGES.iter().chain(BY_ITSELF_ON_PAGES).any(|way| way == page);
        assert!(forms.approved.iter().all(|page| may(&page)), "{:?}", forms.approved);
        assert!(forms.approved.contains("POST /tasks/new"), "{:?}", forms.approved);
        assert_every_yes_was_said(&world.backdoor, "every door, with a lenient policy").await;
    })
    .await;
}
