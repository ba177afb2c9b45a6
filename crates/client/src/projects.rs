//! Projects and their workspaces.

use reqwest::Method;
use uuid::Uuid;
use wire::{
    CreateProject, CreateWorkspace, Page, PageQuery, Project, ProjectsQuery, UpdateProject, UpdateWorkspace,
    Workspace,
};

use crate::{Client, ClientError};

impl Client {
    /// One page of projects, newest first.
    pub async fn projects(&self, query: &ProjectsQuery) -> Result<Page<Project>, ClientError> {
        self.find("/projects", query).await
    }

    /// One project.
    pub async fn project(&self, id: Uuid) -> Result<Project, ClientError> {
        self.get(&format!("/projects/{id}")).await
    }

    /// Makes a project.
    pub async fn create_project(&self, request: &CreateProject) -> Result<Project, ClientError> {
        self.answer(self.api(Method::POST, "/projects").json(request)).await
    }

    /// Changes a project.
    pub async fn update_project(&self, id: Uuid, change: &UpdateProject) -> Result<Project, ClientError> {
        self.answer(self.api(Method::PATCH, &format!("/projects/{id}")).json(change)).await
    }

    /// Deletes a project and its workspaces.
    pub async fn delete_project(&self, id: Uuid) -> Result<(), ClientError> {
        self.send(self.api(Method::DELETE, &format!("/projects/{id}"))).await.map(drop)
    }

    /// One page of a project's workspaces, newest first.
    pub async fn workspaces(&self, project: Uuid, page: &PageQuery) -> Result<Page<Workspace>, ClientError> {
        self.find(&format!("/projects/{project}/workspaces"), page).await
    }

    /// One workspace of a project.
    pub async fn workspace(&self, project: Uuid, id: Uuid) -> Result<Workspace, ClientError> {
        self.get(&format!("/projects/{project}/workspaces/{id}")).await
    }

    /// Adds a workspace to a project.
    pub async fn create_workspace(
        &self,
        project: Uuid,
        request: &CreateWorkspace,
    ) -> Result<Workspace, ClientError> {
        self.answer(self.api(Method::POST, &format!("/projects/{project}/workspaces")).json(request)).await
    }

    /// Changes a workspace of a project.
    pub async fn update_workspace(
        &self,
        project: Uuid,
        id: Uuid,
        change: &UpdateWorkspace,
    ) -> Result<Workspace, ClientError> {
        let path = format!("/projects/{project}/workspaces/{id}");
        self.answer(self.api(Method::PATCH, &path).json(change)).await
    }

    /// Removes a workspace from a project.
    pub async fn delete_workspace(&self, project: Uuid, id: Uuid) -> Result<(), ClientError> {
        let path = format!("/projects/{project}/workspaces/{id}");
        self.send(self.api(Method::DELETE, &path)).await.map(drop)
    }
}
