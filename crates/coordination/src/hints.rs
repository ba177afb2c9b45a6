//! Hints between servers, through Redis pub/sub: one says that there is something to look for, the others look.
//!
//! Redis tells a hint once, to whoever listens at that moment. So a hint is never the news itself, and a connection
//! that comes back is a hint too: what was told meanwhile nobody heard.

use std::sync::Arc;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion, PushInfo, PushKind, RedisError,
    Value, cmd,
};
use tokio::sync::{Notify, watch};

use crate::redis_server::{ANSWER_WITHIN, CONNECT_WITHIN, Options};

/// How often a connection on which nothing is told shows that it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// Why hints are not told.
#[derive(Debug, thiserror::Error)]
pub enum HintError {
    /// Redis does not do what it is asked.
    #[error("{0}")]
    Redis(#[from] RedisError),
    /// It was connected, and is not any more.
    #[error("the connection ended")]
    Ended,
}

/// Where hints are told and heard.
pub struct Hints {
    options: Options,
    channel: String,
    /// What this server says, so that it does not listen to itself.
    name: String,
    heard: watch::Sender<u64>,
    told: watch::Sender<u64>,
}

impl Hints {
    /// Nothing is connected yet. No two servers have the same name.
    #[must_use]
    pub fn new(options: Options, name: String) -> Self {
        let channel = format!("{}events:channel", options.key_prefix);
        Self { options, channel, name, heard: watch::Sender::new(0), told: watch::Sender::new(0) }
    }

    /// Tells the others, if it is connected, and does not wait for that.
    pub fn tell(&self) {
        self.told.send_modify(|count| *count += 1);
    }

    /// Changes with every hint of another server, and when hints may have been missed.
    #[must_use]
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.heard.subscribe()
    }

    /// Connects and listens.
    ///
    /// # Errors
    /// Nobody answers as a Redis does.
    pub async fn connect(&self) -> Result<Session<'_>, HintError> {
        let gone = Arc::new(Notify::new());
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(ANSWER_WITHIN))
            .set_push_sender(self.ear(Arc::clone(&gone)));
        let told = self.told.subscribe();
        let mut connection = self.client()?.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe(&self.channel).await?;
        self.heard.send_modify(|count| *count += 1);
        Ok(Session { hints: self, connection, gone, told })
    }

    fn client(&self) -> Result<Client, RedisError> {
        let info = self.options.url.as_str().into_connection_info()?;
        // Messages of a channel come on the connection that also tells.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        Client::open(info.set_redis_settings(settings))
    }

    /// What is done with whatever Redis says unasked.
    fn ear(
        &self,
        gone: Arc<Notify>,
    ) -> impl Fn(PushInfo) -> Result<(), std::convert::Infallible> + Send + Sync + use<> {
        let (heard, own) = (self.heard.clone(), Value::BulkString(self.name.clone().into_bytes()));
        move |said: PushInfo| {
            match said.kind {
                PushKind::Message if said.data.last() != Some(&own) => heard.send_modify(|count| *count += 1),
                PushKind::Disconnection => gone.notify_one(),
                _ => {}
            }
            Ok(())
        }
    }
}

/// A connection on which hints are told and heard.
pub struct Session<'h> {
    hints: &'h Hints,
    connection: MultiplexedConnection,
    gone: Arc<Notify>,
    told: watch::Receiver<u64>,
}

impl Session<'_> {
    /// Tells hints until the connection ends; why it did.
    pub async fn run(mut self) -> HintError {
        loop {
            let done = tokio::select! {
                // Whoever tells outlives the session.
                _ = self.told.changed() => self.publish().await,
                () = self.gone.notified() => Err(HintError::Ended),
                () = tokio::time::sleep(ALIVE_EVERY) => self.ping().await,
            };
            if let Err(error) = done {
                return error;
            }
        }
    }

    async fn publish(&mut self) -> Result<(), HintError> {
        let mut publish = cmd("PUBLISH");
        publish.arg(&self.hints.channel).arg(&self.hints.name);
        Ok(publish.exec_async(&mut self.connection).await?)
    }

    async fn ping(&mut self) -> Result<(), HintError> {
        Ok(cmd("PING").exec_async(&mut self.connection).await?)
    }
}
