//! `countersign demo`: a hub in a temporary directory with people, agents and a day's work, for whoever wants to see it.
//!
//! `cast` is who takes part and by which rules, `script` what the agents propose, `workers` how they live and apply,
//! `day` what happens when. Everything goes through the hub's own front door, as everybody else's work does.

mod cast;
mod day;
mod script;
mod workers;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use client::Client;
use hub::ids::{Ids, SystemIds};

use super::serve::{SPARE_FILES, Started, login_link, raise_file_limit, say, start};
use crate::config::{Config, Environment, ServerFlags, resolve};
use crate::exit::Exit;
use crate::logging;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign demo
  countersign demo --listen 127.0.0.1:9000

It prints a link that logs you in, and what happens. Ctrl-C ends it and removes all it has written. It reads no settings and no
environment: your own hubs and databases are not touched.";

#[derive(Args)]
pub(crate) struct Demo {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000")]
    listen: String,
}

pub(crate) fn run(demo: &Demo) -> anyhow::Result<Exit> {
    let home = Home::make()?;
    let config = config(demo, &home.0)?;
    logging::start(&config.log);
    raise_file_limit(u64::from(config.http.max_connections) + SPARE_FILES);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(play(&config))?;
    Ok(Exit::Done)
}

/// What a fresh installation has, whatever this machine is set up for.
fn config(demo: &Demo, home: &Path) -> anyhow::Result<Config> {
    let data = home.to_str().context("the path of the temporary directory is not text; set TMPDIR")?;
    let flags = ServerFlags { data: Some(data.to_owned()), listen: Some(demo.listen.clone()), config: None };
    let variables = [("COUNTERSIGN_LOG", "error")];
    let nothing = |_: &Path| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    Ok(resolve(&flags, &Environment::from_iter(variables), &nothing)?.config)
}

async fn play(config: &Config) -> anyhow::Result<()> {
    let started = start(config, false).await?;
    let hub = started.hub().clone();
    let admin = admin(&started)?;
    introduce(&started)?;
    let (acting, serving) = (day::play(&admin), started.serve(config));
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        ended = acting => {
            // Whoever plays in a hub that stops breaks off, and that is how it should be.
            let was_stopped = hub.lifecycle.is_stopping();
            hub.lifecycle.announce_stop();
            serving.await;
            if !was_stopped {
                return ended.context("the demo broke off");
            }
        }
    }
    say("stopped; everything the demo wrote is gone")
}

/// The admin whom the person in front of the screen is, too.
fn admin(started: &Started) -> anyhow::Result<Client> {
    let first = started.opened.first_start.as_ref().context("the directory is not empty")?;
    let key = std::fs::read_to_string(&first.key_file)?;
    Ok(Client::new(&format!("http://{}", started.address), Some(key.trim()))?)
}

fn introduce(started: &Started) -> anyhow::Result<()> {
    let Some(first) = &started.opened.first_start else { return Ok(()) };
    say(&format!(
        "A hub with a day's work in it, at http://{address}. Ctrl-C ends it and removes it.\n\n\
         Log in, once, within 15 min; you are an admin who reviews:\n  {link}\n\n\
         Or from another terminal:\n  export COUNTERSIGN_URL=http://{address} COUNTERSIGN_API_KEY=$(cat {path})\n  \
         countersign approval list\n",
        address = started.address,
        link = login_link(&started.public_url, &first.link),
        path = first.key_file.display(),
    ))
}

/// A directory that goes with the demo.
struct Home(PathBuf);

impl Home {
    fn make() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("countersign-demo-{}", SystemIds.fresh()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::error!("cannot remove {}: {error}", self.0.display());
        }
    }
}
