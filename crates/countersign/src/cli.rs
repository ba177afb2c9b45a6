//! The command line.

use std::io::{IsTerminal, Write};

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::{
    account, admin, agents, approvals, archives, audit, backup, config_check, delegations, demo, events,
    executions, key, locks, login, logout, man, me, migrate, notifications, org, policies, projects,
    resource_catalogue, restore, serve, settings, standalone_grants, tasks, webhooks,
};
use crate::config::ServerFlags;
use crate::exit::Exit;
use crate::saved_login;
use crate::terminal::{LineEnds, shown};

const EXAMPLES: &str = "\
Examples:
  countersign serve                                start a complete hub in ./countersign-data
  countersign demo                                 look around in one that is full of work
  countersign login                                log in, with the help of a browser
  countersign me                                   who am I?
  countersign events --follow                      watch what happens
  countersign audit verify --data ./countersign-data";

/// A hub where software agents ask before they act.
#[derive(Parser)]
#[command(name = "countersign", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the hub: everything in one process
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::Serve),
    /// Try it: a hub with people, agents and a day's work, gone when you stop it
    #[command(after_help = demo::EXAMPLES)]
    Demo(demo::Demo),
    /// Log in and keep the login for other commands
    #[command(after_help = login::EXAMPLES)]
    Login(login::Login),
    /// End the kept login
    #[command(after_help = logout::EXAMPLES)]
    Logout(logout::Logout),
    /// Show who the login or API key stands for and what it may do
    #[command(after_help = me::EXAMPLES)]
    Me(me::Me),
    /// People and services: list, create, suspend
    #[command(after_help = account::EXAMPLES)]
    Account(account::AccountCommand),
    /// Organizations, their members, and invitations
    #[command(after_help = org::EXAMPLES)]
    Org(org::Org),
    /// API keys: list, mint, rotate, revoke
    #[command(after_help = key::EXAMPLES)]
    Key(key::Key),
    /// The organization's settings
    #[command(after_help = settings::EXAMPLES)]
    Settings(settings::SettingsCommand),
    /// Projects and their workspaces
    #[command(after_help = projects::EXAMPLES)]
    Project(projects::Projects),
    /// Tasks: propose, hand in, list, show, talk about, compare, watch, cancel
    #[command(after_help = tasks::EXAMPLES)]
    Task(tasks::Tasks),
    /// Requests to reviewers: list, show, approve, reject, request changes
    #[command(after_help = approvals::EXAMPLES)]
    Approval(approvals::Approvals),
    /// Agents and their keys
    #[command(after_help = agents::EXAMPLES)]
    Agent(agents::Agents),
    /// Attempts to apply tasks: list, show, output, undo
    #[command(after_help = executions::EXAMPLES)]
    Execution(executions::Executions),
    /// Delegations: who decides for whom
    #[command(after_help = delegations::EXAMPLES)]
    Delegation(delegations::Delegations),
    /// Notifications: what you were told
    #[command(after_help = notifications::EXAMPLES)]
    Notification(notifications::Notifications),
    /// Policies: who must decide on what
    #[command(after_help = policies::EXAMPLES)]
    Policy(policies::Policies),
    /// The resource catalogue: how much depends on what
    #[command(after_help = resource_catalogue::EXAMPLES)]
    Catalogue(resource_catalogue::Catalogue),
    /// Locks: take, hold around a command, look at
    #[command(after_help = locks::EXAMPLES)]
    Lock(locks::Locks),
    /// Single-use tokens for a hash: mint, consume, look at
    #[command(after_help = standalone_grants::EXAMPLES)]
    Grant(standalone_grants::Grants),
    /// Webhooks: where the organization is told of its events
    #[command(after_help = webhooks::EXAMPLES)]
    Webhook(webhooks::Webhooks),
    /// Read the event log, or follow it
    #[command(after_help = events::EXAMPLES)]
    Events(events::Events),
    /// Finished tasks that were archived: list, show, prove
    #[command(after_help = archives::EXAMPLES)]
    Archive(archives::Archives),
    /// Read, export and verify the audit trail
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::Audit),
    /// Help people in who cannot log in, with the hub's data in hand
    #[command(after_help = admin::EXAMPLES)]
    Admin(admin::Admin),
    /// Look at the configuration
    #[command(after_help = config_check::EXAMPLES)]
    Config(ConfigCommand),
    /// Bring the database to this program's schema
    #[command(after_help = migrate::EXAMPLES)]
    Migrate(ServerFlags),
    /// Write the database and the keys into one file, also while the hub runs
    #[command(after_help = backup::EXAMPLES)]
    Backup(backup::Backup),
    /// Fill an empty data directory from a backup
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::Restore),
    /// Print a completion script for a shell
    #[command(after_help = "Example: countersign completions bash > /etc/bash_completion.d/countersign")]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page, or write one for each command
    #[command(after_help = man::EXAMPLES)]
    Man(man::Man),
}

