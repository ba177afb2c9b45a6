//! Overrides on the pages: whom they ask, what a second admin reads before signing, and which request is opened.

use serde_json::json;
use testkit::on_each_engine;

use super::acts::{fields, office};
use super::{form, leads, member, small, with};
use crate::reviews::overrides::asks_nobody;
use crate::reviews::{answer as answered, asked};
use crate::support::{Login, PASSWORD, all_items, cookie, expect, get, id, log_in, send};

#[tokio::test]
async fn an_override_asks_a_second_admin_and_says_so() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let abe = member(&hub, "abe", &["admin"]).await;
        let task = office.reviewed("Skip <i>me</i>").await;
        let path = format!("/tasks/{}", id(&task));
        let page = office.page(&ada, &format!("{path}/override")).await;
        for words in [
            "Every other admin who had no hand in this task is asked",
            "Until they sign nothing else changes",
        ] {
            assert!(page.contains(words), "{page}");
        }
        let answer = office
            .post(&ada, &task, "override", &[("reason", "a\r\nb"), ("incident_ticket", " INC-7 ")])
            .await;
        assert_eq!(leads(&answer), path);
        let row = office.row(&task, "task:override_asked").await;
        assert_eq!((&row["reason"], &row["ticket_ref"]), (&json!("a\nb"), &json!("INC-7")));
        assert_eq!(office.task(&task).await["state"], "REVIEWING");
        let page = office.page(&abe, &path).await;
        assert!(
            page.contains("to override this review. Until one of them signs, nothing changes."),
            "{page}"
        );
        let pane = office.page(&abe, &format!("/?task={}", id(&task))).await;
        for page in [&page, &pane] {
            // What the second admin signs is no review, and why the first one wants it is said before it is signed.
            let said = page.split("id=\"asked\"").nth(1).and_then(|rest| rest.split("</p>").next());
            let said = said.unwrap_or_else(|| panic!("who asks for it is not said: {page}"));
            for words in
                ["A second admin is asked to skip this review", "Asked for by ada@", "INC-7", "): a\nb<"]
            {
                assert!(said.contains(words), "{words}: {said}");
            }
            for words in ["Sign the override", "Override revision 1", "Refuse the override"] {
                assert!(page.contains(words), "{words}: {page}");
            }
            assert!(!page.contains("Approve revision") && !page.contains("Reject revision"), "{page}");
        }
        let (action, hidden) = form(&page, "approve").unwrap();
        let signed =
            send(abe.on(hub.request("POST", &action)).form(&with(hidden, "reason", "so be it"))).await;
        leads(&signed);
        let now = office.task(&task).await;
        assert_eq!((&now["state"], &now["review"]["resolution"]), (&json!("APPROVED"), &json!("override")));
        // The author's hand is in it, also as an admin.
        let own = json!({"config": small("Mine"), "submit": true});
        let own = expect(ada.on(hub.request("POST", "/api/v1/tasks")).json(&own), 201).await.json();
        let answer = office.post(&ada, &own, "override", fields("override")).await;
        assert_eq!(answer.status.as_u16(), 403);
        assert!(
            answer.text().contains("it burns") && answer.text().contains("Nothing changed."),
            "{}",
            answer.text()
        );
    })
    .await;
}

/// An admin whose password another admin chose signs nothing of that admin's with it. The page says so before they try,
/// and what to do; whoever could never sign is not asked.
#[tokio::test]
async fn who_came_with_anothers_password_is_told_to_make_one_of_their_own() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let body = json!({"email": "eve@default.example", "display_name": "eve", "password": PASSWORD,
                          "roles": ["admin"]});
        expect(ada.on(hub.request("POST", "/api/v1/accounts")).json(&body), 201).await;
        let eve = log_in(&hub, "eve@default.example").await;
        let task = office.reviewed("Two people").await;
        leads(&office.post(&ada, &task, "override", fields("override")).await);
        let path = format!("/tasks/{}", id(&task));
        for page in [path.clone(), format!("/?task={}", id(&task))] {
            let page = office.page(&eve, &page).await;
            for words in [
                "id=\"not-with\"",
                "Not with this sign-in",
                "asked for this override",
                "href=\"/account#password\"",
            ] {
                assert!(page.contains(words), "{words}: {page}");
            }
            assert!(form(&page, "approve").is_none(), "what would be refused is not offered: {page}");
        }
        assert!(office.page(&eve, "/account").await.contains("id=\"password\""));
        let own = "a password of her own";
        let set = [("username", ""), ("current_password", PASSWORD), ("new_password", own)];
        leads(&send(eve.on(hub.request("POST", "/account/password")).form(&set)).await);
        assert!(office.page(&eve, &path).await.contains("id=\"not-with\""), "this login is what it was");
        let login = json!({"email": "eve@default.example", "password": own});
        let login = expect(hub.request("POST", "/api/v1/auth/login").json(&login), 200).await;
        let eve = Login { token: cookie(&login).unwrap(), ..eve };
        let (action, hidden) = form(&office.page(&eve, &path).await, "approve").unwrap();
        leads(&send(eve.on(hub.request("POST", &action)).form(&with(hidden, "reason", "so be it"))).await);
        assert_eq!(office.task(&task).await["review"]["resolution"], "override");
    })
    .await;
}

