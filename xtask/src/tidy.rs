//! Rules about the tree that no compiler checks. Each rule returns the problems it sees.

mod arrows;
mod lessons;
mod one_place;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use self::text::File;

/// Directories that are not ours to keep tidy.
const SKIPPED: [&str; 3] = [".git", "countersign-data", "target"];

/// Checks the whole tree and shows every problem, not only the first.
pub(crate) fn check(root: &Path) -> Result<()> {
    let metadata = serde_json::from_str(&crate::metadata()?).context("cargo metadata is not JSON")?;
    let mut problems = arrows::check(&arrows::members(&metadata)?);
    let files = read_tree(root)?;
    for file in &files {
        problems.extend(text::check(file));
    }
    problems.extend(text::check_long_files(&files));
    problems.extend(one_place::check(&files));
    problems.extend(lessons::check(&files));
    if let Some(architecture) = files.iter().find(|file| file.path == "ARCHITECTURE.md") {
        problems.extend(arrows::check_architecture(&architecture.text));
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    ensure!(problems.is_empty(), "{} problem(s) in the tree", problems.len());
    eprintln!("{} files and every arrow between crates are tidy", files.len());
    Ok(())
}

/// Every text file of the tree, by path. What is not UTF-8 is a picture or a fixture, and has no lines.
fn read_tree(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in entries(&directory)? {
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let relative = path.strip_prefix(root)?.display().to_string();
            files.extend(String::from_utf8(bytes).ok().map(|text| File { path: relative, text }));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in
        std::fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?
    {
        let entry = entry?;
        if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_read_with_paths_from_its_root() {
        let files = read_tree(&crate::root().unwrap()).unwrap();
        assert!(files.iter().any(|file| file.path == "xtask/src/tidy/arrows.rs"));
        assert!(files.iter().any(|file| file.path == ".cargo/config.toml"));
        assert!(!files.iter().any(|file| file.path.starts_with("target/")));
    }
}
