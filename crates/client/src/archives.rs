//! Reading what finished tasks left behind.

use uuid::Uuid;
use wire::{Archive, Page, PageQuery};

use crate::{Client, ClientError, Export};

impl Client {
    /// One page of archives, newest first.
    pub async fn archives(&self, page: &PageQuery) -> Result<Page<Archive>, ClientError> {
        self.find("/archives", page).await
    }

    /// One archive.
    pub async fn archive(&self, id: Uuid) -> Result<Archive, ClientError> {
        self.get(&format!("/archives/{id}")).await
    }

    /// The tasks in an archive as NDJSON, to be taken piece by piece.
    pub async fn archive_content(&self, id: Uuid) -> Result<Export, ClientError> {
        self.export(&format!("/archives/{id}/content")).await
    }

    /// The line of an archived task.
    pub async fn archived_task(&self, task: Uuid) -> Result<Export, ClientError> {
        self.export(&format!("/tasks/{task}/archive")).await
    }
}
