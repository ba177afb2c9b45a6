//! Values: what goes in comes out, of every type, at its edges.

use domain::Timestamp;
use records::statement::{Command, Query, Text};
use records::value::Value;
use records::{Engine, Error, Result, args, row};
use serde_json::json;
use uuid::Uuid;

use crate::support::{Ground, WENT_ON, assert_error, on_both_engines};

on_both_engines!(
    null_is_null,
    every_value_comes_back,
    what_is_stored_means_the_same_to_others,
    a_wrong_type_is_a_bad_row,
    a_list_of_text_is_json,
);

static PUT: Command = Command(Text::same(
    "INSERT INTO kinds (id, a_uuid, a_time, a_json, a_blob, a_bool, an_int, a_text) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
));
static ALL: Query<Kinds> = Query::new(Text::same(
    "SELECT a_uuid, a_time, a_json, a_blob, a_bool, an_int, a_text FROM kinds ORDER BY id",
));

#[derive(Clone, PartialEq, Debug, Default)]
struct Kinds {
    a_uuid: Option<Uuid>,
    a_time: Option<Timestamp>,
    a_json: Option<serde_json::Value>,
    a_blob: Option<Vec<u8>>,
    a_bool: Option<bool>,
    an_int: Option<i64>,
    a_text: Option<String>,
}
row!(Kinds { a_uuid, a_time, a_json, a_blob, a_bool, an_int, a_text });

async fn put(ground: &Ground, rows: Vec<Kinds>) -> Result<()> {
    ground
        .db
        .write(rows, |tx, rows| {
            Box::pin(async move {
                for (id, row) in (0..).zip(rows) {
                    let values: &[Value<'_>] = args![
                        id,
                        row.a_uuid,
                        row.a_time,
                        row.a_json.as_ref(),
                        row.a_blob.as_ref(),
                        row.a_bool,
                        row.an_int,
                        row.a_text.as_ref(),
                    ];
                    // Half of them awaited, half pushed: both ways carry values.
                    match id % 2 {
                        0 => tx.exec(&PUT, values).await.map(drop)?,
                        _ => tx.push(&PUT, values).await?,
                    }
                }
                Ok(())
            })
        })
        .await
}

async fn null_is_null(ground: Ground) {
    put(&ground, vec![Kinds::default(), Kinds::default()]).await.unwrap();
    assert_eq!(ground.db.all(&ALL, args![]).await.unwrap(), [Kinds::default(), Kinds::default()]);
    // The null of JSON is a value, not the absence of one.
    ground.behind_its_back("DELETE FROM kinds").await;
    let null = Kinds { a_json: Some(serde_json::Value::Null), ..Kinds::default() };
    put(&ground, vec![null.clone()]).await.unwrap();
    assert_eq!(ground.db.all(&ALL, args![]).await.unwrap(), [null]);
}

fn of_each_type() -> Vec<Kinds> {
    let year_1 = -62_135_596_800_000_000;
    let end_of_9999 = 253_402_300_799_999_999;
    let times = [0, 1, -1, 1_773_847_800_123_456, year_1, end_of_9999, i64::MAX];
    let texts = [
        "",
        " ",
        "'; DROP TABLE things; --",
        "$1 ? @uuid",
        "zażółć gęślą 鍵 🔑",
        "a\u{301}",
        "\u{202e}\u{feff}\r\n\t",
    ];
    let documents = [
        json!({}),
        json!([]),
        json!(""),
        json!(123),
        json!(true),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.1),
        json!({"鍵": "🔑", "quote": "\"\\/\u{8}", "nested": [{"a": [null, {"b": {}}]}], "": 1}),
    ];
    let mut rows = Vec::new();
    let mut add = |row| rows.push(row);
    for uuid in [Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_00ff)] {
        add(Kinds { a_uuid: Some(uuid), ..Kinds::default() });
    }
    for micros in times {
        add(Kinds { a_time: Some(Timestamp::from_micros(micros)), ..Kinds::default() });
    }
    for document in documents {
        add(Kinds { a_json: Some(document), ..Kinds::default() });
    }
    for bytes in [vec![], vec![0], (0..=255).collect(), vec![0xff; 300_000]] {
        add(Kinds { a_blob: Some(bytes), ..Kinds::default() });
    }
    for yes in [true, false] {
        add(Kinds { a_bool: Some(yes), ..Kinds::default() });
    }
    for int in [0, 1, -1, i64::MIN, i64::MAX, 1 << 53, i64::from(i32::MAX) + 1] {
        add(Kinds { an_int: Some(int), ..Kinds::default() });
    }
    for text in texts {
        add(Kinds { a_text: Some(text.to_owned()), ..Kinds::default() });
    }
    add(Kinds { a_text: Some("é".repeat(100_000)), ..Kinds::default() });
    rows
}

