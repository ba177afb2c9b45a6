//! `countersign settings`: what an organization has set for itself.

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use wire::Settings;

use super::answer::show;
use crate::cli::{ClientFlags, Usage, block_on};
use crate::exit::Exit;
use crate::terminal::Table;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign settings list
  countersign settings set lock:default_ttl=60 feature:auto_approve_low_risk=enabled
  countersign settings reset lock:default_ttl";

#[derive(Args)]
pub(crate) struct SettingsCommand {
    #[command(flatten)]
    client: ClientFlags,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show all settings of the organization
    #[command(after_help = "Example: countersign settings list --json")]
    List,
    /// Change some: all or none of them
    #[command(
        after_help = "Example: countersign settings set lock:default_ttl=60 risk:thresholds=[20,40,60]"
    )]
    Set {
        /// NAME=VALUE, the value as in JSON or as a bare word
        #[arg(required = true, value_name = "NAME=VALUE")]
        changes: Vec<String>,
    },
    /// Go back to the default
    #[command(after_help = "Example: countersign settings reset lock:default_ttl lock:max_ttl")]
    Reset {
        /// Names of settings
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub(crate) fn run(command: SettingsCommand) -> anyhow::Result<Exit> {
    let client = command.client.client()?;
    let json = command.client.json;
    let settings = block_on(async {
        Ok(match command.action {
            Action::List => client.settings().await?,
            Action::Set { changes } => client.patch_settings(&Settings(parsed(&changes)?)).await?,
            Action::Reset { names } => {
                let changes = names.into_iter().map(|name| (name, Value::Null)).collect();
                client.patch_settings(&Settings(changes)).await?
            }
        })
    })?;
    show(json, &settings, || {
        let mut table = Table::new(["SETTING", "VALUE"]);
        for (name, value) in &settings.0 {
            table.row([name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned)]);
        }
        table
    })
}

/// `name=value`; a value that is no JSON is a word.
fn parsed(changes: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut all = Map::new();
    for change in changes {
        let Some((name, text)) = change.split_once('=') else {
            return Err(Usage(format!("{change} is not NAME=VALUE, such as lock:default_ttl=60")).into());
        };
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        if all.insert(name.to_owned(), value).is_some() {
            return Err(Usage(format!("{name} is named twice")).into());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_or_words() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let given = parsed(&texts(&["a=1", "b=enabled", "c=[1,2]", "d=x=y"])).unwrap();
        assert_eq!(Value::Object(given), json!({"a": 1, "b": "enabled", "c": [1, 2], "d": "x=y"}));
        assert!(parsed(&texts(&["a"])).is_err());
        assert!(parsed(&texts(&["a=1", "a=2"])).is_err());
    }
}
