//! `countersign project`: where tasks live, and where the work on them is done.

use clap::{Args, Subcommand};
use client::Client;
use wire::{
    CreateProject, CreateWorkspace, PageQuery, Project, ProjectsQuery, UpdateProject, UpdateWorkspace,
    Workspace,
};

use super::answer::{SHOWN_DEFAULT, as_id, done, only, pages, show_all, show_one};
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign project create payments --name 'Payments'
  countersign project rename payments --slug billing
  countersign project workspace add payments laptop /home/ada/payments
  countersign project list --json | jq -r .items[].slug";

const LIST_EXAMPLES: &str = "Example: countersign project list";
const CREATE_EXAMPLES: &str = "Example: countersign project create payments --name 'Payments'";
const SHOW_EXAMPLES: &str = "Example: countersign project show payments --json";
const RENAME_EXAMPLES: &str = "\
Examples:
  countersign project rename payments --name 'Billing'
  countersign project rename payments --slug billing";
const DELETE_EXAMPLES: &str = "Example: countersign project delete payments";
const WORKSPACE_EXAMPLES: &str = "\
Examples:
  countersign project workspace list payments
  countersign project workspace add payments laptop /home/ada/payments
  countersign project workspace remove payments laptop";
const WORKSPACE_LIST_EXAMPLES: &str = "Example: countersign project workspace list payments";
const WORKSPACE_ADD_EXAMPLES: &str =
    "Example: countersign project workspace add payments laptop /home/ada/payments";
const WORKSPACE_MOVE_EXAMPLES: &str = "\
Examples:
  countersign project workspace update payments laptop --path /srv/payments
  countersign project workspace update payments laptop --name desk";
const WORKSPACE_REMOVE_EXAMPLES: &str = "Example: countersign project workspace remove payments laptop";

#[derive(Args)]
pub(crate) struct Projects {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show projects, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Make a project
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// Show one project
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Change a project's name or slug
    #[command(after_help = RENAME_EXAMPLES)]
    Rename(Rename),
    /// Delete a project that no task needs, and its workspaces
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(One),
    /// The places a project's work is done in
    #[command(after_help = WORKSPACE_EXAMPLES)]
    Workspace(Workspaces),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    client: ClientFlags,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = SHOWN_DEFAULT)]
    limit: usize,
}

#[derive(Args)]
struct Create {
    #[command(flatten)]
    client: ClientFlags,
    /// Its short name: a-z, 0-9 and -
    slug: String,
    /// Its name for people; the slug without it
    #[arg(long)]
    name: Option<String>,
}

#[derive(Args)]
struct One {
    #[command(flatten)]
    client: ClientFlags,
    /// Its slug or id
    project: String,
}

#[derive(Args)]
struct Rename {
    #[command(flatten)]
    client: ClientFlags,
    /// Its slug or id
    project: String,
    /// Another name for people
    #[arg(long)]
    name: Option<String>,
    /// Another short name
    #[arg(long)]
    slug: Option<String>,
}

#[derive(Args)]
struct Workspaces {
    #[command(subcommand)]
    action: WorkspaceAction,
}

#[derive(Subcommand)]
enum WorkspaceAction {
    /// Show a project's workspaces, newest first
    #[command(after_help = WORKSPACE_LIST_EXAMPLES)]
    List(One),
    /// Add a workspace
    #[command(after_help = WORKSPACE_ADD_EXAMPLES)]
    Add(Add),
    /// Change a workspace's name or path
    #[command(after_help = WORKSPACE_MOVE_EXAMPLES)]
    Update(Update),
    /// Remove a workspace; nothing on any disk is touched
    #[command(after_help = WORKSPACE_REMOVE_EXAMPLES)]
    Remove(Remove),
}

#[derive(Args)]
struct Add {
    #[command(flatten)]
    client: ClientFlags,
    /// The project's slug or id
    project: String,
    /// What to call it
    name: String,
    /// Where it is
    path: String,
}

#[derive(Args)]
struct Update {
    #[command(flatten)]
    client: ClientFlags,
    /// The project's slug or id
    project: String,
    /// Its name or id
    workspace: String,
    /// What to call it from now on
    #[arg(long)]
    name: Option<String>,
    /// Where it is now
    #[arg(long)]
    path: Option<String>,
}

#[derive(Args)]
struct Remove {
    #[command(flatten)]
    client: ClientFlags,
    /// The project's slug or id
    project: String,
    /// Its name or id
    workspace: String,
}

pub(crate) fn run(command: Projects) -> anyhow::Result<Exit> {
    block_on(async {
        match command.action {
            Action::List(list) => run_list(&list).await,
            Action::Create(create) => run_create(create).await,
            Action::Show(one) => {
                let project = find(&one.client.client()?, &one.project).await?;
                show_one(&project, one.client.json, lines)
            }
            Action::Rename(rename) => run_rename(rename).await,
            Action::Delete(one) => {
                let client = one.client.client()?;
                let project = find(&client, &one.project).await?;
                client.delete_project(project.id).await?;
                done(one.client.json, &format!("deleted project {}", project.slug))
            }
            Action::Workspace(workspaces) => run_workspaces(workspaces.action).await,
        }
    })
}

