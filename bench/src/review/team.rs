//! Who takes part in a review: authors, two reviewers, and a policy that asks for both.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::http::{Connection, Request};

/// A header line with a key.
pub(crate) type Bearer = String;

/// Everybody, by what they show.
#[derive(Clone)]
pub(crate) struct Team {
    /// One for each connection: nobody may have more than a thousand tasks on their way.
    pub(crate) authors: Vec<Bearer>,
    pub(crate) reviewers: [Bearer; 2],
    /// An agent for each connection, with its id.
    pub(crate) agents: Vec<(Bearer, String)>,
}

/// Asks, and reads the answer.
pub(crate) async fn call(connection: &mut Connection, request: &Request) -> Result<Value> {
    let body = connection.ask(request).await?;
    serde_json::from_slice(body).context("an answer that is not JSON")
}

/// A text member of an answer.
pub(crate) fn text(value: &Value, name: &str) -> Result<String> {
    Ok(value[name].as_str().with_context(|| format!("no {name} in {value}"))?.to_owned())
}

/// The header line for a key.
pub(crate) fn bearer(key: &str) -> Bearer {
    format!("authorization: Bearer {key}\r\n")
}

impl Team {
    /// Lets them in, and says what is asked of tasks.
    pub(crate) async fn form(hub: SocketAddr, admin_key: &str, authors: usize) -> Result<Self> {
        let mut connection = Connection::open(hub).await?;
        let admin = bearer(admin_key);
        let two = json!({"name": "two", "required_roles": ["reviewer"], "min_approvers": 2});
        call(&mut connection, &Request::post_as("/api/v1/policies", &admin, &two.to_string())).await?;
        let mut joining = Joining { connection, admin };
        let reviewers = [joining.member("rob", "reviewer").await?, joining.member("eve", "reviewer").await?];
        let (mut team, mut agents) = (Vec::new(), Vec::new());
        for number in 0..authors {
            let author = joining.member(&format!("author{number}"), "author").await?;
            agents.push(joining.agent(&author, number).await?);
            team.push(author);
        }
        Ok(Self { authors: team, reviewers, agents })
    }
}

struct Joining {
    connection: Connection,
    admin: Bearer,
}

impl Joining {
    /// A member with a key that nobody else made: what an admin mints counts as that admin.
    async fn member(&mut self, name: &str, role: &str) -> Result<Bearer> {
        let admin = self.admin.clone();
        let body = json!({"email": format!("{name}@example.org"), "display_name": name, "roles": [role]});
        let account = self.post("/api/v1/accounts", &admin, &body).await?;
        let first = json!({"name": "first", "account_id": account["id"]});
        let first = self.post("/api/v1/api-keys", &admin, &first).await?;
        let own =
            self.post("/api/v1/api-keys", &bearer(&text(&first, "key")?), &json!({"name": "own"})).await?;
        Ok(bearer(&text(&own, "key")?))
    }

    async fn agent(&mut self, owner: &Bearer, number: usize) -> Result<(Bearer, String)> {
        let agent = self.post("/api/v1/agents", owner, &json!({"name": format!("agent{number}")})).await?;
        let id = text(&agent, "id")?;
        let key = self.post("/api/v1/api-keys", owner, &json!({"name": "its", "account_id": id})).await?;
        Ok((bearer(&text(&key, "key")?), id))
    }

    async fn post(&mut self, path: &str, who: &Bearer, body: &Value) -> Result<Value> {
        call(&mut self.connection, &Request::post_as(path, who, &body.to_string())).await
    }
}
