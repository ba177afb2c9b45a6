//! The settings that have a flag.

use std::path::PathBuf;

use clap::Args;

/// Flags of the commands that run on the hub's own data. Everything else is set by environment or file.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerFlags {
    /// Directory that holds everything the hub keeps [env: COUNTERSIGN_DATA] [default: ./countersign-data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Address and port to listen on [env: COUNTERSIGN_LISTEN] [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// File with settings [default: countersign.toml in the data directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ServerFlags {
    /// What was given for the setting of this name; its flag has the same name.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        match name {
            "data" => self.data.as_deref(),
            "listen" => self.listen.as_deref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::super::setting::{DATA, LISTEN};
    use super::*;

    #[test]
    fn help_tells_the_truth_about_variables_and_defaults() {
        let help = ServerFlags::augment_args(Command::new("serve")).render_help().to_string();
        for (env, default) in [(DATA.env, DATA.default), (LISTEN.env, LISTEN.default)] {
            assert!(help.contains(&format!("[env: {env}] [default: {}]", default.unwrap())), "{help}");
        }
    }

    #[test]
    fn each_flag_is_given_by_its_name() {
        let command = ServerFlags::augment_args(Command::new("serve"));
        let settings: Vec<&str> = command
            .get_arguments()
            .filter_map(|flag| flag.get_long())
            .filter(|name| *name != "config")
            .collect();
        let flags = ServerFlags { data: Some("d".to_owned()), listen: Some("l".to_owned()), config: None };
        assert!(settings.iter().all(|name| flags.given(name).is_some()), "{settings:?}");
    }
}
