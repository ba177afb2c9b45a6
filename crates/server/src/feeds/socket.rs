//! Events over a WebSocket, or only that there are any.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::request::Parts;
use hub::events::follow::{End, Follower, Told};
use tokio::time::{Instant, timeout};
use wire::events::closed;
use wire::{Code, Pulse};

use super::{Kind, Open, farewell, require_own_origin, text};
use crate::api::standalone_grants::news;
use crate::connection::Connection;
use crate::problem::Problem;
use crate::{App, FeedTimes};

/// What a socket may say in one message; it says `ping`.
const HEARD_BYTES_MAX: usize = 512;
/// Many are open and few speak (DECISIONS 38).
const BUFFER_BYTES: usize = 4 * 1024;
/// What may wait to be written: a batch of the largest events there are.
const UNWRITTEN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What a socket may say between two signs of life.
const HEARD_MESSAGES_MAX: u32 = 100;
/// How long whoever does not read has left to read why the socket is closed.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// A request that may become a socket.
pub(crate) struct Upgrade {
    upgrade: WebSocketUpgrade,
    connection: Option<Connection>,
}

impl FromRequestParts<App> for Upgrade {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let connection = parts.extensions.get::<Connection>().cloned();
        let upgrade = WebSocketUpgrade::from_request_parts(parts, app).await.map_err(not_a_socket)?;
        require_own_origin(&parts.headers, &app.options)?;
        Ok(Self { upgrade, connection })
    }
}

fn not_a_socket(rejection: WebSocketUpgradeRejection) -> Problem {
    Problem::new(Code::UpgradeRequired, format!("this is a WebSocket: {}", rejection.body_text()))
        .with_header("upgrade", "websocket")
        .with_header("connection", "upgrade")
}

/// What a socket tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Events as the log has them; signs of life say how far it was searched.
    Events,
    /// What becomes of grants, in the words of S002, and nothing that it does not name.
    Grants,
    /// How far the log goes now, once for all that came together.
    Places,
}

/// Answers with a socket, and follows on it until it ends.
pub(crate) fn run(app: &App, upgrade: Upgrade, follower: Follower, tells: Tells) -> axum::response::Response {
    let (times, lifecycle) = (app.options.feeds, app.hub.lifecycle.clone());
    let Upgrade { upgrade, connection } = upgrade;
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(UNWRITTEN_BYTES_MAX)
        .max_message_size(HEARD_BYTES_MAX)
        .max_frame_size(HEARD_BYTES_MAX)
        .on_failed_upgrade(|error| tracing::debug!("a socket was not opened: {error}"))
        .on_upgrade(move |socket| {
            lifecycle.socket(async move {
                let _open = Open::count(Kind::Socket);
                Feed { socket, follower, tells, times, told_seq: None, heard: 0, is_awaited: false }
                    .run()
                    .await;
                drop(connection);
            })
        })
}

struct Feed {
    socket: WebSocket,
    follower: Follower,
    tells: Tells,
    times: FeedTimes,
    /// The last number a sign of life has told.
    told_seq: Option<i64>,
    /// What it said since the last sign of life.
    heard: u32,
    /// Whether a sign of life was not answered yet.
    is_awaited: bool,
}

/// Why a socket ends.
enum Why {
    /// It ended by itself, or is beyond words.
    Gone,
    /// It is told why.
    Said(u16, &'static str),
}

impl From<End> for Why {
    fn from(end: End) -> Self {
        let (number, code) = farewell(&end);
        Self::Said(number, code)
    }
}

impl Feed {
    async fn run(mut self) {
        let Err(why) = self.feed().await;
        let Why::Said(number, code) = why else { return };
        if number != closed::AWAY {
            Kind::Socket.note_cut_off(code);
        }
        let frame = CloseFrame { code: number, reason: code.into() };
        let goodbye = async {
            if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
                // Until the other side has closed too, or what it was sent may be lost on the way.
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        if timeout(GOODBYE_WITHIN, goodbye).await.is_err() {
            tracing::debug!("a socket was closed without an answer to {code}");
        }
    }

    async fn feed(&mut self) -> Result<std::convert::Infallible, Why> {
        self.tell_place("open").await?;
        let mut alive =
            tokio::time::interval_at(Instant::now() + self.times.alive_every, self.times.alive_every);
        loop {
            tokio::select! {
                batch = self.follower.next() => self.tell(&batch?).await?,
                heard = self.socket.recv() => self.hear(heard).await?,
                _ = alive.tick() => self.show_life().await?,
            }
        }
    }

    async fn tell(&mut self, batch: &[std::sync::Arc<Told>]) -> Result<(), Why> {
        match self.tells {
            Tells::Places => self.tell_place("changed").await?,
            Tells::Events => {
                for told in batch {
                    self.send(Message::text(told.text(text))).await?;
                }
            }
            Tells::Grants => {
                for news in batch.iter().filter_map(|told| news(told)) {
                    self.send(Message::text(serde_json::to_string(&news).unwrap_or_default())).await?;
                }
            }
        }
        Ok(())
    }

    /// Says how far the log was searched, so that nothing is missed if the socket breaks before the next event.
    async fn tell_place(&mut self, message: &str) -> Result<(), Why> {
        if self.tells == Tells::Grants {
            return Ok(());
        }
        let seq = self.follower.last_seq();
        self.told_seq = Some(seq);
        self.say(&Pulse::at(message, seq)).await
    }

    async fn say(&mut self, pulse: &Pulse) -> Result<(), Why> {
        self.send(Message::text(serde_json::to_string(pulse).unwrap_or_default())).await
    }

    async fn show_life(&mut self) -> Result<(), Why> {
        if self.is_awaited {
            Kind::Socket.note_cut_off("SILENT");
            return Err(Why::Gone);
        }
        self.follower.check().await.map_err(|error| Why::from(End::Refused(error)))?;
        self.heard = 0;
        self.is_awaited = true;
        if self.told_seq != Some(self.follower.last_seq()) {
            self.tell_place("alive").await?;
        }
        self.send(Message::Ping(bytes::Bytes::new())).await
    }

    async fn hear(&mut self, heard: Option<Result<Message, axum::Error>>) -> Result<(), Why> {
        let Some(Ok(message)) = heard else { return Err(Why::Gone) };
        self.is_awaited = false;
        self.heard += 1;
        if self.heard > HEARD_MESSAGES_MAX {
            return Err(Why::Said(closed::TOO_MUCH, "RATE_LIMITED"));
        }
        match message {
            Message::Text(text) if text.as_str() == Pulse::PING => self.say(&Pulse::pong()).await,
            Message::Text(_) | Message::Binary(_) => {
                Err(Why::Said(closed::NOT_UNDERSTOOD, "VALIDATION_FAILED"))
            }
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(Why::Gone),
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), Why> {
        match timeout(self.times.taken_within, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Why::Gone),
            Err(_) => Err(Why::Said(closed::TOO_SLOW, "TOO_SLOW")),
        }
    }
}
