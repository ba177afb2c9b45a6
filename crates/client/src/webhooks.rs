//! Webhooks, and what was sent to them.

use reqwest::Method;
use uuid::Uuid;
use wire::{
    CreateWebhook, CreatedWebhook, DeliveriesQuery, Delivery, Page, PageQuery, RotateWebhookSecret,
    UpdateWebhook, Webhook,
};

use crate::{Client, ClientError};

impl Client {
    /// One page of webhooks, newest first.
    pub async fn webhooks(&self, page: &PageQuery) -> Result<Page<Webhook>, ClientError> {
        self.find("/webhooks", page).await
    }

    /// One webhook.
    pub async fn webhook(&self, id: Uuid) -> Result<Webhook, ClientError> {
        self.get(&format!("/webhooks/{id}")).await
    }

    /// Makes a webhook; the answer holds its secret.
    pub async fn create_webhook(&self, request: &CreateWebhook) -> Result<CreatedWebhook, ClientError> {
        self.answer(self.api(Method::POST, "/webhooks").json(request)).await
    }

    /// Changes a webhook.
    pub async fn update_webhook(&self, id: Uuid, change: &UpdateWebhook) -> Result<Webhook, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/webhooks/{id}")).json(change)).await
    }

    /// Deletes a webhook.
    pub async fn delete_webhook(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/webhooks/{id}"))).await.map(drop)
    }

    /// Gives a webhook another secret, which the answer holds.
    pub async fn rotate_webhook_secret(
        &self,
        id: Uuid,
        request: &RotateWebhookSecret,
    ) -> Result<CreatedWebhook, ClientError> {
        self.answer(self.api(Method::POST, &format!("/webhooks/{id}/rotate-secret")).json(request)).await
    }

    /// Has something of type `webhook:test` sent.
    pub async fn test_webhook(&self, id: Uuid) -> Result<Delivery, ClientError> {
        self.answer(self.api(Method::POST, &format!("/webhooks/{id}/test"))).await
    }

    /// One page of what was sent to a webhook, newest first.
    pub async fn webhook_deliveries(
        &self,
        id: Uuid,
        query: &DeliveriesQuery,
    ) -> Result<Page<Delivery>, ClientError> {
        self.find(&format!("/webhooks/{id}/deliveries"), query).await
    }

    /// One delivery.
    pub async fn webhook_delivery(&self, id: Uuid, delivery: Uuid) -> Result<Delivery, ClientError> {
        self.get(&format!("/webhooks/{id}/deliveries/{delivery}")).await
    }

    /// Has a delivery sent again.
    pub async fn redeliver(&self, id: Uuid, delivery: Uuid) -> Result<Delivery, ClientError> {
        let path = format!("/webhooks/{id}/deliveries/{delivery}/redeliver");
        self.answer(self.api(Method::POST, &path)).await
    }
}
