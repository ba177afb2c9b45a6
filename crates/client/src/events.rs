//! Reading the event log.

use std::time::Duration;

use reqwest::Method;
use wire::{Events, EventsQuery};

use crate::transport::ANSWER_TIMEOUT;
use crate::{Client, ClientError};

impl Client {
    /// Events after a place in the log; with `wait_seconds` it waits for the first one.
    pub async fn events(&self, query: &EventsQuery) -> Result<Events, ClientError> {
        let wait = Duration::from_secs(u64::from(query.wait_seconds.unwrap_or(0)));
        let request = self.api(Method::GET, "/events").query(query).timeout(ANSWER_TIMEOUT + wait);
        self.answer(request).await
    }
}