#[derive(Args)]
struct ConfigCommand {
    #[command(subcommand)]
    command: ConfigAction,
}

#[derive(Subcommand)]
enum ConfigAction {
    /// Show every setting with its source, or what is wrong with it
    #[command(after_help = config_check::EXAMPLES)]
    Check(config_check::Check),
}

/// Where the hub is and how to answer; who asks is said by `COUNTERSIGN_API_KEY` or the kept login, and by no flag,
/// because flags can be seen by every user of the machine.
#[derive(Args, Clone, Debug)]
pub struct ClientFlags {
    /// Where the hub is
    #[arg(
        long,
        global = true,
        env = "COUNTERSIGN_URL",
        default_value = "http://127.0.0.1:8000",
        value_name = "URL"
    )]
    pub url: String,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl ClientFlags {
    /// A client that acts with the key of the environment, else with the kept login.
    pub(crate) fn client(&self) -> anyhow::Result<client::Client> {
        let key = std::env::var("COUNTERSIGN_API_KEY").ok().filter(|key| !key.trim().is_empty());
        if let Some(key) = key {
            return Ok(client::Client::new(&self.url, Some(key.trim()))?);
        }
        let stranger = self.stranger()?;
        match saved_login::token_for(stranger.base_url().as_str())? {
            Some(token) => Ok(client::Client::new(&self.url, Some(&token))?),
            None => Err(Usage(format!(
                "not logged in to {url}: run `countersign login --url {url}`, or set COUNTERSIGN_API_KEY. The first key \
                 is in admin.key of the hub's data directory: \
                 export COUNTERSIGN_API_KEY=$(cat countersign-data/admin.key)",
                url = stranger.base_url().as_str().trim_end_matches('/')
            ))
            .into()),
        }
    }

    /// A client that acts as nobody.
    pub(crate) fn stranger(&self) -> anyhow::Result<client::Client> {
        Ok(client::Client::new(&self.url, None)?)
    }
}

/// The command cannot be carried out as it was given.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Runs the command line of this process.
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not mistakes.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            drop(error.print());
            return exit;
        }
    };
    match run(cli.command) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = exit_of(&error);
            if exit != Exit::Done {
                let mut stderr = std::io::stderr();
                let text = format!("countersign: {error:#}");
                let is_terminal = stderr.is_terminal();
                drop(writeln!(stderr, "{}", shown(&text, is_terminal, LineEnds::Keep)));
            }
            exit
        }
    }
}

fn exit_of(error: &anyhow::Error) -> Exit {
    let usage = error.chain().any(|cause| cause.is::<Usage>() || cause.is::<crate::config::ConfigProblems>());
    if usage { Exit::Usage } else { Exit::of(error) }
}

fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Demo(demo) => demo::run(&demo),
        Command::Login(login) => login::run(&login),
        Command::Logout(logout) => logout::run(&logout),
        Command::Me(me) => me::run(&me),
        Command::Account(account) => account::run(account),
        Command::Org(org) => org::run(org),
        Command::Key(key) => key::run(key),
        Command::Settings(settings) => settings::run(settings),
        Command::Project(projects) => projects::run(projects),
        Command::Task(tasks) => tasks::run(tasks),
        Command::Approval(approvals) => approvals::run(approvals),
        Command::Agent(agents) => agents::run(agents),
        Command::Delegation(delegations) => delegations::run(delegations),
        Command::Notification(notifications) => notifications::run(notifications),
        Command::Policy(policies) => policies::run(policies),
        Command::Webhook(webhooks) => webhooks::run(webhooks),
        Command::Catalogue(catalogue) => resource_catalogue::run(catalogue),
        Command::Lock(locks) => locks::run(locks),
        Command::Grant(grants) => standalone_grants::run(grants),
        Command::Events(events) => events::run(&events),
        Command::Execution(executions) => executions::run(executions),
        Command::Archive(archives) => archives::run(archives),
        Command::Audit(audit) => audit::run(audit),
        Command::Admin(admin) => admin::run(admin),
        Command::Config(ConfigCommand { command: ConfigAction::Check(check) }) => config_check::run(&check),
        Command::Migrate(flags) => migrate::run(&flags),
        Command::Backup(backup) => backup::run(&backup),
        Command::Restore(restore) => restore::run(&restore),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "countersign", &mut std::io::stdout());
            Ok(Exit::Done)
        }
        Command::Man(man) => man::run(&man, Cli::command()),
    }
}

/// Runs a command that talks to the hub: one thread is enough.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
