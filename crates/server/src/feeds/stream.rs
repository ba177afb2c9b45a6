//! Events as a stream (`text/event-stream`), for browsers' `EventSource` and for `curl`.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Response};
use bytes::Bytes;
use futures_util::stream;
use hub::events::follow::{End, Follower, Told};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::{Kind, Open, farewell, text};
use crate::connection::Connection;
use crate::{App, FeedTimes};

/// How soon a browser comes back when the stream breaks.
const RETRY_MILLIS: u32 = 2000;

/// Answers with a stream, which goes on until it ends.
pub(crate) fn open(app: &App, connection: Option<Connection>, follower: Follower) -> Response<Body> {
    // One piece on its way at a time: whoever does not read it holds no more than that.
    let (sender, receiver) = mpsc::channel(1);
    let feed = Feed { sender, follower, connection, times: app.options.feeds };
    app.hub.lifecycle.spawn_connection(feed.run());
    let pieces = stream::unfold(receiver, async |mut receiver| {
        let piece: Option<Bytes> = receiver.recv().await;
        piece.map(|piece| (Ok::<_, std::convert::Infallible>(piece), receiver))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // nginx gathers answers otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

struct Feed {
    sender: mpsc::Sender<Bytes>,
    follower: Follower,
    connection: Option<Connection>,
    times: FeedTimes,
}

/// Why a stream ends.
enum Why {
    /// Nobody reads it any more.
    Gone,
    /// It was not read in time.
    TooSlow,
    /// The hub ends it.
    Ended(End),
}

impl From<End> for Why {
    fn from(end: End) -> Self {
        Self::Ended(end)
    }
}

impl Feed {
    async fn run(mut self) {
        let _open = Open::count(Kind::Stream);
        let Err(why) = self.feed().await;
        let (code, is_stuck) = match why {
            Why::Gone => return,
            Why::TooSlow => ("TOO_SLOW", true),
            Why::Ended(end) => {
                let (_, code) = farewell(&end);
                let last = format!("event: end\ndata: {{\"code\":\"{code}\"}}\n\n");
                (code, self.send(last).await.is_err())
            }
        };
        if code != "STOPPING" {
            Kind::Stream.note_cut_off(code);
        }
        if let Some(connection) = self.connection.filter(|_| is_stuck) {
            connection.cut();
        }
    }

    async fn feed(&mut self) -> Result<std::convert::Infallible, Why> {
        let place = self.follower.last_seq();
        self.send(format!("retry: {RETRY_MILLIS}\nid: {place}\n\n")).await?;
        let mut alive =
            tokio::time::interval_at(Instant::now() + self.times.alive_every, self.times.alive_every);
        let gone = self.sender.clone();
        loop {
            tokio::select! {
                batch = self.follower.next() => self.send(pieces(&batch?)).await?,
                () = gone.closed() => return Err(Why::Gone),
                _ = alive.tick() => self.show_life().await?,
            }
        }
    }

    /// A number without data moves `Last-Event-ID`, and no event comes of it.
    async fn show_life(&mut self) -> Result<(), Why> {
        self.follower.check().await.map_err(End::Refused)?;
        let place = self.follower.last_seq();
        self.send(format!(": alive\nid: {place}\n\n")).await
    }

    async fn send(&mut self, piece: String) -> Result<(), Why> {
        match timeout(self.times.taken_within, self.sender.send(Bytes::from(piece))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Why::Gone),
            Err(_) => Err(Why::TooSlow),
        }
    }
}

/// Events as the stream has them. What is not in the log has no number, and nothing continues from it.
fn pieces(batch: &[Arc<Told>]) -> String {
    let mut pieces = String::new();
    for told in batch {
        if let Some(seq) = told.seq {
            // Writing to a string does not fail.
            writeln!(pieces, "id: {seq}").ok();
        }
        writeln!(pieces, "data: {}\n", told.text(text)).ok();
    }
    pieces
}
