//! Logging in and out, passwords, and logins that a person grants.

use std::fmt;

use reqwest::header::SET_COOKIE;
use reqwest::{Method, Response};
use uuid::Uuid;
use wire::{
    DeviceLogin, DeviceToken, ExchangeDeviceCode, LogIn, LoggedIn, LoginSession, Organization, Page,
    PageQuery, SetPassword, SwitchOrganization,
};

use crate::{Client, ClientError};

/// The names of the login's cookie: with TLS, and without it on the hub's own machine.
const COOKIES: [&str; 2] = ["__Host-cs", "cs"];

/// What a login is proven with. It has no `Display`, and `Debug` keeps it back.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The token itself, for the one place that keeps it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Client {
    /// Logs in with a password; the token comes from the cookie that a browser would keep.
    pub async fn log_in(&self, request: &LogIn) -> Result<(LoggedIn, Token), ClientError> {
        let response = self.send(self.api(Method::POST, "/auth/login").json(request)).await?;
        let token = token(&response).ok_or_else(|| {
            ClientError::Protocol(format!("{} logged in without a cookie; is it a hub?", self.base_url()))
        })?;
        Ok((self.read(response).await?, token))
    }

    /// Ends the login this client acts with.
    pub async fn log_out(&self) -> Result<(), ClientError> {
        self.send(self.api(Method::POST, "/auth/logout")).await.map(drop)
    }

    /// One page of the caller's own logins.
    pub async fn login_sessions(&self, page: &PageQuery) -> Result<Page<LoginSession>, ClientError> {
        self.find("/auth/sessions", page).await
    }

    /// One of the caller's own logins.
    pub async fn login_session(&self, id: Uuid) -> Result<LoginSession, ClientError> {
        self.get(&format!("/auth/sessions/{id}")).await
    }

    /// Ends one of the caller's own logins.
    pub async fn end_login_session(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/auth/sessions/{id}"))).await.map(drop)
    }

    /// Moves the login to another organization of the caller's.
    pub async fn switch_organization(&self, organization_id: Uuid) -> Result<Organization, ClientError> {
        let request = SwitchOrganization { organization_id };
        self.answer(self.api(Method::POST, "/auth/switch").json(&request)).await
    }

    /// Sets the caller's own password.
    pub async fn set_password(&self, request: &SetPassword) -> Result<(), ClientError> {
        self.send(self.api(Method::POST, "/auth/password").json(request)).await.map(drop)
    }

    /// Asks for a login that a person grants in a browser.
    pub async fn ask_for_login(&self) -> Result<DeviceLogin, ClientError> {
        self.answer(self.api(Method::POST, "/auth/device")).await
    }

    /// Comes for the login. Until somebody has answered, that is a problem with the code `AUTHORIZATION_PENDING`.
    pub async fn exchange_device_code(&self, device_code: &str) -> Result<DeviceToken, ClientError> {
        let request = ExchangeDeviceCode { device_code: device_code.to_owned() };
        self.answer(self.api(Method::POST, "/auth/device/token").json(&request)).await
    }
}

fn token(response: &Response) -> Option<Token> {
    let cookies = response.headers().get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut tokens = cookies.filter_map(|cookie| {
        let (name, rest) = cookie.split_once('=')?;
        let value = rest.split(';').next()?;
        (COOKIES.contains(&name) && !value.is_empty()).then(|| Token(value.to_owned()))
    });
    tokens.next()
}
