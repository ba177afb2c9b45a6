//! The schema: the same on both engines, and what REQUIREMENTS say (names verbatim).
//!
//! Names, columns, nullability, defaults, keys, actions, uniqueness and partial predicates are compared; types
//! and access methods are the engines' own.

mod behaviour;
mod catalogue;
mod checks;
mod expected;

use catalogue::{Catalogue, Table};
use expected::{ExpectedTable, Null, TABLES};
use records::Engine;

use crate::support::Ground;

/// Tables that are not the product's records: the ledger of migrations, and those of this suite.
const OTHERS: [&str; 3] = ["schema_migrations", "things", "kinds"];

async fn catalogue(engine: Engine) -> Catalogue {
    let ground = Ground::open(engine).await;
    match engine {
        Engine::Sqlite => catalogue::of_sqlite(&ground.file()),
        Engine::Postgres => catalogue::of_postgres(&ground.connect().await).await,
    }
}

async fn both() -> [(Engine, Catalogue); 2] {
    [(Engine::Sqlite, catalogue(Engine::Sqlite).await), (Engine::Postgres, catalogue(Engine::Postgres).await)]
}

#[tokio::test]
async fn both_engines_have_the_same_schema() {
    let [(_, lite), (_, pg)] = both().await;
    assert!(lite.len() > OTHERS.len(), "{:?}", lite.keys());
    assert_eq!(Vec::from_iter(lite.keys()), Vec::from_iter(pg.keys()));
    for (name, table) in &lite {
        let other = &pg[name];
        assert_eq!(table.columns, other.columns, "columns of {name}");
        assert_eq!(table.primary_key, other.primary_key, "primary key of {name}");
        assert_eq!(table.foreign_keys, other.foreign_keys, "foreign keys of {name}");
        assert_eq!(table.indexes, other.indexes, "indexes of {name}");
    }
}

#[tokio::test]
async fn every_table_says_when_its_rows_were_made_and_changed() {
    for (engine, catalogue) in both().await {
        for (name, table) in catalogue.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str())) {
            for column in ["created_at", "updated_at"] {
                let found =
                    table.columns.get(column).unwrap_or_else(|| panic!("{engine}: no {name}.{column}"));
                assert!(!found.nullable, "{engine}: {name}.{column} may be NULL");
                assert_eq!(found.default, None, "{engine}: times come from the hub, never from a default");
            }
            assert!(!table.primary_key.is_empty(), "{engine}: {name} has no primary key");
            for column in &table.primary_key {
                assert!(!table.columns[column].nullable, "{engine}: {name}.{column} may be NULL");
            }
        }
    }
}

/// A foreign key without an index makes each delete of what it points at read the whole table.
#[tokio::test]
async fn every_foreign_key_of_the_named_tables_is_indexed() {
    let catalogue = catalogue(Engine::Sqlite).await;
    /// Accounts are not deleted while a key they minted exists, and then only by hand. Organizations are not deleted
    /// at all, and their edges go with their tasks.
    const UNINDEXED: [(&str, &str); 2] = [("api_keys", "minted_by"), ("task_dependencies", "org_id")];
    for expected in TABLES {
        let table = &catalogue[expected.name];
        for key in &table.foreign_keys {
            let is_indexed = table.indexes.values().any(|index| index.columns.starts_with(&key.columns));
            let is_excused = UNINDEXED.contains(&(expected.name, key.columns[0].as_str()));
            assert_ne!(is_indexed, is_excused, "{}.{:?}", expected.name, key.columns);
        }
    }
}

#[tokio::test]
async fn both_schemas_are_what_the_requirements_say() {
    for (engine, catalogue) in both().await {
        for expected in TABLES {
            let name = expected.name;
            let table = catalogue.get(name).unwrap_or_else(|| panic!("{engine}: no table {name}"));
            columns_are_as_expected(engine, table, expected);
            keys_are_as_expected(engine, table, expected);
            indexes_are_as_expected(engine, table, expected);
        }
    }
}

fn columns_are_as_expected(engine: Engine, table: &Table, expected: &ExpectedTable) {
    let name = expected.name;
    assert_eq!(table.primary_key, ["id"], "{engine}: DB-01 of {name}");
    for (column, null) in expected::COMMON.iter().chain(expected.columns) {
        let found = table.columns.get(*column).unwrap_or_else(|| panic!("{engine}: no {name}.{column}"));
        match null {
            Null::Open => {}
            Null::Yes => assert!(found.nullable, "{engine}: {name}.{column} must be nullable"),
            Null::No => assert!(!found.nullable, "{engine}: {name}.{column} must be NOT NULL"),
        }
    }
    assert_eq!(table.columns["metadata"].default.as_deref(), Some("'{}'"), "{engine}: DB-02 of {name}");
}

fn keys_are_as_expected(engine: Engine, table: &Table, expected: &ExpectedTable) {
    let found: Vec<(&str, &str, &str)> = table
        .foreign_keys
        .iter()
        .map(|key| {
            assert_eq!((key.columns.len(), key.targets.as_slice()), (1, &["id".to_owned()][..]), "{key:?}");
            (key.columns[0].as_str(), key.table.as_str(), key.on_delete.as_str())
        })
        .collect();
    let mut wanted = expected.foreign_keys.to_vec();
    wanted.sort_unstable();
    assert_eq!(found, wanted, "{engine}: foreign keys of {}", expected.name);
}

fn indexes_are_as_expected(engine: Engine, table: &Table, expected: &ExpectedTable) {
    for wanted in expected.indexes {
        let name = wanted.name;
        let index = table.indexes.get(name).unwrap_or_else(|| panic!("{engine}: no index {name}"));
        assert_eq!(index.unique, name.starts_with("unq_"), "{engine}: {name}");
        assert_eq!(index.predicate.as_deref(), wanted.predicate, "{engine}: {name}");
        // What is behind the named columns only sorts; in a unique index it would change what is refused.
        match index.unique {
            true => assert_eq!(index.columns, wanted.columns, "{engine}: {name}"),
            false => assert!(
                index.columns.iter().zip(wanted.columns).all(|(found, wanted)| found == wanted),
                "{engine}: {name} is on {:?}",
                index.columns
            ),
        }
    }
}
