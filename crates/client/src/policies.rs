//! Policies, and what an organization says about its resources.

use reqwest::Method;
use uuid::Uuid;
use wire::{Backtest, CatalogueRule, Page, PoliciesQuery, Policy, PolicyForm, PolicyQuery, RunBacktest};

use crate::{Client, ClientError};

impl Client {
    /// One page of policies, by name.
    pub async fn policies(&self, query: &PoliciesQuery) -> Result<Page<Policy>, ClientError> {
        self.find("/policies", query).await
    }

    /// One policy, as it is or as it was in a version.
    pub async fn policy(&self, id: Uuid, query: PolicyQuery) -> Result<Policy, ClientError> {
        self.find(&format!("/policies/{id}"), &query).await
    }

    /// Makes a policy.
    pub async fn create_policy(&self, form: &PolicyForm) -> Result<Policy, ClientError> {
        self.answer(self.api(Method::POST, "/policies").json(form)).await
    }

    /// Changes a policy.
    pub async fn update_policy(&self, id: Uuid, form: &PolicyForm) -> Result<Policy, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/policies/{id}")).json(form)).await
    }

    /// Takes a policy out of force.
    pub async fn deactivate_policy(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/policies/{id}"))).await.map(drop)
    }

    /// What a draft of a policy would have changed; nothing changes.
    pub async fn backtest_policy(&self, id: Uuid, wanted: &RunBacktest) -> Result<Backtest, ClientError> {
        self.answer(self.api(Method::POST, &format!("/policies/{id}/backtest")).json(wanted)).await
    }

    /// The rules by which resources are rated, in order.
    pub async fn resource_catalogue(&self) -> Result<Vec<CatalogueRule>, ClientError> {
        self.get("/resource-catalogue").await
    }

    /// Replaces the rules, all of them.
    pub async fn replace_resource_catalogue(
        &self,
        rules: &[CatalogueRule],
    ) -> Result<Vec<CatalogueRule>, ClientError> {
        self.answer(self.api(Method::PUT, "/resource-catalogue").json(rules)).await
    }
}
