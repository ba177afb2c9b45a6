//! Migrations: once each, never over damage, never over a schema from the future.

mod postgres;
mod sqlite;

/// How many there are: one file each.
fn all() -> usize {
    let texts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    std::fs::read_dir(texts).unwrap().count()
}
