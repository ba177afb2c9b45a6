//! Lists, one page at a time.

use domain::Timestamp;
use domain::cursor::{Cursor, CursorKey, Scope};
use hub::Caller;
use uuid::Uuid;
use wire::Page;

use crate::problem::Problem;

/// A list with its filters, for cursors that are good for nothing else.
pub(crate) struct List<'a> {
    caller: &'a Caller,
    name: &'a str,
    filters: Vec<(&'a str, String)>,
}

impl<'a> List<'a> {
    pub(crate) fn new(caller: &'a Caller, name: &'a str) -> Self {
        Self { caller, name, filters: Vec::new() }
    }

    pub(crate) fn filtered(mut self, name: &'a str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.filters.push((name, value.to_string()));
        }
        self
    }

    pub(crate) fn keys(&self, cursor: Option<&str>) -> Result<Option<Vec<CursorKey>>, Problem> {
        let Some(text) = cursor else { return Ok(None) };
        let keys = self.with_scope(|scope| Cursor::decode(scope, text));
        keys.map(Some).map_err(|error| Problem::field("/cursor", error.to_string()))
    }

    /// The place behind a row that is sorted by time and id.
    pub(crate) fn place(&self, cursor: Option<&str>) -> Result<Option<(Timestamp, Uuid)>, Problem> {
        match self.keys(cursor)?.as_deref() {
            None => Ok(None),
            Some([CursorKey::Int(micros), CursorKey::Uuid(id)]) => {
                Ok(Some((Timestamp::from_micros(*micros), *id)))
            }
            Some(_) => Err(Problem::field("/cursor", "not of this list")),
        }
    }

    /// A page of the rows, of which one more than `limit` was read to know whether there are more.
    pub(crate) fn page<R, T>(
        &self,
        mut rows: Vec<R>,
        limit: usize,
        keys: impl Fn(&R) -> Vec<CursorKey>,
        item: impl Fn(&R) -> T,
    ) -> Page<T> {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        let next_cursor = last.map(|row| self.with_scope(|scope| Cursor::encode(scope, &keys(row))));
        Page { items: rows.iter().map(item).collect(), next_cursor }
    }

    fn with_scope<T>(&self, work: impl FnOnce(&Scope<'_>) -> T) -> T {
        let filters: Vec<(&str, &str)> =
            self.filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let org = Some(self.caller.credential.organization.id);
        work(&Scope { org, list: self.name, filters: &filters })
    }
}

/// How many items a page has, and how many rows to read for it.
pub(crate) fn limits(asked: Option<u32>) -> (usize, i64) {
    let limit = asked.unwrap_or(wire::page::LIMIT_DEFAULT);
    (limit as usize, i64::from(limit) + 1)
}
