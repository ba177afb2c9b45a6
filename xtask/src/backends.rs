//! PostgreSQL, Redis and a browser for the tests: found, or installed from the distribution where we may.
//!
//! The tests start private servers and browsers themselves (`testkit`); all they need is the programs. Whether pages can be
//! used by everybody is judged by axe-core, which comes from npm's registry into the target directory and nowhere else.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::run::{run, succeeds};

/// A distribution's package and what we need of it: programs, or whole paths.
struct Backend {
    package: &'static str,
    programs: &'static [&'static str],
}

const BACKENDS: [Backend; 5] = [
    Backend { package: "postgresql", programs: &["initdb", "postgres", "psql"] },
    Backend { package: "redis-server", programs: &["redis-server"] },
    Backend { package: "chromium", programs: &["chromium"] },
    Backend { package: "chromium-driver", programs: &["chromedriver"] },
    Backend { package: "npm", programs: &["npm"] },
];

/// What judges pages, and where tests look for it in the target directory. The registry's own sum of the package is checked
/// by npm.
const AXE: &str = "axe-core@4.11.0";
const AXE_DIRECTORY: &str = "axe-core-4.11.0";

/// What locks are measured against, beside those. Without them that table has gaps.
const PEERS: [Backend; 3] = [
    Backend { package: "etcd-server", programs: &["etcd"] },
    Backend { package: "zookeeper", programs: &["/usr/share/java/zookeeper.jar"] },
    Backend { package: "default-jre-headless", programs: &["java"] },
];

/// Where Debian's PostgreSQL packages read whether to create and start a cluster for the whole machine.
const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";

/// Makes sure that the servers' programs are there, or says what to type.
pub(crate) fn ensure() -> Result<()> {
    let missing = missing(&BACKENDS, &directories());
    if missing.is_empty() {
        eprintln!("found PostgreSQL's server programs, redis-server, Chromium and ChromeDriver");
        return Ok(());
    }
    let has_apt = succeeds(Command::new("apt-get").arg("--version"));
    let Some(become_root) = become_root().filter(|_| has_apt) else { bail!(advice(&missing, has_apt)) };
    install(&missing, become_root)?;
    let still_missing = self::missing(&BACKENDS, &directories());
    ensure!(still_missing.is_empty(), "installed, but still not found: {}", still_missing.join(" "));
    Ok(())
}

/// Fetches what judges pages, once for each version of it.
pub(crate) fn fetch_axe(target: &Path) -> Result<()> {
    let directory = target.join(AXE_DIRECTORY);
    if directory.join("package/axe.min.js").is_file() {
        return Ok(());
    }
    std::fs::create_dir_all(&directory)?;
    run(Command::new("npm").args(["pack", "--silent", AXE, "--pack-destination"]).arg(&directory))?;
    let archive = directory.join(format!("{AXE_DIRECTORY}.tgz"));
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(&directory))
}

/// Installs what locks are measured against, where we may. What cannot be had is missing in the table, so it is no
/// failure.
pub(crate) fn seek_peers() -> Result<()> {
    let missing = missing(&PEERS, &directories());
    let installed = match become_root() {
        _ if missing.is_empty() => Ok(()),
        Some(become_root) => install(&missing, become_root),
        None => Err(anyhow::anyhow!("installing {} needs root", missing.join(" "))),
    };
    if let Err(error) = installed {
        eprintln!("{error:#}; the table will say what is missing");
    }
    Ok(())
}

/// The packages of which no directory holds all programs.
fn missing(wanted: &[Backend], directories: &[PathBuf]) -> Vec<&'static str> {
    let has = |programs: &[&str]| {
        directories.iter().any(|directory| programs.iter().all(|program| directory.join(program).is_file()))
    };
    wanted.iter().filter(|backend| !has(backend.programs)).map(|backend| backend.package).collect()
}

/// PATH, and where distributions keep PostgreSQL's server programs; `testkit` looks in the same places.
fn directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        directories.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    directories.extend(versions.map(|version| version.path().join("bin")));
    directories
}

/// The words to put before a command that needs root; `None` when we may not become it.
fn become_root() -> Option<&'static [&'static str]> {
    let we_are_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if we_are_root {
        return Some(&[]);
    }
    // -n: never ask for a password, nobody may be there to type it.
    succeeds(Command::new("sudo").args(["-n", "true"])).then_some(&["sudo", "-n"])
}

fn install(packages: &[&str], become_root: &[&str]) -> Result<()> {
    eprintln!("not found: {}; installing", packages.join(", "));
    let as_root = |words: &[&str]| {
        let line: Vec<&str> = become_root
            .iter()
            .chain(&["env", "DEBIAN_FRONTEND=noninteractive"])
            .chain(words)
            .copied()
            .collect();
        run(Command::new(line[0]).args(&line[1..]))
    };
    let apt_install = ["apt-get", "install", "--yes", "--no-install-recommends"];
    if let Err(error) = as_root(&["apt-get", "update"]) {
        // Often it is an unrelated source that cannot be reached. The installation knows better.
        eprintln!("{error:#}; going on with the lists that are there");
    }
    if packages.contains(&"postgresql") && !Path::new(CLUSTER_SETTINGS).exists() {
        // The tests bring servers of their own: the machine need not get one as well. If the settings exist
        // already they are the machine's owner's, and stay.
        as_root(&[&apt_install[..], &["postgresql-common"]].concat())?;
        as_root(&[
            "sed",
            "-i",
            "s/^#*create_main_cluster *=.*/create_main_cluster = false/",
            CLUSTER_SETTINGS,
        ])?;
    }
    as_root(&[&apt_install[..], packages].concat())
}

fn advice(packages: &[&str], has_apt: bool) -> String {
    let packages = packages.join(" ");
    if has_apt {
        return format!(
            "the tests need packages that are missing, and installing them needs root. Type:\n\n    \
             sudo apt-get update && sudo apt-get install --yes {packages}\n    cargo xtask test\n"
        );
    }
    let programs: Vec<&str> = BACKENDS.iter().flat_map(|backend| backend.programs).copied().collect();
    format!(
        "the tests need PostgreSQL's server, Redis and a browser; missing: {packages}. Install them with this system's \
         package manager so that {} are found on PATH, then type:\n\n    cargo xtask test\n",
        programs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_missing_unless_one_directory_holds_all_its_programs() {
        let all = ["postgresql", "redis-server", "chromium", "chromium-driver", "npm"];
        assert_eq!(missing(&BACKENDS, &[]), all);
        assert_eq!(missing(&BACKENDS, &[PathBuf::from("/nowhere")]), all);
        let both = [Backend { package: "x", programs: &["/proc/self/stat", "/proc/self/status"] }];
        assert_eq!(missing(&both, &[PathBuf::from("/nowhere")]), [""; 0], "a whole path is where it says");
    }

    #[test]
    fn the_advice_can_be_typed() {
        let text = advice(&["postgresql", "redis-server"], true);
        assert!(text.contains("sudo apt-get install --yes postgresql redis-server\n"), "{text}");
        assert!(!advice(&["redis-server"], true).contains("postgresql"));
        let elsewhere = advice(&["redis-server"], false);
        assert!(!elsewhere.contains("apt-get") && elsewhere.contains("redis-server"), "{elsewhere}");
    }
}
