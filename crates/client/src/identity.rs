//! Who the caller is, and API keys.

use reqwest::Method;
use uuid::Uuid;
use wire::{ApiKey, CreateApiKey, CreatedApiKey, Me, Page, PageQuery};

use crate::{Client, ClientError};

impl Client {
    /// The caller, as the hub sees them.
    pub async fn me(&self) -> Result<Me, ClientError> {
        self.get("/me").await
    }

    /// One page of the keys the caller may see.
    pub async fn api_keys(&self, page: &PageQuery) -> Result<Page<ApiKey>, ClientError> {
        self.find("/api-keys", page).await
    }

    /// One key, without its secret.
    pub async fn api_key(&self, id: Uuid) -> Result<ApiKey, ClientError> {
        self.get(&format!("/api-keys/{id}")).await
    }

    /// Mints a key. The answer is the only one that shows it.
    pub async fn create_api_key(&self, request: &CreateApiKey) -> Result<CreatedApiKey, ClientError> {
        self.answer(self.api(Method::POST, "/api-keys").json(request)).await
    }

    /// Replaces a key by a new one.
    pub async fn rotate_api_key(&self, id: Uuid) -> Result<CreatedApiKey, ClientError> {
        self.answer(self.api(Method::POST, &format!("/api-keys/{id}/rotate"))).await
    }

    /// Revokes a key.
    pub async fn revoke_api_key(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/api-keys/{id}"))).await.map(drop)
    }
}
