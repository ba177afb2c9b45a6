//! The server that ours is compared with: axum, JSON in, the same JSON out, nothing around it.

use std::io::Write as _;

use anyhow::Result;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

/// What the first line ends with, as that of the product does.
pub(crate) const LISTENING: &str = "listening on http://";

/// Serves on a free port of loopback until it is killed.
pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "echo: {LISTENING}{}", listener.local_addr()?)?;
    stdout.flush()?;
    let router = Router::new().route("/echo", post(async |Json(value): Json<Value>| Json(value)));
    let listener = listener.tap_io(|stream| {
        // Ours does it too; where it cannot be done the answers are late and the comparison easier.
        drop(stream.set_nodelay(true));
    });
    axum::serve(listener, router).await?;
    Ok(())
}
