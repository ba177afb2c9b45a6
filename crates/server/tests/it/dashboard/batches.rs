//! Several decisions at once: all that is listed, and nothing that was not read.

use serde_json::json;
use testkit::on_each_engine;

use super::{Desk, desk, leads, small, with, without};
use crate::support::{expect, id, send};

struct Two {
    tasks: Vec<serde_json::Value>,
    requests: Vec<String>,
    list: String,
}

async fn two(desk: &Desk<'_>) -> Two {
    let tasks = vec![desk.submitted(small("First")).await, desk.submitted(small("Second")).await];
    let mut requests = Vec::new();
    for task in &tasks {
        requests.push(id(&desk.asked(task).await));
    }
    let named: Vec<String> = requests.iter().map(|id| format!("approval_ids={id}")).collect();
    Two { tasks, requests, list: format!("/approvals/batch?{}", named.join("&")) }
}

#[tokio::test]
async fn all_that_was_opened_is_signed_together() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let two = two(&desk).await;
        let inbox = desk.page("/").await;
        assert_eq!(inbox.matches("type=\"checkbox\" name=\"approval_ids\"").count(), 2, "{inbox}");
        let page = desk.page(&two.list).await;
        assert!(page.contains("Open 2 tasks first"), "{page}");
        let (action, fields) = ("/approvals/batch", batch_fields(&page));
        let sign = |fields: Vec<(String, String)>| with(with(fields, "action", "approve"), "read", "on");
        let early = desk.post(action, &sign(fields.clone())).await;
        assert_eq!(early.status.as_u16(), 409, "{}", early.text());
        for request in &two.requests {
            desk.page(&format!("/?open={request}")).await;
        }
        let page = desk.page(&two.list).await;
        assert!(page.contains("Approve 2 tasks") && page.contains("last of 1"), "{page}");
        let unread = desk.post(action, &with(fields.clone(), "action", "approve")).await;
        assert_eq!(unread.status.as_u16(), 422, "{}", unread.text());
        for hash in ["content_hash", "review_hash"].map(|name| format!("{name}.{}", two.requests[1])) {
            let unbound = desk.post(action, &sign(without(fields.clone(), &hash))).await;
            assert_eq!(unbound.status.as_u16(), 422, "{hash}: {}", unbound.text());
            let stale = with(fields.clone(), &hash, &format!("sha256:{}", "b".repeat(64)));
            let stale = desk.post(action, &sign(stale)).await;
            assert_eq!(stale.status.as_u16(), 409, "{hash}: {}", stale.text());
        }
        for task in &two.tasks {
            assert_eq!(desk.state(task).await, "REVIEWING", "one that fails keeps all");
        }
        let to = leads(&desk.post(action, &sign(fields)).await);
        for task in &two.tasks {
            assert_eq!(desk.state(task).await, "APPROVED");
        }
        let told = desk.page(&to).await;
        let toast = told.split_once("<div class=\"toast\">").unwrap().1.split("</div>").next().unwrap();
        assert!(toast.contains("<b>Approved</b> 2 tasks: ") && toast.contains("First"), "{toast}");
        assert!(toast.contains("Second") && toast.contains("Agents may apply them."), "{toast}");
    })
    .await;
}

/// Whoever reads one of them first finds the others as they were left, without any script; and still nothing is signed.
#[tokio::test]
async fn what_was_ticked_is_still_ticked_after_one_was_read() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let two = two(&desk).await;
        let other = desk.submitted(small("Third")).await;
        let other = id(&desk.asked(&other).await);
        let page = desk.page(&two.list).await;
        let first = page.split("<a class=\"btn btn-sm\" href=\"").nth(1).unwrap();
        let to = first.split('"').next().unwrap().replace("&#38;", "&");
        assert!(first.split("</a>").next().unwrap().ends_with("Open first"), "{page}");
        let opened = desk.page(&to).await;
        assert!(opened.contains("id=\"pane-title\""), "{opened}");
        let is_ticked = |page: &str, request: &str| {
            let value = format!("name=\"approval_ids\" value=\"{request}\"");
            page.split(&value).nth(1).unwrap().split('>').next().unwrap().ends_with(" checked")
        };
        assert!(two.requests.iter().all(|request| is_ticked(&opened, request)), "{opened}");
        assert!(!is_ticked(&opened, &other), "{opened}");
        let cleared = format!("href=\"/?open={}\">Clear</a>", two.requests[0]);
        assert!(opened.contains(&cleared), "{opened}");
        let back = opened.split("pane-back\"><a href=\"").nth(1).unwrap().split('"').next().unwrap();
        let back = desk.page(&back.replace("&#38;", "&")).await;
        assert!(two.requests.iter().all(|request| is_ticked(&back, request)), "{back}");
        for task in &two.tasks {
            assert_eq!(desk.state(task).await, "REVIEWING");
        }
        let wrong = format!("/?picked={}", "x".repeat(40));
        expect(desk.bob.on(hub.request("GET", &wrong)), 422).await;
        let many = format!("/?picked={}", vec![other; 60].join("."));
        expect(desk.bob.on(hub.request("GET", &many)), 422).await;
    })
    .await;
}

