//! Organizations and their members.

use reqwest::Method;
use uuid::Uuid;
use wire::{
    AddMember, ChangeMember, ChangeOrganization, CreateOrganization, Member, Organization,
    OrganizationsQuery, Page, TransferOwnership,
};

use crate::{Client, ClientError};

impl Client {
    /// One page of the organizations the caller belongs to.
    pub async fn organizations(&self, query: &OrganizationsQuery) -> Result<Page<Organization>, ClientError> {
        self.find("/organizations", query).await
    }

    /// One organization.
    pub async fn organization(&self, id: Uuid) -> Result<Organization, ClientError> {
        self.get(&format!("/organizations/{id}")).await
    }

    /// Makes an organization that the caller owns.
    pub async fn create_organization(
        &self,
        request: &CreateOrganization,
    ) -> Result<Organization, ClientError> {
        self.answer(self.api(Method::POST, "/organizations").json(request)).await
    }

    /// Changes an organization.
    pub async fn change_organization(
        &self,
        id: Uuid,
        change: &ChangeOrganization,
    ) -> Result<Organization, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/organizations/{id}")).json(change)).await
    }

    /// Gives an organization another owner.
    pub async fn transfer_ownership(&self, id: Uuid, to: Uuid) -> Result<Organization, ClientError> {
        let path = format!("/organizations/{id}/transfer-ownership");
        self.answer(self.api(Method::POST, &path).json(&TransferOwnership { account_id: to })).await
    }

    /// Adds an account that exists.
    pub async fn add_member(&self, org: Uuid, request: &AddMember) -> Result<Member, ClientError> {
        self.answer(self.api(Method::POST, &format!("/organizations/{org}/members")).json(request)).await
    }

    /// Changes level, roles and manager of a member.
    pub async fn change_member(
        &self,
        org: Uuid,
        account: Uuid,
        change: &ChangeMember,
    ) -> Result<Member, ClientError> {
        let path = format!("/organizations/{org}/members/{account}");
        self.answer(self.api(Method::PATCH, &path).json(change)).await
    }

    /// Ends a membership.
    pub async fn remove_member(&self, org: Uuid, account: Uuid) -> Result<(), ClientError> {
        let path = format!("/organizations/{org}/members/{account}");
        self.send(self.api(Method::DELETE, &path)).await.map(drop)
    }
}
