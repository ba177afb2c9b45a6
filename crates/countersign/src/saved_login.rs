//! The logins that commands use when there is no API key: one for each hub, in a file of this user alone.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// Who else may read or write the file: nobody.
const OTHERS: u32 = 0o077;

/// A login of one hub.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SavedLogin {
    pub(crate) token: String,
    /// For whoever looks into the file.
    pub(crate) account: String,
    pub(crate) expires_at: String,
}

#[derive(Default, Serialize, Deserialize)]
struct SavedLogins {
    /// By the address of the hub.
    hubs: BTreeMap<String, SavedLogin>,
}

/// The token for the hub at this address, if there is a login for it.
pub(crate) fn token_for(url: &str) -> anyhow::Result<Option<String>> {
    let Some(path) = path() else { return Ok(None) };
    Ok(read(&path)?.hubs.remove(url).map(|login| login.token))
}

/// Keeps a login, instead of an earlier one for the same hub.
pub(crate) fn keep(url: &str, login: SavedLogin) -> anyhow::Result<()> {
    let Some(path) = path() else {
        bail!("there is no place to keep the login: neither XDG_CONFIG_HOME nor HOME is set");
    };
    let mut logins = read(&path)?;
    logins.hubs.insert(url.to_owned(), login);
    write(&path, &logins)
}

/// Forgets the login for the hub at this address.
pub(crate) fn forget(url: &str) -> anyhow::Result<()> {
    let Some(path) = path() else { return Ok(()) };
    let mut logins = read(&path)?;
    logins.hubs.remove(url);
    write(&path, &logins)
}

fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative path is to be ignored, says the specification of XDG_CONFIG_HOME.
    let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let config = config.or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(config.join("countersign").join("login.json"))
}

fn read(path: &Path) -> anyhow::Result<SavedLogins> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(SavedLogins::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if metadata.permissions().mode() & OTHERS != 0 {
        bail!(
            "others may read {path}, which holds your login: run `chmod 600 {path}`",
            path = path.display()
        );
    }
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; remove it and log in again", path.display()))
}

/// Replaces the file whole: whoever reads meanwhile sees the one before.
fn write(path: &Path, logins: &SavedLogins) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory).with_context(cannot)?;
    let unfinished = path.with_extension(format!("json.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)
        .with_context(cannot)?;
    let text = serde_json::to_vec_pretty(logins)?;
    file.write_all(&text).and_then(|()| file.sync_all()).with_context(cannot)?;
    std::fs::rename(&unfinished, path).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(token: &str) -> SavedLogin {
        SavedLogin { token: token.to_owned(), account: "a@b".to_owned(), expires_at: "later".to_owned() }
    }

    #[test]
    fn logins_are_kept_by_hub_and_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config/countersign/login.json");
        assert!(read(&path).unwrap().hubs.is_empty());
        let mut logins = SavedLogins::default();
        logins.hubs.insert("http://one/".to_owned(), login("css_1"));
        logins.hubs.insert("http://two/".to_owned(), login("css_2"));
        write(&path, &logins).unwrap();
        let found = read(&path).unwrap();
        assert_eq!(found.hubs["http://two/"].token, "css_2");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left over");
        for open in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(open)).unwrap();
            let refused = read(&path).err().unwrap().to_string();
            assert!(refused.contains("chmod 600"), "{refused}");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, "{").unwrap();
        assert!(read(&path).err().unwrap().to_string().contains("damaged"));
    }
}
