//! Standalone grants: made, used, looked at.

use reqwest::Method;
use uuid::Uuid;
use wire::{
    AcknowledgeGrant, AcknowledgedGrant, CleanedGrants, ConsumeGrant, CreateGrant, CreatedGrant, GrantHealth,
    GrantStats, GrantStatsQuery, PendingGrants, PendingGrantsQuery, StandaloneGrant,
};

use crate::{Client, ClientError};

/// Where S002 has them, which is not below the base of the API.
const APPROVALS: &str = "/api/ir/approvals";

impl Client {
    /// Makes a grant; the answer alone shows its token.
    pub async fn create_grant(&self, request: &CreateGrant) -> Result<CreatedGrant, ClientError> {
        self.answer(self.request(Method::POST, APPROVALS).json(request)).await
    }

    /// Uses a token, once.
    pub async fn consume_grant(&self, request: &ConsumeGrant) -> Result<StandaloneGrant, ClientError> {
        self.answer(self.request(Method::POST, &format!("{APPROVALS}/consume")).json(request)).await
    }

    /// Grants that can be used, newest first.
    pub async fn pending_grants(&self, query: &PendingGrantsQuery) -> Result<PendingGrants, ClientError> {
        self.answer(self.request(Method::GET, &format!("{APPROVALS}/pending")).query(query)).await
    }

    /// One grant.
    pub async fn grant(&self, id: Uuid) -> Result<StandaloneGrant, ClientError> {
        self.answer(self.request(Method::GET, &format!("{APPROVALS}/{id}"))).await
    }

    /// How many grants there are of each kind.
    pub async fn grant_stats(&self, query: &GrantStatsQuery) -> Result<GrantStats, ClientError> {
        self.answer(self.request(Method::GET, &format!("{APPROVALS}/stats")).query(query)).await
    }

    /// Whether grants can be made and used.
    pub async fn grant_health(&self) -> Result<GrantHealth, ClientError> {
        self.answer(self.request(Method::GET, &format!("{APPROVALS}/health"))).await
    }

    /// Says that somebody has seen a grant.
    pub async fn acknowledge_grant(
        &self,
        id: Uuid,
        request: &AcknowledgeGrant,
    ) -> Result<AcknowledgedGrant, ClientError> {
        let path = format!("{APPROVALS}/{id}/acknowledge");
        self.answer(self.request(Method::POST, &path).json(request)).await
    }

    /// Clears away what has expired, now.
    pub async fn clean_grants(&self) -> Result<CleanedGrants, ClientError> {
        self.answer(self.request(Method::POST, &format!("{APPROVALS}/cleanup"))).await
    }
}
