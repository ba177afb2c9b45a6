//! SQL texts. Every one is a registered static, so that one test can PREPARE them all on both engines.
//!
//! `NULLIF(org_id, NULL) = $1` is `org_id = $1` that no index is chosen for. SQLite knows no statistics, and takes the
//! things of an organization for as few as those of a task; whatever is found by something rarer says so like this. A
//! test looks at the plan of every statement.

use std::marker::PhantomData;

use crate::row::FromRow;
use crate::value::Value;

/// The text of a statement. The engines share it, except for what only one of them knows (row locks).
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// For SQLite.
    pub lite: &'static str,
    /// For PostgreSQL.
    pub pg: &'static str,
    /// The same without its row lock: a read is a snapshot, and may not lock.
    pub pg_read: &'static str,
}

impl Text {
    /// The same text for both engines.
    #[must_use]
    pub const fn same(text: &'static str) -> Self {
        Self { lite: text, pg: text, pg_read: text }
    }
}

/// A statement that changes rows and returns none.
pub struct Command(pub Text);

/// A statement that returns rows of type `T`.
pub struct Query<T> {
    pub(crate) text: Text,
    of: PhantomData<fn() -> T>,
}

impl<T> Query<T> {
    /// Says that the text returns rows of type `T`.
    #[must_use]
    pub const fn new(text: Text) -> Self {
        Self { text, of: PhantomData }
    }
}

/// A query with optional conditions, for lists with filters.
///
/// `?` in a clause or the tail stands for the next parameter; the head numbers its own (`$1`, …).
pub struct Search<T> {
    head: &'static str,
    clauses: &'static [&'static str],
    tail: &'static str,
    of: PhantomData<fn() -> T>,
}

/// A [`Search`] with its conditions chosen.
pub struct Built<'a, T> {
    pub(crate) text: String,
    pub(crate) values: Vec<Value<'a>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Search<T> {
    /// A search over `head AND clause AND … tail`.
    #[must_use]
    pub const fn new(head: &'static str, clauses: &'static [&'static str], tail: &'static str) -> Self {
        Self { head, clauses, tail, of: PhantomData }
    }

    /// Starts with the parameters of the head.
    #[must_use]
    pub fn with<'a>(&self, head: &[Value<'a>]) -> Built<'a, T> {
        Built { text: self.head.to_owned(), values: head.to_vec(), of: PhantomData }
    }

    /// The text with every clause present, for the test over all statements.
    #[must_use]
    pub fn whole(&self) -> String {
        let mut built: Built<'_, T> =
            Built { text: self.head.to_owned(), values: Vec::new(), of: PhantomData };
        built.values.resize(highest_parameter(self.head), Value::Null);
        for clause in self.clauses {
            let values = vec![Value::Null; clause.matches('?').count()];
            built.and(clause, &values);
        }
        let values = vec![Value::Null; self.tail.matches('?').count()];
        built.tail(self.tail, &values).text
    }

    /// Adds the tail's parameters and closes the text.
    #[must_use]
    pub fn finish<'a>(&self, built: Built<'a, T>, tail: &[Value<'a>]) -> Built<'a, T> {
        built.tail(self.tail, tail)
    }

    /// Adds a clause of the list given at construction; one that is not in it is a bug of the caller.
    pub fn and<'a>(&self, built: &mut Built<'a, T>, clause: &'static str, values: &[Value<'a>]) {
        debug_assert!(self.clauses.contains(&clause), "unregistered clause {clause}");
        built.and(clause, values);
    }
}

fn highest_parameter(text: &str) -> usize {
    (1..).take_while(|n| text.contains(&format!("${n}"))).count()
}

impl<'a, T> Built<'a, T> {
    fn and(&mut self, clause: &str, values: &[Value<'a>]) {
        self.text.push_str(" AND ");
        self.append(clause, values);
    }

    fn tail(mut self, tail: &str, values: &[Value<'a>]) -> Self {
        self.text.push(' ');
        self.append(tail, values);
        self
    }

    fn append(&mut self, text: &str, values: &[Value<'a>]) {
        let mut number = self.values.len();
        for piece in text.split_inclusive('?') {
            match piece.strip_suffix('?') {
                Some(before) => {
                    number += 1;
                    self.text.push_str(before);
                    self.text.push('$');
                    self.text.push_str(&number.to_string());
                }
                None => self.text.push_str(piece),
            }
        }
        self.values.extend_from_slice(values);
        debug_assert_eq!(number, self.values.len(), "a value for each question mark in {text}");
    }
}

/// An entry of the list of all statements.
pub struct Registered {
    /// Module and name.
    pub name: &'static str,
    /// The texts, whole.
    pub texts: fn() -> (String, String),
    /// The columns the row type expects; none for a command.
    pub columns: Option<&'static [&'static str]>,
}

inventory::collect!(Registered);

/// Every statement of the program.
pub fn registered() -> impl Iterator<Item = &'static Registered> {
    inventory::iter::<Registered>.into_iter()
}

/// The columns of a row type, for registration.
#[must_use]
pub const fn columns_of<T: FromRow>() -> &'static [&'static str] {
    T::COLUMNS
}

/// Declares and registers a statement: `statement!(GET: ApiKey = "SELECT …")`, `statement!(REVOKE = "UPDATE …")`,
/// with a row lock `statement!(LOCK: Row = "SELECT …", lock "FOR UPDATE")`, with two texts
/// `statement!(NUMBER: Row = lite "…", pg "…")`, with filters `statement!(LIST: Row = "SELECT …" and ["a = ?"] then "ORDER BY …")`.
#[macro_export]
macro_rules! statement {
    ($name:ident = $text:literal) => {
        $crate::statement!($name = lite $text, pg $text);
    };
    ($name:ident = lite $lite:literal, pg $pg:literal) => {
        static $name: $crate::statement::Command =
            $crate::statement::Command($crate::statement::Text { lite: $lite, pg: $pg, pg_read: $pg });
        inventory::submit! { $crate::statement::Registered {
            name: concat!(module_path!(), "::", stringify!($name)),
            texts: || ($lite.to_owned(), $pg.to_owned()),
            columns: None,
        } }
    };
    ($name:ident: $row:ty = $text:literal) => {
        $crate::statement!($name: $row = lite $text, pg $text);
    };
    ($name:ident: $row:ty = $text:literal, lock $lock:literal) => {
        $crate::statement!($name: $row = lite $text, pg concat!($text, " ", $lock), pg_read $text);
    };
    ($name:ident: $row:ty = lite $lite:expr, pg $pg:expr) => {
        $crate::statement!($name: $row = lite $lite, pg $pg, pg_read $pg);
    };
    ($name:ident: $row:ty = lite $lite:expr, pg $pg:expr, pg_read $read:expr) => {
        static $name: $crate::statement::Query<$row> =
            $crate::statement::Query::new($crate::statement::Text { lite: $lite, pg: $pg, pg_read: $read });
        inventory::submit! { $crate::statement::Registered {
            name: concat!(module_path!(), "::", stringify!($name)),
            texts: || ($lite.to_owned(), $pg.to_owned()),
            columns: Some($crate::statement::columns_of::<$row>()),
        } }
    };
    ($name:ident: $row:ty = $head:literal and $clauses:tt then $tail:literal) => {
        static $name: $crate::statement::Search<$row> =
            $crate::statement::Search::new($head, &$clauses, $tail);
        inventory::submit! { $crate::statement::Registered {
            name: concat!(module_path!(), "::", stringify!($name)),
            texts: || ($name.whole(), $name.whole()),
            columns: Some($crate::statement::columns_of::<$row>()),
        } }
    };
}
