//! `countersign man`: the manual pages, made from the commands themselves.

use std::fs;
use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::exit::Exit;

pub(crate) const EXAMPLES: &str = "\
Examples:
  countersign man > countersign.1            the page of the program itself
  countersign man /usr/local/share/man/man1  a page for each command";

#[derive(Args)]
pub(crate) struct Man {
    /// The directory to write a page for each command into; the first page to stdout without it
    directory: Option<PathBuf>,
}

pub(crate) fn run(man: &Man, program: clap::Command) -> anyhow::Result<Exit> {
    let Some(directory) = &man.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(program).render(&mut page)?;
        stdout().write_all(&page)?;
        return Ok(Exit::Done);
    };
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(program, directory))
        .with_context(|| format!("cannot write manual pages into {}", directory.display()))?;
    Ok(Exit::Done)
}
