//! Who takes part in the demo, and by which rules.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use client::{Client, CreatedAccount};
use serde_json::{Map, Value, json};
use uuid::Uuid;
use wire::{CatalogueRule, CreateAccount, CreateAgent, CreateApiKey, PolicyForm};

/// Somebody with a key.
pub(super) struct Player {
    pub(super) id: Uuid,
    pub(super) name: &'static str,
    pub(super) client: Client,
}

/// Everybody but the admin.
pub(super) struct Cast {
    /// Answers for the agents.
    pub(super) tom: Player,
    /// Knows the databases.
    pub(super) mira: Player,
    /// Reviews what is left, and goes on leave.
    pub(super) jonas: Player,
    /// Looks after security.
    pub(super) priya: Player,
    pub(super) agents: Vec<Player>,
}

impl Cast {
    /// The agent of this name.
    pub(super) fn agent(&self, name: &str) -> anyhow::Result<&Player> {
        let found = self.agents.iter().find(|agent| agent.name == name);
        found.ok_or_else(|| anyhow::anyhow!("there is no agent {name} in the demo"))
    }
}

/// Name, what it is for, model, what it may be asked for, and how many tasks it works on.
const AGENTS: [(&str, &str, &str, &str, i64); 5] = [
    ("schema-steward", "Keeps the schemas of the order databases in shape", "large", "databases", 1),
    ("release-pilot", "Rolls out what has passed its tests", "large", "kubernetes", 2),
    ("edge-warden", "Looks after certificates, addresses and firewalls", "medium", "network", 1),
    ("report-builder", "Builds the morning reports", "small", "reports", 1),
    ("cost-scout", "Looks for machines that nobody needs", "small", "reports", 1),
];

/// Brings everybody in and says by which rules they work.
pub(super) async fn gather(admin: &Client) -> anyhow::Result<Cast> {
    let mira = person(admin, "Mira Okafor", &["reviewer", "dba"]).await?;
    let jonas = person(admin, "Jonas Lind", &["reviewer", "sre"]).await?;
    let priya = person(admin, "Priya Raman", &["reviewer", "security"]).await?;
    let tom = person(admin, "Tom Berger", &["author"]).await?;
    let mut agents = Vec::new();
    for (name, description, model, area, max_tasks) in AGENTS {
        let form = CreateAgent {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            model: Some(model.to_owned()),
            max_tasks: Some(max_tasks),
            labels: Some(BTreeMap::from([("area".to_owned(), area.to_owned())])),
            config: Some(Map::from_iter([("region".to_owned(), json!("eu-central"))])),
            ..CreateAgent::default()
        };
        let id = tom.client.create_agent(&form).await?.id;
        agents.push(Player { id, name, client: client_of(&tom.client, id).await? });
    }
    let cast = Cast { tom, mira, jonas, priya, agents };
    rule(admin).await?;
    Ok(cast)
}

async fn person(admin: &Client, name: &'static str, roles: &[&str]) -> anyhow::Result<Player> {
    let first = name.split(' ').next().unwrap_or(name).to_lowercase();
    let form = CreateAccount {
        email: format!("{first}@example.org"),
        display_name: name.to_owned(),
        access_level: None,
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        manager_id: None,
        password: None,
    };
    let CreatedAccount::Made(made) = admin.create_account(&form).await? else {
        bail!("{name} has an account already")
    };
    let id = made.account.id;
    let enrolled = client_of(admin, id).await?;
    // What an admin's key does counts as the admin's: everybody goes on with a key of their own making.
    Ok(Player { id, name, client: client_of(&enrolled, id).await? })
}

/// Whoever may mint a key for this account gets a client that acts as it.
async fn client_of(minter: &Client, id: Uuid) -> anyhow::Result<Client> {
    let form = CreateApiKey { account_id: Some(id), name: "demo".to_owned(), ..CreateApiKey::default() };
    let minted = minter.create_api_key(&form).await?;
    let key = minted.key.context("a key that was just minted is shown")?;
    Ok(Client::new(minter.base_url().as_str(), Some(&key))?)
}

/// What is dangerous, and who decides.
async fn rule(admin: &Client) -> anyhow::Result<()> {
    let rate = |pattern: &str, criticality, blast_radius| CatalogueRule {
        pattern: pattern.to_owned(),
        criticality,
        blast_radius: Some(blast_radius),
    };
    let rules = [
        rate("database:prod-*", 95, 40),
        rate("firewall:*", 85, 35),
        rate("service:*", 55, 10),
        rate("*:staging-*", 15, 5),
        rate("report:*", 10, 5),
    ];
    admin.replace_resource_catalogue(&rules).await?;
    for policy in policies() {
        admin.create_policy(&serde_json::from_value::<PolicyForm>(policy)?).await?;
    }
    Ok(())
}

fn policies() -> [Value; 3] {
    [
        json!({
            "name": "Production databases", "resource_patterns": ["database:prod-*"], "min_approvers": 2,
            "required_roles": ["dba", "admin"], "reject_on": "any", "timeout_seconds": 14_400
        }),
        json!({
            "name": "Network and secrets", "resource_patterns": ["firewall:*", "certificate:*"],
            "required_roles": ["security", "admin"], "min_approvers": 1, "timeout_seconds": 28_800
        }),
        json!({
            "name": "Everything agents start", "when": "author.is_agent", "required_roles": ["reviewer", "admin"],
            "min_approvers": 1
        }),
    ]
}
