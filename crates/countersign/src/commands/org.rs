//! `countersign org`: organizations, their members, and invitations.

use clap::{Args, Subcommand};
use client::Client;
use uuid::Uuid;
use wire::{
    AccountsQuery, AddMember, ChangeMember, ChangeOrganization, CreateOrganization, Invitation,
    InvitationsQuery, Organization, OrganizationsQuery,
};

use super::account::table as members_table;
use super::answer::{account, done, organization, show, something};
use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign org list
  countersign org switch halden
  countersign org create 'Halden Payments' --slug halden
  countersign org members
  countersign org set-member ada@example.org --role author --role dba
  countersign org transfer ada@example.org
  countersign org accept 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e";

#[derive(Args)]
pub(crate) struct Org {
    #[command(flatten)]
    client: ClientFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the organizations you belong to
    #[command(after_help = "Example: countersign org list --json")]
    List,
    /// Have the kept login act in another organization of yours
    #[command(after_help = "Example: countersign org switch halden")]
    Switch {
        /// A slug or an id
        organization: String,
    },
    /// Make an organization that you own (instance admins)
    #[command(after_help = "Example: countersign org create 'Halden Payments' --slug halden")]
    Create {
        /// The name people read
        name: String,
        /// The short name, of a-z, 0-9 and -
        #[arg(long)]
        slug: String,
    },
    /// Close an organization; nothing is deleted (instance admins)
    #[command(after_help = "Example: countersign org archive halden")]
    Archive {
        /// A slug or an id
        organization: String,
    },
    /// Open a closed organization again (instance admins)
    #[command(after_help = "Example: countersign org restore halden")]
    Restore {
        /// A slug or an id
        organization: String,
    },
    /// Show the members of your organization
    #[command(after_help = "Example: countersign org members lovelace")]
    Members {
        /// The beginning of a name or an e-mail
        query: Option<String>,
    },
    /// Add an account that exists
    #[command(
        after_help = "Example: countersign org add-member 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e --role reviewer"
    )]
    AddMember {
        /// An id
        account: Uuid,
        /// A role; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// Set all roles of a member (`admin` makes an admin), or the manager
    #[command(
        after_help = "Example: countersign org set-member ada@example.org --role author --role reviewer"
    )]
    SetMember(SetMember),
    /// End a membership; keys and logins in this organization end with it
    #[command(after_help = "Example: countersign org remove-member ada@example.org")]
    RemoveMember {
        /// An e-mail, an id, or `me` to leave
        account: String,
    },
    /// Give your organization another owner
    #[command(after_help = "Example: countersign org transfer ada@example.org")]
    Transfer {
        /// An e-mail or an id
        account: String,
    },
    /// Show the invitations you received, or those your organization sent
    #[command(after_help = "Example: countersign org invitations --sent")]
    Invitations {
        /// Those your organization sent
        #[arg(long)]
        sent: bool,
    },
    /// Accept an invitation
    #[command(after_help = "Example: countersign org accept 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Accept {
        /// Its id
        invitation: Uuid,
    },
    /// Turn an invitation down
    #[command(after_help = "Example: countersign org decline 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Decline {
        /// Its id
        invitation: Uuid,
    },
    /// Take back an invitation of your organization
    #[command(after_help = "Example: countersign org withdraw 0197a2c4-7d1e-7000-8000-3f2a1b0c9d8e")]
    Withdraw {
        /// Its id
        invitation: Uuid,
    },
}

#[derive(Args)]
struct SetMember {
    /// An e-mail or an id
    account: String,
    /// A role; may be repeated, and those not named are taken away
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Take all roles away
    #[arg(long, conflicts_with = "roles")]
    no_roles: bool,
    /// Who decides in the member's place when the member cannot; `none` for nobody
    #[arg(long, value_name = "ACCOUNT")]
    manager: Option<String>,
}

pub(crate) fn run(command: Org) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    block_on(act(&client, command.client.json, command.action))
}

