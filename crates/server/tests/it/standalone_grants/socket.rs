//! The socket of S002 (WS-01 to WS-05): what becomes of grants, in its words.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::socket::{Refused, Said, Socket};
use testkit::tungstenite::Message;

use super::{APPROVALS, Ground, HASH, on_each_store};
use crate::support::{expect, mint};

pub(super) const SILENCE: Duration = Duration::from_millis(300);

/// Opens the socket of a hub.
pub(super) async fn open_at(url: &str, key: &str, query: &str) -> Result<Socket, Box<Refused>> {
    let bearer = format!("Bearer {key}");
    Socket::open(url, &format!("{APPROVALS}/ws{query}"), &[("authorization", &bearer)]).await
}

impl Ground {
    async fn open(&self, key: &str, tenant: &str) -> Result<Socket, Box<Refused>> {
        open_at(&self.hub.url(), key, &format!("?tenant_id={tenant}")).await
    }

    async fn opened(&self, key: &str, tenant: &str) -> Socket {
        self.open(key, tenant).await.unwrap_or_else(|refused| panic!("{refused:?}"))
    }
}

async fn refusal(opened: Result<Socket, Box<Refused>>) -> (u16, Value) {
    let Err(refused) = opened else { panic!("it was opened") };
    (refused.status, refused.problem["code"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_tells_what_becomes_of_the_tenants_grants_and_nothing_else() {
    on_each_store(async |ground| {
        let admin = ground.hub.admin_key.clone();
        let theirs = ground.hub.tenant("other").await;
        let mut others = ground.opened(&theirs, "other").await;
        let mut by_id = ground.opened(&admin, &ground.org).await;
        let mut by_slug = ground.opened(&admin, "default").await;
        let (used, short) = (ground.mint().await, ground.mint_for(60).await);
        expect(ground.consume(&used.token), 200).await;
        // No event of a grant, and none of S002's messages.
        mint(&ground.hub, &admin, json!({"name": "another matter"})).await;
        ground.hub.clock.advance(Duration::from_secs(61));
        ground.clean().await;
        let made = async |id: &str| {
            let grant = expect(ground.get(id), 200).await.json();
            json!({"type": "approval_created", "approval_id": id, "tenant_id": ground.org, "ir_hash": HASH,
                   "expires_at": grant["expires_at"]})
        };
        let expected = [
            made(&used.id).await,
            made(&short.id).await,
            json!({"type": "approval_consumed", "approval_id": used.id, "consumed_by": "ci"}),
            json!({"type": "approval_expired", "approval_id": short.id}),
        ];
        for socket in [&mut by_id, &mut by_slug] {
            for message in &expected {
                assert_eq!(socket.next().await, Said::Json(message.clone()));
            }
            assert!(socket.is_silent(SILENCE).await);
        }
        assert!(others.is_silent(SILENCE).await);
        let body = json!({"tenant_id": "other", "ir_hash": HASH});
        let create = ground.hub.request("POST", APPROVALS).bearer_auth(&theirs).json(&body);
        expect(create, 201).await;
        assert_eq!(others.event().await["type"], "approval_created");
        assert!(by_id.is_silent(SILENCE).await);
    })
    .await;
}

/// TEST-15: the first thing that the socket says is the answer.
#[tokio::test]
async fn it_answers_ping_first_of_all() {
    on_each_store(async |ground| {
        let mut socket = ground.opened(&ground.hub.admin_key, "default").await;
        for _ in 0..2 {
            socket.say(Message::text("ping")).await;
            assert_eq!(socket.next().await, Said::Json(json!({"type": "heartbeat", "message": "pong"})));
        }
        socket.say(Message::text("{}")).await;
        assert_eq!(socket.next().await, Said::Closed(1003, "VALIDATION_FAILED".into()));
    })
    .await;
}

#[tokio::test]
async fn it_opens_for_the_tenant_with_the_right_to_read_grants() {
    on_each_store(async |ground| {
        let hub = &ground.hub;
        let admin = hub.admin_key.as_str();
        let theirs = hub.tenant("other").await;
        let mismatch = (403, json!("TENANT_MISMATCH"));
        assert_eq!(refusal(ground.open(&theirs, "default").await).await, mismatch);
        assert_eq!(refusal(ground.open(admin, "other").await).await, mismatch);
        let invalid = (422, json!("VALIDATION_FAILED"));
        for query in ["", "?tenant_id=", "?tenant_id=default&since=0", "?tenant_id=default&types=grant:*"] {
            assert_eq!(refusal(open_at(&hub.url(), admin, query).await).await, invalid, "{query}");
        }
        let unknown = format!("csk_{}", "A".repeat(43));
        assert_eq!(refusal(ground.open(&unknown, "default").await).await.0, 401);
        let foreign =
            [("authorization", format!("Bearer {admin}")), ("origin", "https://evil.example".into())];
        let foreign = foreign.each_ref().map(|(name, value)| (*name, value.as_str()));
        let path = format!("{APPROVALS}/ws?tenant_id=default");
        assert_eq!(refusal(Socket::open(&hub.url(), &path, &foreign).await).await.0, 403);
        let plain = hub.admin("GET", &path);
        assert_eq!(crate::support::send(plain).await.status, 426);

        let scoped = async |scope: &str| mint(hub, admin, json!({"name": scope, "scopes": [scope]})).await;
        let (reader, other) = (scoped("grants:read").await, scoped("events:read").await);
        assert_eq!(refusal(ground.open(&other.key, "default").await).await, (403, json!("FORBIDDEN")));
        let mut socket = ground.opened(&reader.key, "default").await;
        let minted = ground.mint().await;
        assert_eq!(socket.event().await["approval_id"], json!(minted.id));
        expect(hub.admin("DELETE", &format!("/api/v1/api-keys/{}", reader.id)), 204).await;
        assert_eq!(socket.next().await, Said::Closed(4401, "UNAUTHENTICATED".into()));
    })
    .await;
}
