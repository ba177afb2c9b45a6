//! Deciding: each decision its own form, bound to what was on screen.

use serde_json::json;
use testkit::on_each_engine;

use super::{Desk, desk, form, leads, member, small, with, without};
use crate::reviews::person;
use crate::support::{all_items, expect, get, id, send};

#[tokio::test]
async fn approving_from_the_inbox_signs_what_was_read() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Add an index")).await;
        let request = desk.asked(&task).await;
        assert!(request["acknowledged_at"].is_null());
        let open = format!("/?open={}", id(&request));
        let (action, fields) = desk.form(&open, "approve").await;
        assert!(!desk.asked(&task).await["acknowledged_at"].is_null(), "the page was opened");
        let value = |name: &str| fields.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!(value("content_hash"), task["content_hash"]);
        assert_eq!(value("review_hash"), task["review"]["review_hash"]);
        let fields = with(fields, "reason", "looks right");
        let to = leads(&desk.post(&action, &fields).await);
        assert_eq!(to, format!("/?done={}", id(&request)));
        let page = desk.page(&to).await;
        assert!(page.contains("<b>Approved</b> Add an index"), "{page}");
        let answered = desk.asked(&task).await;
        assert_eq!(
            (&answered["status"], &answered["response_reason"]),
            (&json!("APPROVED"), &json!("looks right"))
        );
        assert_eq!(desk.state(&task).await, "APPROVED");
    })
    .await;
}

#[tokio::test]
async fn the_page_of_the_task_takes_the_other_answers() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        for (verb, status, state) in
            [("reject", "REJECTED", "REJECTED"), ("request-changes", "REJECTED", "DRAFT")]
        {
            let task = desk.submitted(small(verb)).await;
            let path = format!("/tasks/{}", id(&task));
            let (action, fields) = desk.form(&path, verb).await;
            // Who says no says why.
            let silent = desk.post(&action, &fields).await;
            assert_eq!(silent.status.as_u16(), 422, "{}", silent.text());
            assert_eq!(desk.state(&task).await, "REVIEWING");
            let to = leads(&desk.post(&action, &with(fields, "reason", "too <b>wide</b>")).await);
            assert!(to.starts_with(&path), "{to}");
            assert_eq!(desk.asked(&task).await["status"], status);
            assert_eq!(desk.state(&task).await, state);
            let page = desk.page(&to).await;
            assert!(page.contains("too &#60;b&#62;wide") && !page.contains("too <b>wide"), "{page}");
            assert!(form(&page, "approve").is_none(), "there is nothing to decide any more");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_is_passed_on_to_somebody_who_may_sign() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let eve = member(&hub, "eve", &["reviewer"]).await;
        member(&hub, "mia", &[]).await;
        let task = desk.submitted(small("Pass me on")).await;
        let path = format!("/tasks/{}", id(&task));
        let page = desk.page(&path).await;
        assert!(page.contains(">eve</option>"), "{page}");
        assert!(
            !page.contains(">mia</option>")
                && !page.contains(">bob</option>")
                && !page.contains(">ann</option>")
        );
        let (action, fields) = desk.form(&path, "delegate").await;
        let eves = expect(eve.on(hub.request("GET", "/api/v1/me")), 200).await.json();
        let fields = with(fields, "to", eves["account"]["id"].as_str().unwrap());
        for hash in ["content_hash", "review_hash"] {
            let stale = with(fields.clone(), hash, &format!("sha256:{}", "0".repeat(64)));
            assert_eq!(desk.post(&action, &stale).await.status.as_u16(), 409, "{hash}");
        }
        assert_eq!(desk.asked(&task).await["status"], "PENDING");
        leads(&desk.post(&action, &with(fields, "reason", "on leave")).await);
        assert_eq!(desk.asked(&task).await["status"], "DELEGATED");
        let rows = all_items(&hub, &hub.admin_key, "/api/v1/audit?action=approval:delegated").await;
        assert_eq!((rows.len(), &rows[0]["reason"]), (1, &json!("on leave")));
        let page = desk.page(&path).await;
        assert!(page.contains("You passed this request on"), "{page}");
        assert!(page.contains("passed on to eve"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_what_was_read_is_not_signed() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Add an index")).await;
        let path = format!("/tasks/{}", id(&task));
        let (action, fields) = desk.form(&path, "approve").await;
        let edited = json!({"config": small("Drop the table")});
        let edit = hub.request("PATCH", &format!("/api/v1{path}")).bearer_auth(&desk.author).json(&edited);
        expect(edit, 200).await;
        let late = desk.post(&action, &with(fields, "reason", "typed <long>")).await;
        let text = late.text();
        assert_eq!(late.status.as_u16(), 409, "{text}");
        for part in [
            "Your approval was not recorded",
            "STALE_CONTENT",
            "Nothing was signed and nothing ran.",
            "Since your last look",
            "<del>Add an index</del>",
            "<ins>Drop the table</ins>",
            "value=\"typed &#60;long&#62;\"",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains(" checked"), "nothing is chosen");
        assert_eq!(desk.state(&task).await, "REVIEWING");
        // The edit has begun the review anew: one request was for what is gone, one waits.
        let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&task));
        let asked = expect(desk.bob.on(hub.request("GET", &path)), 200).await.json();
        let mut statuses: Vec<&str> =
            asked["items"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, ["PENDING", "SUPERSEDED"]);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_signed_without_both_hashes() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Add an index")).await;
        let path = format!("/tasks/{}", id(&task));
        for verb in ["approve", "reject", "request-changes"] {
            let (action, fields) = desk.form(&path, verb).await;
            let fields = with(fields, "reason", "because");
            let other = format!("sha256:{}", "a".repeat(64));
            for (name, wrong, status) in [
                ("content_hash", None, 422),
                ("review_hash", None, 422),
                ("content_hash", Some(""), 422),
                ("review_hash", Some("sha256:zz"), 422),
                ("content_hash", Some(other.as_str()), 409),
                ("review_hash", Some(other.as_str()), 409),
            ] {
                let fields = match wrong {
                    None => without(fields.clone(), name),
                    Some(value) => with(fields.clone(), name, value),
                };
                let answer = desk.post(&action, &fields).await;
                assert_eq!(answer.status.as_u16(), status, "{verb} {name} {wrong:?}: {}", answer.text());
            }
        }
        assert_eq!(desk.state(&task).await, "REVIEWING");
        assert_eq!(desk.asked(&task).await["status"], "PENDING");
    })
    .await;
}

