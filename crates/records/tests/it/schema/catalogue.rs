//! What each engine says it has, in words both can be compared in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, Row};

pub(super) type Catalogue = BTreeMap<String, Table>;

#[derive(Default, Debug)]
pub(super) struct Table {
    pub(super) columns: BTreeMap<String, Column>,
    pub(super) primary_key: Vec<String>,
    pub(super) foreign_keys: BTreeSet<ForeignKey>,
    pub(super) indexes: BTreeMap<String, Index>,
}

#[derive(PartialEq, Debug)]
pub(super) struct Column {
    pub(super) nullable: bool,
    pub(super) default: Option<String>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ForeignKey {
    pub(super) columns: Vec<String>,
    pub(super) table: String,
    pub(super) targets: Vec<String>,
    pub(super) on_delete: String,
    pub(super) on_update: String,
}

#[derive(PartialEq, Debug)]
pub(super) struct Index {
    /// In order; one that runs downwards says so.
    pub(super) columns: Vec<String>,
    pub(super) unique: bool,
    pub(super) predicate: Option<String>,
}

/// Without what each engine writes in its own way: parentheses, capitals, casts of words, white space, lists.
fn normal(predicate: &str) -> String {
    let bare = predicate.replace(['(', ')'], " ").replace("::text", "").to_lowercase();
    let bare = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    // PostgreSQL keeps `x IN ('a', 'b')` as `x = ANY (ARRAY['a', 'b'])`.
    bare.replace("= any array[", "in ").replace(']', "")
}

fn rows<T>(conn: &Connection, sql: &str, read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
    let mut statement = conn.prepare(sql).unwrap();
    statement.query_map([], read).unwrap().collect::<Result<_, _>>().unwrap()
}

pub(super) fn of_sqlite(file: &Path) -> Catalogue {
    let conn = Connection::open(file).unwrap();
    // STRICT keeps types as PostgreSQL does; a trigger would be a rule in SQL; a deferred constraint would fail
    // at the commit a unit shares with others.
    assert_eq!(rows(&conn, "SELECT name FROM sqlite_schema WHERE type = 'trigger'", text), [""; 0]);
    let loose = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND \
                 name NOT LIKE 'sqlite_%'";
    assert_eq!(rows(&conn, loose, text), [""; 0], "not STRICT");
    assert_eq!(rows(&conn, "SELECT name FROM sqlite_schema WHERE sql LIKE '%DEFERR%'", text), [""; 0]);
    let names =
        rows(&conn, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", text);
    names.into_iter().map(|name| (name.clone(), sqlite_table(&conn, &name))).collect()
}

fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}

fn sqlite_table(conn: &Connection, name: &str) -> Table {
    let mut table = Table::default();
    let mut key = BTreeMap::new();
    let columns = format!("SELECT name, \"notnull\", dflt_value, pk FROM pragma_table_info('{name}')");
    rows(conn, &columns, |row| {
        let (column, place): (String, i64) = (row.get(0)?, row.get(3)?);
        if 0 < place {
            key.insert(place, column.clone());
        }
        let (not_null, default): (bool, Option<String>) = (row.get(1)?, row.get(2)?);
        table.columns.insert(column, Column { nullable: !not_null, default });
        Ok(())
    });
    table.primary_key = key.into_values().collect();
    table.foreign_keys = sqlite_foreign_keys(conn, name);
    let indexes = format!("SELECT name, \"unique\" FROM pragma_index_list('{name}') WHERE origin <> 'pk'");
    let indexes: Vec<(String, bool)> = rows(conn, &indexes, |row| Ok((row.get(0)?, row.get(1)?)));
    table.indexes = indexes
        .into_iter()
        .map(|(index, unique)| {
            let shape = sqlite_index(conn, &index, unique);
            (index, shape)
        })
        .collect();
    table
}

fn sqlite_foreign_keys(conn: &Connection, table: &str) -> BTreeSet<ForeignKey> {
    let sql = format!(
        "SELECT id, \"table\", \"from\", \"to\", on_delete, on_update FROM pragma_foreign_key_list('{table}') \
         ORDER BY id, seq"
    );
    let mut keys: BTreeMap<i64, ForeignKey> = BTreeMap::new();
    rows(conn, &sql, |row| {
        let (table, on_delete, on_update) = (row.get(1)?, row.get(4)?, row.get(5)?);
        let key = keys.entry(row.get(0)?).or_insert(ForeignKey {
            columns: Vec::new(),
            table,
            targets: Vec::new(),
            on_delete,
            on_update,
        });
        key.columns.push(row.get(2)?);
        key.targets.push(row.get(3)?);
        Ok(())
    });
    keys.into_values().collect()
}

fn sqlite_index(conn: &Connection, name: &str, unique: bool) -> Index {
    let columns = format!("SELECT name, \"desc\" FROM pragma_index_xinfo('{name}') WHERE key ORDER BY seqno");
    let columns = rows(conn, &columns, |row| Ok(directed(row.get(0)?, row.get(1)?)));
    let sql: Option<String> = conn
        .query_row("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1", [name], |row| {
            row.get(0)
        })
        .unwrap();
    let predicate = sql.as_deref().and_then(|sql| sql.split_once(" WHERE ")).map(|(_, text)| normal(text));
    Index { columns, unique, predicate }
}

fn directed(column: String, descending: bool) -> String {
    if descending { format!("{column} DESC") } else { column }
}

const POSTGRES_COLUMNS: &str = "SELECT c.relname, a.attname, NOT a.attnotnull, pg_get_expr(d.adbin, d.adrelid), \
     COALESCE(array_position(i.indkey::int2[], a.attnum), -1)::int8 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
     AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
     LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary WHERE c.relnamespace = current_schema()::regnamespace \
     AND c.relkind = 'r' ORDER BY 1, 5";
const POSTGRES_FOREIGN_KEYS: &str = "SELECT k.conrelid::regclass::text, k.confrelid::regclass::text, k.confdeltype::text, \
     k.confupdtype::text, k.condeferrable, (SELECT array_agg(a.attname::text ORDER BY n.place) FROM unnest(k.conkey) WITH ORDINALITY \
     AS n (number, place) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.number), \
     (SELECT array_agg(a.attname::text ORDER BY n.place) FROM unnest(k.confkey) WITH ORDINALITY AS n (number, place) \
     JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = n.number) FROM pg_constraint k \
     WHERE k.contype = 'f' AND k.connamespace = current_schema()::regnamespace";
const POSTGRES_INDEXES: &str = "SELECT i.indrelid::regclass::text, c.relname::text, i.indisunique, \
     pg_get_expr(i.indpred, i.indrelid), (SELECT array_agg(pg_get_indexdef(c.oid, n::int, true) ORDER BY n) \
     FROM generate_series(1, i.indnkeyatts) AS n), i.indoption::int2[] FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
     WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisprimary";
const POSTGRES_TRIGGERS: &str = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";

pub(super) async fn of_postgres(client: &tokio_postgres::Client) -> Catalogue {
    let triggers: i64 = client.query_one(POSTGRES_TRIGGERS, &[]).await.unwrap().get(0);
    assert_eq!(triggers, 0, "a trigger would be a rule in SQL");
    let mut catalogue = Catalogue::new();
    for row in client.query(POSTGRES_COLUMNS, &[]).await.unwrap() {
        let (table, column): (String, String) = (row.get(0), row.get(1));
        let table = catalogue.entry(table).or_default();
        // In the order of the key, with those outside it in front.
        if 0 <= row.get::<_, i64>(4) {
            table.primary_key.push(column.clone());
        }
        let default = row.get::<_, Option<String>>(3);
        // PostgreSQL notes the type of a constant.
        let default = default.map(|text| text.split("::").next().unwrap_or_default().to_owned());
        table.columns.insert(column, Column { nullable: row.get(2), default });
    }
    for row in client.query(POSTGRES_FOREIGN_KEYS, &[]).await.unwrap() {
        let key = ForeignKey {
            columns: row.get(5),
            table: row.get(1),
            targets: row.get(6),
            on_delete: action(row.get(2)),
            on_update: action(row.get(3)),
        };
        assert!(!row.get::<_, bool>(4), "deferrable: {key:?}");
        catalogue.get_mut(row.get::<_, &str>(0)).unwrap().foreign_keys.insert(key);
    }
    for row in client.query(POSTGRES_INDEXES, &[]).await.unwrap() {
        let (columns, options): (Vec<String>, Vec<i16>) = (row.get(4), row.get(5));
        let columns =
            columns.into_iter().zip(options).map(|(column, bits)| directed(column, bits & 1 == 1)).collect();
        let predicate = row.get::<_, Option<&str>>(3).map(normal);
        let index = Index { columns, unique: row.get(2), predicate };
        catalogue.get_mut(row.get::<_, &str>(0)).unwrap().indexes.insert(row.get(1), index);
    }
    catalogue
}

/// The words of SQL for PostgreSQL's letters.
fn action(letter: &str) -> String {
    match letter {
        "a" => "NO ACTION",
        "r" => "RESTRICT",
        "c" => "CASCADE",
        "n" => "SET NULL",
        "d" => "SET DEFAULT",
        other => panic!("an action {other:?}"),
    }
    .to_owned()
}
