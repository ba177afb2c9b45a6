//! Agents.

use reqwest::Method;
use uuid::Uuid;
use wire::{Agent, AgentState, AgentsQuery, CreateAgent, Heartbeat, Page, UpdateAgent};

use crate::{Client, ClientError};

impl Client {
    /// One page of agents, newest first.
    pub async fn agents(&self, query: &AgentsQuery) -> Result<Page<Agent>, ClientError> {
        self.find("/agents", query).await
    }

    /// One agent, also a retired one.
    pub async fn agent(&self, id: Uuid) -> Result<Agent, ClientError> {
        self.get(&format!("/agents/{id}")).await
    }

    /// Makes an agent that the caller answers for.
    pub async fn create_agent(&self, request: &CreateAgent) -> Result<Agent, ClientError> {
        self.answer(self.api(Method::POST, "/agents").json(request)).await
    }

    /// Changes an agent.
    pub async fn update_agent(&self, id: Uuid, change: &UpdateAgent) -> Result<Agent, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/agents/{id}")).json(change)).await
    }

    /// Retires an agent; its keys end at once.
    pub async fn deactivate_agent(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/agents/{id}"))).await.map(drop)
    }

    /// Says that an agent is alive.
    pub async fn agent_heartbeat(&self, id: Uuid, heartbeat: &Heartbeat) -> Result<AgentState, ClientError> {
        self.answer(self.api(Method::POST, &format!("/agents/{id}/heartbeat")).json(heartbeat)).await
    }

    /// Has an agent take no new work.
    pub async fn drain_agent(&self, id: Uuid) -> Result<Agent, ClientError> {
        self.answer(self.api(Method::POST, &format!("/agents/{id}/drain"))).await
    }

    /// Has an agent take work again.
    pub async fn resume_agent(&self, id: Uuid) -> Result<Agent, ClientError> {
        self.answer(self.api(Method::POST, &format!("/agents/{id}/resume"))).await
    }
}