async fn every_value_comes_back(ground: Ground) {
    let rows = of_each_type();
    put(&ground, rows.clone()).await.unwrap();
    let found = ground.db.all(&ALL, args![]).await.unwrap();
    assert_eq!(found.len(), rows.len());
    for (found, row) in found.iter().zip(&rows) {
        assert_eq!(found, row);
    }
    // As parameters of a condition they find themselves, so they are stored as what they are and not as text.
    static BY_VALUE: Query<Kinds> = Query::new(Text::same(
        "SELECT a_uuid, a_time, a_json, a_blob, a_bool, an_int, a_text FROM kinds \
         WHERE a_uuid = $1 OR a_time = $2 OR a_blob = $3 OR an_int = $4 ORDER BY id",
    ));
    let values = args![Uuid::max(), Timestamp::from_micros(-1), &[0], i64::MIN];
    let found = ground.db.all(&BY_VALUE, values).await.unwrap();
    let expected = [
        Kinds { a_uuid: Some(Uuid::max()), ..Kinds::default() },
        Kinds { a_time: Some(Timestamp::from_micros(-1)), ..Kinds::default() },
        Kinds { a_blob: Some(vec![0]), ..Kinds::default() },
        Kinds { an_int: Some(i64::MIN), ..Kinds::default() },
    ];
    assert_eq!(found, expected);
}

/// A mistake made both ways comes back right and is wrong all the same: a backup, a report or the next release
/// reads the rows without us.
async fn what_is_stored_means_the_same_to_others(ground: Ground) {
    put(&ground, of_each_type()).await.unwrap();
    let time = match ground.engine {
        Engine::Sqlite => "1773847800123456",
        Engine::Postgres => "'2026-03-18T15:30:00.123456Z'",
    };
    for (condition, count) in [
        ("a_uuid = '01980000-0000-7000-8000-0000000000ff'", 1),
        (&format!("a_time = {time}"), 1),
        ("a_json ->> '鍵' = '🔑'", 1),
        ("a_bool", 1),
        ("NOT a_bool", 1),
        ("an_int = 9007199254740992", 1),
        ("length(a_blob) = 256", 1),
        ("a_text = ''", 1),
        ("a_text IS NOT NULL", 8),
    ] {
        let sql = format!("SELECT count(*) FROM kinds WHERE {condition}");
        assert_eq!(ground.count_behind_its_back(&sql).await, count, "{condition}");
    }
}

struct NotNull {
    an_int: i64,
}
row!(NotNull { an_int });
struct Short {
    a_blob: [u8; 4],
}
row!(Short { a_blob });

async fn a_wrong_type_is_a_bad_row(ground: Ground) {
    static INT: Query<NotNull> = Query::new(Text::same("SELECT an_int FROM kinds"));
    static BLOB: Query<Short> = Query::new(Text::same("SELECT a_blob FROM kinds"));
    put(&ground, vec![Kinds { a_blob: Some(vec![1, 2, 3]), ..Kinds::default() }]).await.unwrap();
    let int = ground.db.opt(&INT, args![]).await.map(|row| row.map(|row| row.an_int));
    assert_error!(int, Error::BadRow { column: "an_int", .. });
    let blob = ground.db.opt(&BLOB, args![]).await.map(|row| row.map(|row| row.a_blob));
    assert_error!(blob, Error::BadRow { column: "a_blob", .. });
    // A row that cannot be read ends its unit like any other failure.
    let written: Result<()> = ground
        .db
        .write((), |tx, ()| {
            Box::pin(async move {
                tx.exec(
                    &PUT,
                    args![7, None::<Uuid>, None::<Timestamp>, None::<&str>, None::<&[u8]>, true, 1, ""],
                )
                .await?;
                assert_error!(tx.all(&BLOB, args![]).await, Error::BadRow { .. });
                Ok(())
            })
        })
        .await;
    assert_error!(written, Error::Misbehaved(WENT_ON));
    assert_eq!(ground.count_behind_its_back("SELECT count(*) FROM kinds").await, 1);
}

struct Names {
    a_json: Vec<String>,
}
row!(Names { a_json });

async fn a_list_of_text_is_json(ground: Ground) {
    static NAMES: Query<Names> = Query::new(Text::same("SELECT a_json FROM kinds"));
    put(&ground, vec![Kinds { a_json: Some(json!(["tasks:*", "é"])), ..Kinds::default() }]).await.unwrap();
    assert_eq!(ground.db.opt(&NAMES, args![]).await.unwrap().unwrap().a_json, ["tasks:*", "é"]);
    ground.behind_its_back("UPDATE kinds SET a_json = '[1]'").await;
    assert_error!(ground.db.opt(&NAMES, args![]).await, Error::BadRow { column: "a_json", .. });
}
