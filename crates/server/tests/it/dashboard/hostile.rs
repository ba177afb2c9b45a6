//! What strangers write is text, wherever it is shown, and what hides in it is marked.

use serde_json::json;
use testkit::on_each_engine;

use super::desk;
use crate::support::{expect, id, without_module};

const HOSTILE: &str =
    "</script><script>alert(1)</script>'\"><img src=x onerror=alert(1)>\u{202e}\u{200b}{{ 7*7 }}\u{2066}";

/// Whether a page holds nothing of what strangers wrote but as text, and nothing that hides.
fn is_harmless(page: &str, what: &str) {
    let page = &without_module(page);
    for part in ["<script", "onerror=alert(1)>\u{202e}", "<img src=x", "style=\"", "javascript:"] {
        assert!(!page.contains(part), "{what}: {part} in {page}");
    }
    for hidden in ['\u{202e}', '\u{200b}', '\u{2066}'] {
        assert!(!page.contains(hidden), "{what}: {hidden:?}");
    }
    assert!(page.contains("&#60;/script&#62;"), "{what}: it is not shown at all: {page}");
    assert!(page.contains("class=\"esc\"") && page.contains("\\u202e"), "{what}: nothing is marked");
}

#[tokio::test]
async fn nothing_that_strangers_write_is_more_than_text() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let config = json!({"type": "infrastructure", "description": HOSTILE, "declared_risk": "trivial",
            "parameters": {"a\u{202e}": HOSTILE, "long": "é".repeat(20_000)}});
        let body = json!({"config": config, "submit": true,
            "metadata": {"tags": ["<b>tag"], "ticket_ref": "OPS-7<i>"}});
        let made = hub.request("POST", "/api/v1/tasks").bearer_auth(&desk.author).json(&body);
        let task = expect(made, 201).await.json();
        let path = format!("/tasks/{}", id(&task));
        let preview = json!({"changes": [{"kind": "delete", "resource": HOSTILE, "x\u{200b}": {"y": HOSTILE},
            "before": HOSTILE, "after": "new"}], "warnings": [HOSTILE], "errors": [HOSTILE]});
        let attach = hub.request("PUT", &format!("/api/v1{path}/preview")).bearer_auth(&desk.author);
        let attached = crate::support::send(attach.json(&preview)).await;
        assert!([200, 409].contains(&attached.status.as_u16()), "{}", attached.text());
        let said = hub.request("POST", &format!("/api/v1{path}/comments")).bearer_auth(&desk.author);
        expect(said.json(&json!({"body": HOSTILE})), 201).await;
        let request = id(&desk.asked(&task).await);
        is_harmless(&desk.page("/").await, "the list");
        is_harmless(&desk.page(&format!("/?open={request}")).await, "the pane");
        let page = desk.page(&path).await;
        is_harmless(&page, "the page");
        assert!(page.contains("OPS-7&#60;i&#62;") && page.contains("&#60;b&#62;tag"), "{page}");
        is_harmless(&desk.page(&format!("/approvals/batch?approval_ids={request}")).await, "the batch");
        let (action, fields) = desk.form(&path, "reject").await;
        let fields = super::with(fields, "reason", HOSTILE);
        let to = super::leads(&desk.post(&action, &fields).await);
        is_harmless(&desk.page(&to).await, "the answer");
    })
    .await;
}

#[tokio::test]
async fn a_comment_is_said_and_not_a_decision() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let task = desk.submitted(super::small("Talk about me")).await;
        let path = format!("/tasks/{}", id(&task));
        let said = |body: &str| vec![("body".to_owned(), body.to_owned())];
        let address = format!("{path}/comments");
        for (body, status) in [("", 422), (&"x".repeat(20_000), 422), ("Why <b>now</b>?\r\nSecond line", 303)]
        {
            let answer = desk.post(&address, &said(body)).await;
            assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
        }
        let page = desk.page(&path).await;
        assert!(page.contains("Why &#60;b&#62;now&#60;/b&#62;?\nSecond line"), "{page}");
        assert_eq!(desk.state(&task).await, "REVIEWING");
    })
    .await;
}
