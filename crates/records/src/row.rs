//! Rows on their way out of a statement.

use std::collections::BTreeMap;
use std::error::Error as StdError;

use domain::canonical::Sha256Hash;
use domain::{Id, Timestamp};
use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::value::POSTGRES_EPOCH_MICROS;
use crate::{Error, Result};

/// One stored value, as either engine gives it.
#[derive(Clone)]
pub enum Cell<'a> {
    /// SQL NULL.
    Null,
    /// A value of SQLite.
    Lite(ValueRef<'a>),
    /// A value of PostgreSQL in its binary form.
    Pg(Type, &'a [u8]),
}

type Decoded<T> = Result<T, String>;

impl<'a> Cell<'a> {
    /// An integer column.
    pub fn int(&self) -> Decoded<i64> {
        match self {
            Self::Lite(ValueRef::Integer(v)) => Ok(*v),
            Self::Pg(_, raw) => match raw.len() {
                8 => Ok(i64::from_be_bytes(array(raw)?)),
                4 => Ok(i64::from(i32::from_be_bytes(array(raw)?))),
                n => Err(format!("an integer of {n} bytes")),
            },
            _ => Err("not an integer".into()),
        }
    }

    /// A text column; a JSON column as its text; a UUID column of SQLite.
    pub fn text(&self) -> Decoded<&'a str> {
        let raw = match self {
            Self::Lite(ValueRef::Text(raw)) => raw,
            Self::Pg(ty, raw) if *ty == Type::JSONB => raw.get(1..).unwrap_or_default(),
            Self::Pg(_, raw) => raw,
            _ => return Err("not text".into()),
        };
        std::str::from_utf8(raw).map_err(|_| "not UTF-8".into())
    }

    /// A blob column.
    pub fn bytes(&self) -> Decoded<&'a [u8]> {
        match self {
            Self::Lite(ValueRef::Blob(raw)) => Ok(raw),
            Self::Pg(_, raw) => Ok(raw),
            _ => Err("not a blob".into()),
        }
    }

    /// A boolean column.
    pub fn bool(&self) -> Decoded<bool> {
        match self {
            Self::Lite(ValueRef::Integer(v @ (0 | 1))) => Ok(*v == 1),
            Self::Pg(_, [v @ (0 | 1)]) => Ok(*v == 1),
            _ => Err("not a boolean".into()),
        }
    }

    /// A UUID column.
    pub fn uuid(&self) -> Decoded<Uuid> {
        match self {
            Self::Pg(_, raw) => Ok(Uuid::from_bytes(array(raw)?)),
            _ => Uuid::parse_str(self.text()?).map_err(|error| error.to_string()),
        }
    }

    /// A time column.
    pub fn time(&self) -> Decoded<Timestamp> {
        let micros = self.int()?;
        Ok(Timestamp::from_micros(match self {
            Self::Pg(..) => micros.saturating_add(POSTGRES_EPOCH_MICROS),
            _ => micros,
        }))
    }
}

fn array<const N: usize>(raw: &[u8]) -> Decoded<[u8; N]> {
    raw.try_into().map_err(|_| format!("{} bytes instead of {N}", raw.len()))
}

/// A type a column can be read as.
pub trait Col: Sized {
    /// Reads the cell, or says why it cannot.
    fn from_cell(cell: Cell<'_>) -> Decoded<Self>;
}

impl Col for i64 {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.int()
    }
}
impl Col for u32 {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        let number = cell.int()?;
        Self::try_from(number).map_err(|_| format!("{number} is no count"))
    }
}
impl Col for bool {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.bool()
    }
}
impl Col for String {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.text().map(Into::into)
    }
}
impl Col for Vec<u8> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.bytes().map(Into::into)
    }
}
impl<const N: usize> Col for [u8; N] {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        array(cell.bytes()?)
    }
}
impl Col for Sha256Hash {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        array(cell.bytes()?).map(Self)
    }
}
impl Col for Uuid {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.uuid()
    }
}
impl<T> Col for Id<T> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.uuid().map(Self::new)
    }
}
impl Col for Timestamp {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        cell.time()
    }
}
impl Col for serde_json::Value {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        serde_json::from_str(cell.text()?).map_err(|error| error.to_string())
    }
}
/// A JSON object.
impl Col for serde_json::Map<String, serde_json::Value> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        serde_json::from_str(cell.text()?).map_err(|error| error.to_string())
    }
}
/// A JSON object of text.
impl Col for BTreeMap<String, String> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        serde_json::from_str(cell.text()?).map_err(|error| error.to_string())
    }
}
/// A JSON list of ids.
impl<T> Col for Vec<Id<T>> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        let text = cell.text()?;
        // Most are empty, and lists read many.
        if text == "[]" {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        texts.iter().map(|text| text.parse().map_err(|_| "not a list of ids".to_owned())).collect()
    }
}
/// A JSON list of text.
impl Col for Vec<String> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        serde_json::from_str(cell.text()?).map_err(|error| error.to_string())
    }
}
impl<T: Col> Col for Option<T> {
    fn from_cell(cell: Cell<'_>) -> Decoded<Self> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::from_cell(cell).map(Some),
        }
    }
}

/// Lets types that are stored as text (`FromStr`) be read from a column.
#[macro_export]
macro_rules! text_column {
    ($($ty:ty),* $(,)?) => { $(
        impl $crate::row::Col for $ty {
            fn from_cell(cell: $crate::row::Cell<'_>) -> std::result::Result<Self, String> {
                let text = cell.text()?;
                text.parse().map_err(|_| format!("unknown value {text:?}"))
            }
        }
    )* };
}

/// One row of either engine.
pub enum Row<'a> {
    /// A row of SQLite.
    Lite(&'a rusqlite::Row<'a>),
    /// A row of PostgreSQL.
    Pg(&'a tokio_postgres::Row),
}

/// Reads a row's columns from left to right.
pub struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Row<'_> {
    /// Starts at the first column.
    #[must_use]
    pub fn columns(&self) -> Columns<'_> {
        Columns { row: self, next: 0 }
    }

    fn cell(&self, index: usize) -> Result<Cell<'_>, String> {
        match self {
            Row::Lite(row) => match row.get_ref(index).map_err(|error| error.to_string())? {
                ValueRef::Null => Ok(Cell::Null),
                value => Ok(Cell::Lite(value)),
            },
            Row::Pg(row) => {
                row.try_get::<_, Raw<'_>>(index).map(|raw| raw.0).map_err(|error| error.to_string())
            }
        }
    }
}

impl Columns<'_> {
    /// The next column; `name` is for the error message.
    pub fn read<T: Col>(&mut self, name: &'static str) -> Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.cell(index).and_then(T::from_cell).map_err(|reason| Error::BadRow { column: name, reason })
    }
}

/// A PostgreSQL value before it is decoded.
struct Raw<'a>(Cell<'a>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Cell::Pg(ty.clone(), raw)))
    }
    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Cell::Null))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A type a row can be read as.
pub trait FromRow: Sized + Send + 'static {
    /// The columns it expects, in order; a test compares them with every statement that returns it.
    const COLUMNS: &'static [&'static str];

    /// Reads the row.
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

/// Maps columns to the fields of a struct of the same names, in this order.
#[macro_export]
macro_rules! row {
    ($ty:ty { $($field:ident),* $(,)? }) => {
        impl $crate::row::FromRow for $ty {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field)),*];
            fn from_row(row: &$crate::row::Row<'_>) -> $crate::Result<Self> {
                let mut columns = row.columns();
                Ok(Self { $($field: columns.read(stringify!($field))?),* })
            }
        }
    };
}
