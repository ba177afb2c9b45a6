//! Where the log goes: stderr, for people or for machines.

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// Starts logging, once per process.
pub(crate) fn start(config: &LogConfig) {
    // The form was checked with the configuration; what cannot be parsed now is a bug, and info is a safe answer.
    let filter = EnvFilter::try_new(directives(&config.level)).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match config.format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Pretty => {
            use std::io::IsTerminal;
            builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).init();
        }
    }
}

/// A plain level is meant for us: what libraries say at that level may hold what nobody may log.
fn directives(level: &str) -> String {
    if level.contains(['=', ',']) {
        return level.to_owned();
    }
    let ours = ["countersign", "server", "hub", "records", "coordination", "domain"];
    let ours: Vec<String> = ours.iter().map(|name| format!("{name}={level}")).collect();
    format!("warn,{}", ours.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_level_is_for_our_own_crates() {
        assert!(directives("trace").starts_with("warn,countersign=trace,server=trace"));
        assert_eq!(directives("info,hyper=debug"), "info,hyper=debug");
    }
}