async fn run_list(list: &List) -> anyhow::Result<Exit> {
    let client = list.client.client()?;
    let page = async |cursor| client.projects(&ProjectsQuery { cursor, ..ProjectsQuery::default() }).await;
    let projects = pages(list.limit, page).await?;
    show_all(&projects, list.client.json, |projects| {
        let mut table = Table::new(["SLUG", "NAME", "ID", "CREATED"]);
        for project in projects {
            table.row([&project.slug, &project.name, &project.id.to_string(), &project.created_at]);
        }
        table
    })
}

async fn run_create(create: Create) -> anyhow::Result<Exit> {
    let client = create.client.client()?;
    let name = create.name.unwrap_or_else(|| create.slug.clone());
    let project = client.create_project(&CreateProject { name, slug: create.slug }).await?;
    show_one(&project, create.client.json, lines)
}

async fn run_rename(rename: Rename) -> anyhow::Result<Exit> {
    if rename.name.is_none() && rename.slug.is_none() {
        return Err(Usage("say what to change: --name or --slug".into()).into());
    }
    let client = rename.client.client()?;
    let project = find(&client, &rename.project).await?;
    let change = UpdateProject { name: rename.name, slug: rename.slug };
    show_one(&client.update_project(project.id, &change).await?, rename.client.json, lines)
}

async fn run_workspaces(action: WorkspaceAction) -> anyhow::Result<Exit> {
    match action {
        WorkspaceAction::List(one) => {
            let client = one.client.client()?;
            let project = find(&client, &one.project).await?;
            let page = async |cursor| client.workspaces(project.id, &PageQuery { cursor, limit: None }).await;
            let workspaces = pages(usize::MAX, page).await?;
            show_all(&workspaces, one.client.json, |workspaces| {
                let mut table = Table::new(["NAME", "PATH", "ID"]);
                for workspace in workspaces {
                    table.row([&workspace.name, &workspace.path, &workspace.id.to_string()]);
                }
                table
            })
        }
        WorkspaceAction::Add(add) => {
            let client = add.client.client()?;
            let project = find(&client, &add.project).await?;
            let wanted = CreateWorkspace { name: add.name, path: add.path };
            let workspace = client.create_workspace(project.id, &wanted).await?;
            show_one(&workspace, add.client.json, workspace_lines)
        }
        WorkspaceAction::Update(update) => {
            let client = update.client.client()?;
            let workspace = find_workspace(&client, &update.project, &update.workspace).await?;
            let change = UpdateWorkspace { name: update.name, path: update.path };
            let changed = client.update_workspace(workspace.project_id, workspace.id, &change).await?;
            show_one(&changed, update.client.json, workspace_lines)
        }
        WorkspaceAction::Remove(remove) => {
            let client = remove.client.client()?;
            let workspace = find_workspace(&client, &remove.project, &remove.workspace).await?;
            client.delete_workspace(workspace.project_id, workspace.id).await?;
            done(remove.client.json, &format!("removed workspace {}", workspace.name))
        }
    }
}

/// The project of this slug or id.
pub(crate) async fn find(client: &Client, named: &str) -> anyhow::Result<Project> {
    if let Some(id) = as_id(named) {
        return Ok(client.project(id).await?);
    }
    let slug = Some(named.to_owned());
    let page = async |cursor| {
        client.projects(&ProjectsQuery { slug: slug.clone(), cursor, ..ProjectsQuery::default() }).await
    };
    only("project", named, |project: &Project| project.slug == named, page).await
}

async fn find_workspace(client: &Client, project: &str, named: &str) -> anyhow::Result<Workspace> {
    let project = find(client, project).await?;
    if let Some(id) = as_id(named) {
        return Ok(client.workspace(project.id, id).await?);
    }
    let page = async |cursor| client.workspaces(project.id, &PageQuery { cursor, limit: None }).await;
    only("workspace", named, |workspace: &Workspace| workspace.name == named, page).await
}

fn lines(project: &Project) -> Vec<(&'static str, String)> {
    vec![
        ("project", project.name.clone()),
        ("slug", project.slug.clone()),
        ("id", project.id.to_string()),
        ("created", project.created_at.clone()),
        ("updated", project.updated_at.clone()),
    ]
}

fn workspace_lines(workspace: &Workspace) -> Vec<(&'static str, String)> {
    vec![
        ("workspace", workspace.name.clone()),
        ("path", workspace.path.clone()),
        ("id", workspace.id.to_string()),
        ("project", workspace.project_id.to_string()),
    ]
}