/// Nothing that the one who made the asker's password could sign with would be taken, so they are not asked.
#[tokio::test]
async fn who_made_the_askers_password_is_not_asked() {
    on_each_engine(async |hub| {
        asks_nobody(&hub).await;
        let office = office(&hub).await;
        let (ada, eve) = (office.who("ada").clone(), member(&hub, "eve", &["admin"]).await);
        let task = office.reviewed("Three admins").await;
        leads(&office.post(&eve, &task, "override", fields("override")).await);
        let page = office.page(&ada, &format!("/tasks/{}", id(&task))).await;
        assert!(form(&page, "approve").is_some(), "{page}");
        let path = format!("/api/v1/approvals?task_id={}", id(&task));
        let asked = all_items(&hub, &hub.admin_key, &path).await;
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
        assert!(asked.iter().all(|one| one["reviewer_id"] != me), "{asked:?}");
        assert!(!asked.is_empty());
    })
    .await;
}

/// Whoever reviews and is an admin too has two requests about one task: each row of the inbox opens its own.
#[tokio::test]
async fn who_is_asked_twice_signs_what_they_opened() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let abe = member(&hub, "abe", &["admin", "reviewer"]).await;
        let task = office.reviewed("Twice").await;
        leads(&office.post(&ada, &task, "override", fields("override")).await);
        let path = format!("/api/v1/approvals?reviewer=me&task_id={}", id(&task));
        let asked = expect(abe.on(hub.request("GET", &path)), 200).await.json();
        let request = |kind: &str| {
            let items = asked["items"].as_array().unwrap();
            let found = items.iter().find(|item| item["kind"] == kind);
            id(found.unwrap_or_else(|| panic!("no {kind} in {asked}"))).to_owned()
        };
        let mut forms = Vec::new();
        for (kind, words) in [("review", "Approve revision 1"), ("override", "Override revision 1")] {
            let page = office.page(&abe, &format!("/?open={}", request(kind))).await;
            assert!(page.contains(words), "{kind}: {page}");
            let (action, hidden) = form(&page, "approve").unwrap();
            assert!(action.contains(&request(kind)), "{kind}: {action}");
            forms.push((action, hidden));
        }
        let (action, hidden) = forms.pop().unwrap();
        leads(&send(abe.on(hub.request("POST", &action)).form(&with(hidden, "reason", "so be it"))).await);
        assert_eq!(office.task(&task).await["review"]["resolution"], "override");
    })
    .await;
}

#[tokio::test]
async fn past_what_it_waits_for_a_second_admin_is_asked_and_the_page_says_so() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let ada = office.who("ada").clone();
        let first = office.draft("First").await;
        let mut config = small("Second");
        config["rollback_strategy"] = json!("none");
        let body = json!({"config": config, "depends_on": [id(&first)], "submit": true});
        let second =
            expect(office.ann.on(hub.request("POST", "/api/v1/tasks")).json(&body), 201).await.json();
        let request = asked(&hub, &office.bob.token, &second).await;
        expect(answered(&hub, &office.bob.token, &request, "approve"), 200).await;
        let path = format!("/tasks/{}", id(&second));
        let page = office.page(&ada, &format!("{path}/force-apply")).await;
        for words in ["It waits for 1 task that is not completed.", "is asked whether it need not"] {
            assert!(page.contains(words), "{page}");
        }
        assert!(page.contains("<h1>Force-apply</h1>"), "one name on every page: {page}");
        assert!(!page.contains("nobody else is asked"), "{page}");
        leads(&office.post(&ada, &second, "force-apply", fields("force-apply")).await);
        assert_eq!(office.row(&second, "task:skip_asked").await["ticket_ref"], "INC-7");
        assert_eq!(office.task(&second).await["status"], "blocked", "asking alone changes nothing");
        let page = office.page(&ada, &path).await;
        assert!(page.contains("asked whether it need not wait"), "{page}");
        assert!(!page.contains("to override this review"), "{page}");
        assert!(
            page.contains("asked to let it not wait for")
                && page.contains("Asked for by you")
                && page.contains("INC-7"),
            "{page}"
        );
    })
    .await;
}
