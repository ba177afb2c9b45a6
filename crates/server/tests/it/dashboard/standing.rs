//! Where a review stands, said to whoever reads: that nobody can end it, what a no does, and who ended it meanwhile.

use serde_json::json;
use testkit::on_each_engine;

use super::acts::office;
use super::{desk, form, member, small};
use crate::support::{expect, id, send};

#[tokio::test]
async fn a_review_that_nobody_can_end_says_so_and_what_helps() {
    on_each_engine(async |hub| {
        let office = office(&hub).await;
        let policy = json!({"name": "dba", "required_roles": ["dba"]});
        expect(hub.admin("POST", "/api/v1/policies").json(&policy), 201).await;
        let task = office.reviewed("Let ghosts decide").await;
        let path = format!("/tasks/{}", id(&task));
        for (who, ways) in
            [("ann", &["cancel"][..]), ("ada", &["cancel", "override"]), ("bob", &[]), ("mel", &[])]
        {
            let page = office.page(office.who(who), &path).await;
            let note = page.split_once("id=\"stuck\"").unwrap_or_else(|| panic!("{who}: {page}")).1;
            let note = note.split("class=\"lede\"").next().unwrap();
            assert!(note.contains("Nobody is left who may decide."), "{who}: {note}");
            assert!(note.contains("dba: 1 more person (dba) must approve"), "{who}: {note}");
            assert!(note.contains("Told at ") && note.contains(", as admins: "), "{who}: {note}");
            for act in ["cancel", "override"] {
                let link = format!("{path}/{act}\"");
                assert_eq!(note.contains(&link), ways.contains(&act), "{who} {act}: {note}");
            }
            assert_eq!(note.contains("href=\"/policies\""), who == "ada", "{note}");
            assert!(!page.contains("so others decide on it."), "there are none: {page}");
        }
        let history = office.page(office.who("ada"), &path).await;
        let history = history.split_once("id=\"history\"").unwrap().1;
        assert!(history.contains("began the review, and nobody was asked"), "{history}");
        assert!(!history.contains("asked the reviewers"), "{history}");
    })
    .await;
}

#[tokio::test]
async fn a_no_says_whether_it_ends_the_review() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        member(&hub, "rita", &["reviewer"]).await;
        let page =
            desk.page(&format!("/tasks/{}", id(&desk.submitted(small("One no is enough")).await))).await;
        assert!(page.contains("Ends the review: rejected.") && !page.contains("Counts as a no."), "{page}");
        let policy = json!({"name": "any one", "required_roles": ["reviewer"], "reject_on": "unreachable"});
        expect(hub.admin("POST", "/api/v1/policies").json(&policy), 201).await;
        let page = desk.page(&format!("/tasks/{}", id(&desk.submitted(small("One yes is too")).await))).await;
        assert!(!page.contains("Ends the review: rejected.") && page.contains("Counts as a no."), "{page}");
    })
    .await;
}

#[tokio::test]
async fn whoever_was_reading_is_told_who_ended_it() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let rita = member(&hub, "rita", &["reviewer"]).await;
        let task = desk.submitted(small("Sign me")).await;
        let path = format!("/tasks/{}", id(&task));
        let page = expect(rita.on(hub.request("GET", &path)), 200).await.text();
        let (action, hidden) = form(&page, "approve").unwrap();
        super::leads(&send(rita.on(hub.request("POST", &action)).form(&hidden)).await);
        for page in [desk.page(&path).await, desk.page(&format!("/?task={}", id(&task))).await] {
            assert!(page.contains("<b>rita</b> ended the review at "), "{page}");
            assert!(page.contains(", and nothing of yours was signed."), "{page}");
        }
        let own = expect(rita.on(hub.request("GET", &path)), 200).await.text();
        assert!(own.contains("You approved at ") && !own.contains("nothing of yours was signed"), "{own}");
    })
    .await;
}