async fn act(client: &Client, json: bool, action: Action) -> anyhow::Result<Exit> {
    match action {
        Action::List => {
            let page = client.organizations(&OrganizationsQuery::default()).await?;
            show(json, &page, || table(&page.items))
        }
        Action::Switch { organization: named } => {
            let id = organization(client, Some(&named)).await?;
            one(json, &client.switch_organization(id).await?)
        }
        Action::Create { name, slug } => {
            let request = CreateOrganization { name, slug, gitea_org_name: None };
            one(json, &client.create_organization(&request).await?)
        }
        Action::Archive { organization } => archive(client, json, &organization, true).await,
        Action::Restore { organization } => archive(client, json, &organization, false).await,
        Action::Members { query } => {
            let query = AccountsQuery { query, limit: Some(200), ..AccountsQuery::default() };
            let page = client.accounts(&query).await?;
            show(json, &page, || members_table(&page.items))
        }
        Action::AddMember { account, roles } => {
            let org = organization(client, None).await?;
            let request = AddMember { account_id: account, membership_level: None, roles, manager_id: None };
            let member = client.add_member(org, &request).await?;
            show(json, &member, || members_table(std::slice::from_ref(&member)))
        }
        Action::SetMember(wanted) => set_member(client, json, wanted).await,
        Action::RemoveMember { account: named } => {
            let (org, id) = (organization(client, None).await?, account(client, &named).await?);
            client.remove_member(org, id).await?;
            done(json, &format!("{named} is no longer a member"))
        }
        Action::Transfer { account: named } => {
            let (org, id) = (organization(client, None).await?, account(client, &named).await?);
            one(json, &client.transfer_ownership(org, id).await?)
        }
        Action::Invitations { sent } => {
            let query = InvitationsQuery { sent, ..InvitationsQuery::default() };
            let page = client.invitations(&query).await?;
            show(json, &page, || invitations_table(&page.items))
        }
        Action::Accept { invitation } => invitation_shown(json, &client.accept_invitation(invitation).await?),
        Action::Decline { invitation } => {
            invitation_shown(json, &client.decline_invitation(invitation).await?)
        }
        Action::Withdraw { invitation } => {
            invitation_shown(json, &client.withdraw_invitation(invitation).await?)
        }
    }
}

async fn archive(client: &Client, json: bool, named: &str, archived: bool) -> anyhow::Result<Exit> {
    let id = organization(client, Some(named)).await?;
    let change = ChangeOrganization { archived: Some(archived), ..ChangeOrganization::default() };
    one(json, &client.change_organization(id, &change).await?)
}

async fn set_member(client: &Client, json: bool, wanted: SetMember) -> anyhow::Result<Exit> {
    let roles = (wanted.no_roles || !wanted.roles.is_empty()).then_some(wanted.roles);
    let manager_id = match wanted.manager.as_deref() {
        None => None,
        Some("none") => Some(None),
        Some(manager) => Some(Some(account(client, manager).await?)),
    };
    let change = something(ChangeMember { membership_level: None, roles, manager_id })?;
    let (org, id) = (organization(client, None).await?, account(client, &wanted.account).await?);
    let member = client.change_member(org, id, &change).await?;
    show(json, &member, || members_table(std::slice::from_ref(&member)))
}

fn one(json: bool, organization: &Organization) -> anyhow::Result<Exit> {
    show(json, organization, || table(std::slice::from_ref(organization)))
}

fn table(organizations: &[Organization]) -> Table {
    let mut table = Table::new(["SLUG", "NAME", "ARCHIVED", "ID"]);
    for organization in organizations {
        let archived = organization.archived_at.as_deref().unwrap_or_default();
        table.row([&organization.slug, &organization.name, archived, &organization.id.to_string()]);
    }
    table
}

fn invitation_shown(json: bool, invitation: &Invitation) -> anyhow::Result<Exit> {
    show(json, invitation, || invitations_table(std::slice::from_ref(invitation)))
}

fn invitations_table(invitations: &[Invitation]) -> Table {
    let mut table = Table::new(["ORGANIZATION", "ROLES", "STATUS", "UNTIL", "ID"]);
    for invitation in invitations {
        let status = format!("{:?}", invitation.status).to_lowercase();
        table.row([
            &invitation.organization_name,
            &invitation.roles.join(", "),
            &status,
            &invitation.expires_at,
            &invitation.id.to_string(),
        ]);
    }
    table
}
