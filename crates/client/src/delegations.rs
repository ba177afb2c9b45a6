//! Delegations: who decides for whom.

use reqwest::Method;
use uuid::Uuid;
use wire::{Approval, Delegation, DelegationForm, DelegationsQuery, Page, PassOn};

use crate::{Client, ClientError};

impl Client {
    /// One page of delegations, the newest first.
    pub async fn delegations(&self, query: &DelegationsQuery) -> Result<Page<Delegation>, ClientError> {
        self.find("/delegations", query).await
    }

    /// One delegation.
    pub async fn delegation(&self, id: Uuid) -> Result<Delegation, ClientError> {
        self.get(&format!("/delegations/{id}")).await
    }

    /// Has somebody else decide.
    pub async fn create_delegation(&self, form: &DelegationForm) -> Result<Delegation, ClientError> {
        self.answer(self.api(Method::POST, "/delegations").json(form)).await
    }

    /// Changes a delegation.
    pub async fn update_delegation(
        &self,
        id: Uuid,
        form: &DelegationForm,
    ) -> Result<Delegation, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/delegations/{id}")).json(form)).await
    }

    /// Ends a delegation.
    pub async fn end_delegation(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/delegations/{id}"))).await.map(drop)
    }

    /// Passes a request on.
    pub async fn delegate_approval(&self, id: Uuid, to: &PassOn) -> Result<Approval, ClientError> {
        self.answer(self.api(Method::POST, &format!("/approvals/{id}/delegate")).json(to)).await
    }
}
