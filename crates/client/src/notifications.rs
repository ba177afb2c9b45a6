//! What the caller was told.

use reqwest::Method;
use uuid::Uuid;
use wire::{Notification, NotificationPreferences, NotificationsQuery, Page, SetNotificationPreferences};

use crate::{Client, ClientError};

impl Client {
    /// One page of what the caller was told, the newest first.
    pub async fn notifications(&self, query: &NotificationsQuery) -> Result<Page<Notification>, ClientError> {
        self.find("/notifications", query).await
    }

    /// Says that the caller has read it.
    pub async fn read_notification(&self, id: Uuid) -> Result<Notification, ClientError> {
        self.answer(self.api(Method::POST, &format!("/notifications/{id}/read"))).await
    }

    /// What the caller does not want to be told.
    pub async fn notification_preferences(&self) -> Result<NotificationPreferences, ClientError> {
        self.get("/notifications/preferences").await
    }

    /// Mutes these kinds, and no others.
    pub async fn set_notification_preferences(
        &self,
        wanted: &SetNotificationPreferences,
    ) -> Result<NotificationPreferences, ClientError> {
        self.answer(self.api(Method::PUT, "/notifications/preferences").json(wanted)).await
    }
}