/// What is critical and is not undone by itself.
async fn critical(desk: &Desk<'_>) -> serde_json::Value {
    let catalogue = json!([{"pattern": "database:prod-*", "criticality": 100, "blast_radius": 100}]);
    expect(desk.hub.admin("PUT", "/api/v1/resource-catalogue").json(&catalogue), 200).await;
    let config = json!({"type": "migration", "description": "Drop a column", "declared_risk": "critical",
        "rollback_strategy": "manual",
        "resources": [{"type": "database", "id": "prod-orders", "mode": "exclusive"}]});
    let task = desk.submitted(config).await;
    assert_eq!(task["risk"]["level"], "CRITICAL", "{task}");
    task
}

#[tokio::test]
async fn what_cannot_be_undone_is_typed_before_it_is_signed() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = critical(&desk).await;
        let path = format!("/tasks/{}", id(&task));
        let page = desk.page(&path).await;
        assert!(page.contains("Type <code>prod-orders</code> to sign"), "{page}");
        let (action, fields) = desk.form(&path, "approve").await;
        for wrong in [None, Some(""), Some("prod-order"), Some("PROD-ORDERS")] {
            let fields = match wrong {
                None => fields.clone(),
                Some(wrong) => with(fields.clone(), "confirm", wrong),
            };
            let answer = desk.post(&action, &fields).await;
            assert_eq!(answer.status.as_u16(), 422, "{wrong:?}: {}", answer.text());
        }
        assert_eq!(desk.state(&task).await, "REVIEWING");
        leads(&desk.post(&action, &with(fields, "confirm", "prod-orders")).await);
        assert_eq!(desk.state(&task).await, "APPROVED");
    })
    .await;
}

