//! The server that grants in Redis are compared with: axum, and the very store, with nothing around it.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use domain::canonical::Sha256Hash;
use domain::secrets::{Secret, SecretKind};
use domain::standalone_grants::{GrantStatus, StandaloneGrant, StoreKind};
use domain::{Id, Timestamp};
use hub::clock::{Clock as _, SystemClock};
use hub::ids::{Ids as _, SystemIds, secret};
use hub::standalone_grants::{InRedis, RedisOptions, Store as _, Tenant, Use};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::pair::{CONSUME, CREATE, HASH};
use crate::echo::LISTENING;

const TTL: Duration = Duration::from_secs(3600);

struct Bare {
    store: InRedis,
    clock: SystemClock,
    tenant: Tenant,
}

type Handled = Result<Json<Value>, (StatusCode, String)>;

fn failed(error: anyhow::Error) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

/// Serves on a free port of loopback until it is killed.
pub(crate) async fn serve(redis_url: &str) -> Result<()> {
    let options = RedisOptions { url: redis_url.to_owned(), key_prefix: "bare:".into() };
    let tenant = Tenant { id: Id::new(SystemIds.fresh()), is_default: true };
    let bare = Bare { store: InRedis::open(&options).await?, clock: SystemClock::default(), tenant };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "bare grants: {LISTENING}{}", listener.local_addr()?)?;
    stdout.flush()?;
    let router = Router::new().route(CREATE, post(create)).route(CONSUME, post(consume));
    let listener = listener.tap_io(|stream| {
        // As in the echo.
        drop(stream.set_nodelay(true));
    });
    axum::serve(listener, router.with_state(Arc::new(bare))).await?;
    Ok(())
}

async fn create(State(bare): State<Arc<Bare>>, Json(_): Json<Value>) -> Handled {
    bare.created().await.map(Json).map_err(failed)
}

async fn consume(State(bare): State<Arc<Bare>>, Json(body): Json<Value>) -> Handled {
    bare.consumed(&body).await.map(Json).map_err(failed)
}

/// A grant as the hub makes one.
pub(super) fn pending(tenant: Tenant, token: &Secret, now: Timestamp) -> StandaloneGrant {
    StandaloneGrant {
        id: Id::new(SystemIds.fresh()),
        org_id: tenant.id,
        store: StoreKind::Redis,
        ir_hash: HASH.into(),
        token_hash: Sha256Hash(token.hash()),
        status: GrantStatus::Pending,
        expires_at: now.plus(TTL),
        consumed_at: None,
        created_by: "bench".into(),
        consumed_by: None,
        acknowledged_at: None,
        acknowledged_by: None,
        created_at: now,
        updated_at: now,
    }
}

impl Bare {
    async fn created(&self) -> Result<Value> {
        let (now, token) = (self.clock.now(), secret(SecretKind::Grant)?);
        let grant = pending(self.tenant, &token, now);
        anyhow::ensure!(self.store.create(self.tenant, &grant, now).await?, "it was there before");
        Ok(json!({"approval_id": grant.id.to_string(), "token": token.expose()}))
    }

    async fn consumed(&self, body: &Value) -> Result<Value> {
        let token = Secret::parse_as(SecretKind::Grant, body["token"].as_str().context("no token")?);
        let token_hash = Sha256Hash(token.ok().context("no token of a grant")?.hash());
        let used = Use { token_hash, ir_hash: HASH.into(), by: "bench".into(), now: self.clock.now() };
        let grant = self.store.consume(self.tenant, &used).await??;
        Ok(json!({"approval_id": grant.id.to_string(), "status": grant.status.as_str()}))
    }
}