/// The hidden fields of the form that signs: the list has a form to the same address that has none.
fn batch_fields(page: &str) -> Vec<(String, String)> {
    let forms = page.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
    let signs = forms.filter(|form| form.contains("action=\"/approvals/batch\"")).map(super::hidden);
    signs.max_by_key(Vec::len).unwrap()
}

#[tokio::test]
async fn many_are_rejected_with_one_reason() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let two = two(&desk).await;
        let fields = with(batch_fields(&desk.page(&two.list).await), "action", "reject");
        let silent = desk.post("/approvals/batch", &fields).await;
        assert_eq!(silent.status.as_u16(), 422, "{}", silent.text());
        leads(&desk.post("/approvals/batch", &with(fields, "reason", "not this week")).await);
        for task in &two.tasks {
            assert_eq!(desk.state(task).await, "REJECTED");
            assert_eq!(desk.asked(task).await["response_reason"], "not this week");
        }
    })
    .await;
}

#[tokio::test]
async fn high_risk_is_signed_one_by_one() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let catalogue = json!([{"pattern": "database:prod-*", "criticality": 100}]);
        expect(hub.admin("PUT", "/api/v1/resource-catalogue").json(&catalogue), 200).await;
        let config = json!({"type": "t", "description": "Dangerous", "declared_risk": "high",
            "resources": [{"type": "database", "id": "prod-1", "mode": "exclusive"}]});
        let task = desk.submitted(config).await;
        assert!(["HIGH", "CRITICAL"].contains(&task["risk"]["level"].as_str().unwrap()), "{task}");
        let request = desk.asked(&task).await;
        let inbox = desk.page("/").await;
        assert!(inbox.contains("Signed one by one") && !inbox.contains("name=\"approval_ids\""), "{inbox}");
        let page = desk.page(&format!("/approvals/batch?approval_ids={}", id(&request))).await;
        assert!(page.contains("Nothing here can be signed together"), "{page}");
        desk.page(&format!("/?open={}", id(&request))).await;
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let fields: Vec<(String, String)> = vec![
            ("approval_ids".to_owned(), id(&request)),
            (format!("content_hash.{}", id(&request)), text(&task["content_hash"])),
            (format!("review_hash.{}", id(&request)), text(&task["review"]["review_hash"])),
            ("read".to_owned(), "on".to_owned()),
            ("action".to_owned(), "approve".to_owned()),
        ];
        let tried = desk.post("/approvals/batch", &fields).await;
        assert_eq!(tried.status.as_u16(), 409, "{}", tried.text());
        assert_eq!(desk.state(&task).await, "REVIEWING");
    })
    .await;
}

#[tokio::test]
async fn an_organization_without_batches_has_no_boxes() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        desk.submitted(small("One")).await;
        let off = json!({"feature:batch_approvals": "disabled"});
        expect(hub.admin("PATCH", "/api/v1/settings").json(&off), 200).await;
        let inbox = desk.page("/").await;
        assert!(!inbox.contains("name=\"approval_ids\"") && !inbox.contains("batch-bar"), "{inbox}");
    })
    .await;
}

/// Nobody reads more than fifty before they tick one box.
#[tokio::test]
async fn no_more_are_signed_together_than_somebody_can_read() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let named = |count: usize| -> Vec<(String, String)> {
            let id = |number: usize| format!("0197a000-0000-7000-8000-{number:012}");
            (0..count).map(|number| ("approval_ids".to_owned(), id(number))).collect()
        };
        for (count, status) in [(0, 422), (50, 404), (51, 422)] {
            let fields = named(count);
            let query: Vec<String> = fields.iter().map(|(name, id)| format!("{name}={id}")).collect();
            let list = desk.bob.on(hub.request("GET", &format!("/approvals/batch?{}", query.join("&"))));
            assert_eq!(send(list).await.status.as_u16(), status, "{count} are listed");
            let fields = with(with(fields, "action", "approve"), "read", "on");
            let answer = desk.post("/approvals/batch", &fields).await;
            assert_eq!(answer.status.as_u16(), status, "{count} are signed: {}", answer.text());
        }
    })
    .await;
}
