//! `countersign login`: with the help of a browser, or with a password.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use clap::Args;
use client::{Client, ClientError};
use wire::{Code, DeviceLogin, LogIn, LoggedIn};

use crate::cli::{ClientFlags, block_on};
use crate::exit::Exit;
use crate::saved_login::{self, SavedLogin};
use crate::terminal::{LineEnds, Table, ask, ask_secret, shown, width, write_json};

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign login                                 open the link in a browser, compare the code, allow it
  countersign login --url https://hub.example.org
  countersign login --password                      ask for e-mail and password here

The login lasts 24 h and is kept in ~/.config/countersign/login.json, one for each hub. COUNTERSIGN_API_KEY goes before
it.";

/// How much longer to wait after having asked too often.
const SLOWER: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(crate) struct Login {
    #[command(flatten)]
    client: ClientFlags,
    /// Ask for e-mail and password on the terminal, instead of using a browser
    #[arg(long)]
    password: bool,
    /// Who logs in, with --password
    #[arg(long, value_name = "EMAIL", requires = "password")]
    email: Option<String>,
}

pub(crate) fn run(command: &Login) -> anyhow::Result<Exit> {
    let hub = command.client.stranger()?;
    let (logged_in, token) = match command.password {
        true => with_password(command, &hub)?,
        false => match block_on(with_browser(&hub))? {
            Some(granted) => granted,
            None => {
                writeln!(stderr(), "countersign: nobody answered in time; run `countersign login` again")?;
                return Ok(Exit::TimedOut);
            }
        },
    };
    let saved = SavedLogin {
        token,
        account: logged_in.account.email.clone(),
        expires_at: logged_in.login_session.expires_at.clone(),
    };
    saved_login::keep(hub.base_url().as_str(), saved)?;
    if command.client.json {
        write_json(&mut stdout(), &logged_in)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["", ""]);
    let account = &logged_in.account;
    table.row(["logged in as", &format!("{} <{}>", account.display_name, account.email)]);
    table.row(["organization", &logged_in.organization.slug]);
    table.row(["until", &logged_in.login_session.expires_at]);
    write!(stdout(), "{}", table.render(width()))?;
    Ok(Exit::Done)
}

fn with_password(command: &Login, hub: &Client) -> anyhow::Result<(LoggedIn, String)> {
    let email = match &command.email {
        Some(email) => email.clone(),
        None => ask("E-mail: ")?,
    };
    let password = ask_secret("Password: ")?;
    let request = LogIn { email, password, organization_id: None };
    let (logged_in, token) = block_on(async { Ok(hub.log_in(&request).await?) })?;
    Ok((logged_in, token.expose().to_owned()))
}

/// The login, or none if nobody answered in time.
async fn with_browser(hub: &Client) -> anyhow::Result<Option<(LoggedIn, String)>> {
    let asked = hub.ask_for_login().await?;
    invite(&asked)?;
    let is_terminal = stderr().is_terminal();
    let mut pause = Duration::from_secs(asked.interval.into());
    loop {
        tokio::time::sleep(pause).await;
        let problem = match hub.exchange_device_code(&asked.device_code).await {
            Ok(granted) => {
                if is_terminal {
                    writeln!(stderr())?;
                }
                return Ok(Some((granted.logged_in, granted.token)));
            }
            Err(ClientError::Problem(problem)) => problem,
            Err(other) => return Err(other.into()),
        };
        match problem.known_code() {
            Some(Code::AuthorizationPending) if is_terminal => {
                write!(stderr(), ".").and_then(|()| stderr().flush())?
            }
            Some(Code::AuthorizationPending) => {}
            Some(Code::RateLimited) => pause += SLOWER,
            Some(Code::Expired) => return Ok(None),
            _ => return Err(ClientError::Problem(problem).into()),
        }
    }
}

/// Says what to open. What a hub sends is a stranger's text, too.
fn invite(asked: &DeviceLogin) -> anyhow::Result<()> {
    let is_terminal = stderr().is_terminal();
    let text = format!(
        "Open this link, check that it shows the code {}, and allow it:\n\n  {}\n\nWaiting for {} min",
        asked.user_code,
        asked.url,
        asked.expires_in.div_ceil(60)
    );
    let end = if is_terminal { " " } else { "\n" };
    write!(stderr(), "{}{end}", shown(&text, is_terminal, LineEnds::Keep))?;
    Ok(stderr().flush()?)
}
