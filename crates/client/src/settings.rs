//! The settings of the caller's organization.

use reqwest::Method;
use wire::Settings;

use crate::{Client, ClientError};

impl Client {
    /// All settings with their present values.
    pub async fn settings(&self) -> Result<Settings, ClientError> {
        self.get("/settings").await
    }

    /// Changes those that are named and answers with all.
    pub async fn patch_settings(&self, changes: &Settings) -> Result<Settings, ClientError> {
        self.answer(self.api(Method::PATCH, "/settings").json(changes)).await
    }
}
