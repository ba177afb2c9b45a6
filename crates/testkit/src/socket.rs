//! The other side of a WebSocket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// Far beyond what anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open socket.
pub struct Socket(WebSocketStream<TcpStream>);

/// What a socket said.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// An event, or whatever else travels as JSON.
    Json(Value),
    /// It was closed: the code and the reason.
    Closed(u16, String),
    /// It broke without a word.
    Broken,
}

/// How a socket was not opened.
#[derive(Debug)]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The problem.
    pub problem: Value,
}

impl Socket {
    /// Opens one on a hub. `headers` are what it comes with.
    pub async fn open(hub_url: &str, path: &str, headers: &[(&str, &str)]) -> Result<Self, Box<Refused>> {
        let address = hub_url.strip_prefix("http://").expect("a plain address");
        let stream = TcpStream::connect(address).await.expect("a connection");
        let mut request: Request = format!("ws://{address}{path}").into_client_request().expect("a request");
        for (name, value) in headers {
            let name = name.parse::<axum::http::HeaderName>().expect("a name");
            request.headers_mut().insert(name, value.parse().expect("a value"));
        }
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(answer)) => {
                let problem = answer.body().as_deref().unwrap_or_default();
                Err(Box::new(Refused {
                    status: answer.status().as_u16(),
                    problem: serde_json::from_slice(problem).unwrap_or(Value::Null),
                }))
            }
            Err(other) => panic!("no answer: {other}"),
        }
    }

    /// What it says next, besides the signs of life that need no answer of ours.
    pub async fn next(&mut self) -> Said {
        tokio::time::timeout(PATIENCE, self.heard()).await.expect("the socket says something")
    }

    async fn heard(&mut self) -> Said {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Said::Json(serde_json::from_str(&text).expect("JSON"));
                }
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Said::Closed(frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(other)) => panic!("{other:?}"),
                Some(Err(_)) | None => return Said::Broken,
            }
        }
    }

    /// The next that is an event.
    pub async fn event(&mut self) -> Value {
        loop {
            match self.next().await {
                Said::Json(said) if said["type"] == "heartbeat" => {}
                Said::Json(said) => return said,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Whether it has nothing to say for this long, besides heartbeats.
    pub async fn is_silent(&mut self, wait: Duration) -> bool {
        tokio::time::timeout(wait, self.event()).await.is_err()
    }

    /// Says something.
    pub async fn say(&mut self, message: Message) {
        self.0.send(message).await.expect("the socket is open");
    }

    /// Goes away as a program does that ends.
    pub async fn close(mut self) {
        // The hub may have gone first.
        drop(self.0.close(None).await);
    }
}
