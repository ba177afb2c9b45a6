//! Reading and checking the audit trail.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Response};
use uuid::Uuid;
use wire::{AuditProof, AuditQuery, AuditRow, AuditSeal, AuditVerification, Page, PageQuery};

use crate::{Client, ClientError};

/// An export takes as long as the trail is; only silence in between means that something is wrong.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

impl Client {
    /// One page of audit rows, newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Page<AuditRow>, ClientError> {
        self.find("/audit", query).await
    }

    /// One page of the seals.
    pub async fn audit_seals(&self, page: &PageQuery) -> Result<Page<AuditSeal>, ClientError> {
        self.find("/audit/seals", page).await
    }

    /// The proof that a row is covered by a seal.
    pub async fn audit_proof(&self, row: Uuid) -> Result<AuditProof, ClientError> {
        self.get(&format!("/audit/{row}/proof")).await
    }

    /// What the last check of the whole trail found.
    pub async fn audit_verification(&self) -> Result<AuditVerification, ClientError> {
        self.get("/audit/verification").await
    }

    /// Checks the whole trail now.
    pub async fn verify_audit(&self) -> Result<AuditVerification, ClientError> {
        self.answer(self.api(Method::POST, "/audit/verification")).await
    }

    /// The whole trail as NDJSON, to be taken piece by piece.
    pub async fn audit_export(&self) -> Result<Export, ClientError> {
        self.export("/audit/export").await
    }

    /// Something long, to be taken piece by piece.
    pub(crate) async fn export(&self, path: &str) -> Result<Export, ClientError> {
        let request = self.api(Method::GET, path).timeout(EXPORT_TIMEOUT);
        Ok(Export { client: self.clone(), response: self.send(request).await? })
    }
}

/// An export on its way. It may be larger than memory, so it comes in chunks; a chunk need not end with a line.
pub struct Export {
    client: Client,
    response: Response,
}

impl Export {
    /// The next chunk; `None` at the end. A connection that breaks off is an error, never an end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        self.response.chunk().await.map_err(|error| self.client.unreachable(error))
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("client", &self.client).finish_non_exhaustive()
    }
}