#[tokio::test]
async fn whoever_may_not_sign_sees_why_and_cannot_try() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Add an index")).await;
        let path = format!("/tasks/{}", id(&task));
        let (action, fields) = desk.form(&path, "approve").await;
        let mia = member(&hub, "mia", &[]).await;
        let page = expect(mia.on(hub.request("GET", &path)), 200).await.text();
        assert!(page.contains("You are not asked about this task"), "{page}");
        assert!(form(&page, "approve").is_none() && !page.contains("name=\"decision\""), "{page}");
        let eve = member(&hub, "eve", &["reviewer"]).await;
        for login in [&mia, &eve] {
            let tried = send(login.on(hub.request("POST", &action)).form(&fields)).await;
            assert_eq!(tried.status.as_u16(), 403, "{}", tried.text());
        }
        assert_eq!(desk.state(&task).await, "REVIEWING");
        // An author who reviews too does not review their own.
        let zoe = member(&hub, "zoe", &["author", "reviewer"]).await;
        let hers = json!({"config": small("Zoe's own"), "submit": true});
        let hers = expect(zoe.on(hub.request("POST", "/api/v1/tasks")).json(&hers), 201).await.json();
        let page = expect(zoe.on(hub.request("GET", &format!("/tasks/{}", id(&hers)))), 200).await.text();
        assert!(page.contains("You wrote this task, so others decide on it."), "{page}");
        assert!(form(&page, "approve").is_none());
    })
    .await;
}

#[tokio::test]
async fn other_sites_and_other_tenants_decide_nothing() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(small("Add an index")).await;
        let request = desk.asked(&task).await;
        let path = format!("/tasks/{}", id(&task));
        let (action, fields) = desk.form(&path, "approve").await;
        for (header, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
        ] {
            for (address, fields) in [(&action, &fields), (&"/approvals/batch".to_owned(), &fields)] {
                let forged = desk.bob.on(hub.request("POST", address)).header(header, value).form(fields);
                assert_eq!(send(forged).await.status.as_u16(), 403, "{header}: {value}");
            }
        }
        let theirs = hub.tenant("other").await;
        let them = json!({"email": "ivy@other.example", "display_name": "ivy", "roles": ["reviewer", "admin"],
                          "password": crate::support::PASSWORD});
        expect(hub.request("POST", "/api/v1/accounts").bearer_auth(&theirs).json(&them), 201).await;
        let ivy = crate::support::log_in(&hub, "ivy@other.example").await;
        for address in [
            path.clone(),
            format!("/?open={}", id(&request)),
            format!("/approvals/batch?approval_ids={}", id(&request)),
        ] {
            let page = send(ivy.on(hub.request("GET", &address))).await;
            assert_eq!(page.status.as_u16(), 404, "{address}");
            assert!(!page.text().contains("Add an index"));
        }
        for address in [action.as_str(), &format!("{path}/comments")] {
            let body = if address == action { fields.clone() } else { vec![("body".into(), "hi".into())] };
            let answer = send(ivy.on(hub.request("POST", address)).form(&body)).await;
            assert_eq!(answer.status.as_u16(), 404, "{address}: {}", answer.text());
        }
        assert_eq!(desk.state(&task).await, "REVIEWING");
        assert_eq!(desk.asked(&task).await["status"], "PENDING");
    })
    .await;
}

/// What the second admin signs past what a task waits for is said in words, with what is not done.
#[tokio::test]
async fn a_second_admin_reads_what_would_be_skipped() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let (ada, abe) = (person(&hub, "ada", &["admin"]).await, member(&hub, "abe", &["admin"]).await);
        let first = desk.submitted(small("Make a backup")).await;
        let body = json!({"config": small("Drop a table"), "depends_on": [first["id"]], "submit": true});
        let second = hub.request("POST", "/api/v1/tasks").bearer_auth(&desk.author).json(&body);
        let second = expect(second, 201).await.json();
        let page = format!("/tasks/{}", id(&second));
        let (to, fields) = desk.form(&page, "approve").await;
        desk.post(&to, &fields).await;
        assert_eq!(desk.state(&second).await, "APPROVED");
        let why = json!({"reason": "the disk is full", "incident_ticket": "INC-7"});
        let path = format!("/api/v1/tasks/{}/force-apply", id(&second));
        expect(hub.request("POST", &path).bearer_auth(&ada).json(&why), 202).await;
        let read = async || expect(abe.on(hub.request("GET", &page)), 200).await.text();
        let text = read().await;
        for words in
            ["it does not wait for 1 task any more", "Make a backup", "REVIEWING", "It stays approved"]
        {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        let (to, fields) = form(&text, "approve").unwrap();
        assert!(send(abe.on(hub.request("POST", &to)).form(&fields)).await.status.is_redirection());
        let now = get(&hub, &ada, &format!("/api/v1/tasks/{}", id(&second))).await;
        assert_eq!(now["skipped_dependencies"]["task_ids"], json!([first["id"]]));
        assert!(read().await.contains("signed that it need not wait for others"), "the history says so");
    })
    .await;
}
