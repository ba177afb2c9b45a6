//! Values on their way into a statement.

use std::borrow::Cow;
use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use domain::canonical::Sha256Hash;
use domain::{Id, Timestamp};
use rusqlite::types::{ToSqlOutput, Value as LiteValue, ValueRef};
use tokio_postgres::types::{IsNull, Type};
use uuid::Uuid;

/// PostgreSQL counts microseconds from 2000-01-01, we from 1970-01-01.
pub(crate) const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

/// JSONB on the wire starts with the version of its format.
const JSONB_VERSION: u8 = 1;

/// One parameter of a statement.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// `@bool`
    Bool(bool),
    /// `BIGINT` or `INTEGER`
    Int(i64),
    /// `TEXT`
    Text(Cow<'a, str>),
    /// `@blob`
    Bytes(Cow<'a, [u8]>),
    /// `@uuid`
    Uuid(Uuid),
    /// `@ts`
    Time(Timestamp),
    /// `@json`, as text
    Json(Cow<'a, str>),
}

impl Value<'_> {
    /// The same value without borrowing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(v) => Value::Bool(v),
            Self::Int(v) => Value::Int(v),
            Self::Text(v) => Value::Text(Cow::Owned(v.into_owned())),
            Self::Bytes(v) => Value::Bytes(Cow::Owned(v.into_owned())),
            Self::Uuid(v) => Value::Uuid(v),
            Self::Time(v) => Value::Time(v),
            Self::Json(v) => Value::Json(Cow::Owned(v.into_owned())),
        }
    }
}

/// Parameters, in the order of `$1, $2, …`.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::value::Value::from($value)),*] };
}

impl From<bool> for Value<'_> {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}
impl From<i64> for Value<'_> {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}
impl<'a> From<&'a str> for Value<'a> {
    fn from(v: &'a str) -> Self {
        Self::Text(Cow::Borrowed(v))
    }
}
impl<'a> From<&'a String> for Value<'a> {
    fn from(v: &'a String) -> Self {
        Self::Text(Cow::Borrowed(v))
    }
}
impl From<String> for Value<'_> {
    fn from(v: String) -> Self {
        Self::Text(Cow::Owned(v))
    }
}
impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(v: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(v))
    }
}
impl From<Vec<u8>> for Value<'_> {
    fn from(v: Vec<u8>) -> Self {
        Self::Bytes(Cow::Owned(v))
    }
}
impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(v: &'a Vec<u8>) -> Self {
        Self::Bytes(Cow::Borrowed(v))
    }
}
impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(v: &'a [u8; N]) -> Self {
        Self::Bytes(Cow::Borrowed(v))
    }
}
impl From<Sha256Hash> for Value<'_> {
    fn from(v: Sha256Hash) -> Self {
        Self::Bytes(Cow::Owned(v.0.to_vec()))
    }
}
impl From<Uuid> for Value<'_> {
    fn from(v: Uuid) -> Self {
        Self::Uuid(v)
    }
}
impl<T> From<Id<T>> for Value<'_> {
    fn from(v: Id<T>) -> Self {
        Self::Uuid(v.raw())
    }
}
impl From<Timestamp> for Value<'_> {
    fn from(v: Timestamp) -> Self {
        Self::Time(v)
    }
}
impl From<&serde_json::Value> for Value<'_> {
    fn from(v: &serde_json::Value) -> Self {
        Self::Json(Cow::Owned(v.to_string()))
    }
}
impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Bool(v) => ToSqlOutput::Owned(LiteValue::Integer(i64::from(*v))),
            Self::Int(v) => ToSqlOutput::Owned(LiteValue::Integer(*v)),
            Self::Text(v) | Self::Json(v) => ToSqlOutput::Borrowed(ValueRef::Text(v.as_bytes())),
            Self::Bytes(v) => ToSqlOutput::Borrowed(ValueRef::Blob(v)),
            Self::Uuid(v) => ToSqlOutput::Owned(LiteValue::Text(v.to_string())),
            Self::Time(v) => ToSqlOutput::Owned(LiteValue::Integer(v.micros())),
        })
    }
}

impl tokio_postgres::types::ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Bool(v) => out.put_u8(u8::from(*v)),
            Self::Int(v) if *ty == Type::INT4 => out.put_i32(i32::try_from(*v)?),
            Self::Int(v) => out.put_i64(*v),
            Self::Text(v) => out.put_slice(v.as_bytes()),
            Self::Bytes(v) => out.put_slice(v),
            Self::Uuid(v) => out.put_slice(v.as_bytes()),
            Self::Time(v) => out.put_i64(v.micros().saturating_sub(POSTGRES_EPOCH_MICROS)),
            Self::Json(v) => {
                if *ty == Type::JSONB {
                    out.put_u8(JSONB_VERSION);
                }
                out.put_slice(v.as_bytes());
            }
        }
        Ok(IsNull::No)
    }

    // Which type a parameter has is the statement's choice; a wrong pairing fails in the server's decoder
    // and in the test that runs every statement.
    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}
