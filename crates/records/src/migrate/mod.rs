//! One migration text for both engines, applied once each, never edited once merged.
//!
//! A text holds tokens for the types that differ (`@uuid`, `@json`, …). What only one engine can do stands between
//! `-- @sqlite` or `-- @pg` and `-- @end`.

mod postgres;
mod sqlite;

use sha2::{Digest, Sha256};

pub use postgres::{is_current, run as run_postgres};
pub use sqlite::{copy as copy_sqlite, is_current as is_current_sqlite, run as run_sqlite};

use crate::{Engine, Error, Result};

/// The release this code is. It runs with its own schema and the next release's, so that servers can be
/// replaced one by one.
const RELEASE: i64 = 1;

struct Migration {
    number: i64,
    release: i64,
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, release: 1, name: "core", text: include_str!("../../migrations/0001_core.sql") },
    Migration {
        number: 2,
        release: 1,
        name: "identity",
        text: include_str!("../../migrations/0002_identity.sql"),
    },
    Migration {
        number: 3,
        release: 1,
        name: "enrolments",
        text: include_str!("../../migrations/0003_enrolments.sql"),
    },
    Migration {
        number: 4,
        release: 1,
        name: "review",
        text: include_str!("../../migrations/0004_review.sql"),
    },
    Migration {
        number: 5,
        release: 1,
        name: "directory",
        text: include_str!("../../migrations/0005_directory.sql"),
    },
    Migration {
        number: 6,
        release: 1,
        name: "review_indexes",
        text: include_str!("../../migrations/0006_review_indexes.sql"),
    },
    Migration { number: 7, release: 1, name: "apply", text: include_str!("../../migrations/0007_apply.sql") },
    Migration {
        number: 8,
        release: 1,
        name: "archive",
        text: include_str!("../../migrations/0008_archive.sql"),
    },
    Migration {
        number: 9,
        release: 1,
        name: "sparse_indexes",
        text: include_str!("../../migrations/0009_sparse_indexes.sql"),
    },
    Migration {
        number: 10,
        release: 1,
        name: "people",
        text: include_str!("../../migrations/0010_people.sql"),
    },
    Migration {
        number: 11,
        release: 1,
        name: "grants",
        text: include_str!("../../migrations/0011_grants.sql"),
    },
    Migration {
        number: 12,
        release: 1,
        name: "webhooks",
        text: include_str!("../../migrations/0012_webhooks.sql"),
    },
    Migration {
        number: 13,
        release: 1,
        name: "escalations",
        text: include_str!("../../migrations/0013_escalations.sql"),
    },
    Migration {
        number: 14,
        release: 1,
        name: "progress",
        text: include_str!("../../migrations/0014_progress.sql"),
    },
    Migration {
        number: 15,
        release: 1,
        name: "notifications",
        text: include_str!("../../migrations/0015_notifications.sql"),
    },
    Migration {
        number: 16,
        release: 1,
        name: "skips",
        text: include_str!("../../migrations/0016_skips.sql"),
    },
    Migration {
        number: 17,
        release: 1,
        name: "lean_indexes",
        text: include_str!("../../migrations/0017_lean_indexes.sql"),
    },
    Migration {
        number: 18,
        release: 1,
        name: "plain_checks",
        text: include_str!("../../migrations/0018_plain_checks.sql"),
    },
    Migration {
        number: 19,
        release: 1,
        name: "told_once",
        text: include_str!("../../migrations/0019_told_once.sql"),
    },
    Migration {
        number: 20,
        release: 1,
        name: "needs_attention",
        text: include_str!("../../migrations/0020_needs_attention.sql"),
    },
];

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (number @int NOT NULL PRIMARY KEY, \
     release @int NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at @ts NOT NULL) @strict";

/// What a database says was applied to it.
struct Applied {
    number: i64,
    release: i64,
    checksum: String,
}

impl Migration {
    fn checksum(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The migrations still to be applied, or why this program must not touch the database.
fn pending(applied: &[Applied]) -> Result<Vec<&'static Migration>> {
    for done in applied {
        match MIGRATIONS.iter().find(|known| known.number == done.number) {
            Some(known) if known.checksum() != done.checksum => {
                return Err(Error::Refused(format!(
                    "migration {} of the database is not the one this program knows; it was made by a modified \
                     build. Start the build that made it, or restore a backup.",
                    done.number
                )));
            }
            None if done.release > RELEASE + 1 => {
                return Err(Error::Refused(format!(
                    "the database has the schema of release {}, this program is release {RELEASE} and can run with \
                     {} at most. Start a newer countersign.",
                    done.release,
                    RELEASE + 1
                )));
            }
            _ => {}
        }
    }
    Ok(MIGRATIONS.iter().filter(|known| applied.iter().all(|done| done.number != known.number)).collect())
}

/// The text as the engine understands it.
fn rendered(text: &str, engine: Engine) -> String {
    let (section, types) = match engine {
        Engine::Sqlite => ("-- @sqlite", SQLITE_TYPES),
        Engine::Postgres => ("-- @pg", POSTGRES_TYPES),
    };
    let mut kept = String::with_capacity(text.len());
    let mut other_engine = false;
    for line in text.lines() {
        match line.trim() {
            "-- @sqlite" | "-- @pg" => other_engine = line.trim() != section,
            "-- @end" => other_engine = false,
            _ if other_engine => {}
            _ => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    types.iter().fold(kept, |text, (token, ty)| text.replace(token, ty))
}

const SQLITE_TYPES: &[(&str, &str)] = &[
    ("@uuid", "TEXT"),
    ("@json", "TEXT"),
    ("@ts", "INTEGER"),
    ("@blob", "BLOB"),
    ("@bool", "INTEGER"),
    ("@int", "INTEGER"),
    ("@strict", "STRICT"),
];
const POSTGRES_TYPES: &[(&str, &str)] = &[
    ("@uuid", "UUID"),
    ("@json", "JSONB"),
    ("@ts", "TIMESTAMPTZ"),
    ("@blob", "BYTEA"),
    ("@bool", "BOOLEAN"),
    ("@int", "BIGINT"),
    ("@strict", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(number: i64, release: i64, checksum: &str) -> Applied {
        Applied { number, release, checksum: checksum.to_owned() }
    }

    #[test]
    fn numbers_are_consecutive_and_releases_do_not_go_back() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.number, i64::try_from(index).unwrap() + 1, "{}", migration.name);
        }
        assert!(MIGRATIONS.is_sorted_by_key(|migration| migration.release));
        assert!(MIGRATIONS.iter().all(|migration| migration.release <= RELEASE));
    }

    #[test]
    fn an_edited_migration_and_a_schema_too_new_are_refused() {
        assert!(pending(&[applied(1, 1, "edited")]).is_err());
        assert!(pending(&[applied(999, RELEASE + 2, "x")]).is_err());
        assert!(pending(&[applied(999, RELEASE + 1, "x")]).is_ok(), "the next release's schema is fine");
        let first = pending(&[applied(1, 1, &MIGRATIONS[0].checksum())]).unwrap();
        assert_eq!(first.len(), MIGRATIONS.len() - 1, "what was applied is not applied again");
    }

    #[test]
    fn sections_and_tokens() {
        let text = "a @int\n-- @sqlite\nb @ts\n-- @end\n-- @pg\nc @ts\n-- @end\nd\n";
        assert_eq!(rendered(text, Engine::Sqlite), "a INTEGER\nb INTEGER\nd\n");
        assert_eq!(rendered(text, Engine::Postgres), "a BIGINT\nc TIMESTAMPTZ\nd\n");
    }
}
