//! Accounts, and invitations of those that are at home elsewhere.

use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use uuid::Uuid;
use wire::{
    AccountsQuery, ChangeAccount, CreateAccount, Invitation, InvitationsQuery, Invited, Member, Page,
};

use crate::{Client, ClientError};

/// What came of creating an account.
#[derive(Debug)]
pub enum CreatedAccount {
    /// It exists.
    Made(Box<Member>),
    /// Somebody has the address already and is asked.
    Invited(Invited),
}

impl Client {
    /// One page of the organization's members, by name.
    pub async fn accounts(&self, query: &AccountsQuery) -> Result<Page<Member>, ClientError> {
        self.find("/accounts", query).await
    }

    /// One account.
    pub async fn account(&self, id: Uuid) -> Result<Member, ClientError> {
        self.get(&format!("/accounts/{id}")).await
    }

    /// Makes an account, or invites the one that has the address.
    pub async fn create_account(&self, request: &CreateAccount) -> Result<CreatedAccount, ClientError> {
        let response = self.send(self.api(Method::POST, "/accounts").json(request)).await?;
        match response.status() {
            StatusCode::ACCEPTED => self.body(response).await.map(CreatedAccount::Invited),
            _ => self.body(response).await.map(Box::new).map(CreatedAccount::Made),
        }
    }

    /// Changes an account.
    pub async fn change_account(&self, id: Uuid, change: &ChangeAccount) -> Result<Member, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/accounts/{id}")).json(change)).await
    }

    /// One page of invitations.
    pub async fn invitations(&self, query: &InvitationsQuery) -> Result<Page<Invitation>, ClientError> {
        self.find("/invitations", query).await
    }

    /// Joins the organization that asks.
    pub async fn accept_invitation(&self, id: Uuid) -> Result<Invitation, ClientError> {
        self.post(&format!("/invitations/{id}/accept")).await
    }

    /// Turns an invitation down.
    pub async fn decline_invitation(&self, id: Uuid) -> Result<Invitation, ClientError> {
        self.post(&format!("/invitations/{id}/decline")).await
    }

    /// Takes an invitation back.
    pub async fn withdraw_invitation(&self, id: Uuid) -> Result<Invitation, ClientError> {
        self.answer(self.api(Method::DELETE, &format!("/invitations/{id}"))).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.answer(self.api(Method::POST, path)).await
    }
}
