//! Lists, one page at a time.

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How many items a page has when nobody says.
pub const LIMIT_DEFAULT: u32 = 50;
/// How many items a page may have.
pub const LIMIT_MAX: u32 = 200;
/// A cursor holds the keys of one row; this leaves room for the longest.
pub const CURSOR_CHARS_MAX: usize = 2048;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// Pass it as `cursor` to get the next page; null on the last one.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many items at most (default 50).
    #[garde(inner(range(min = 1, max = LIMIT_MAX)))]
    #[param(minimum = 1, maximum = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[garde(inner(length(bytes, min = 1, max = CURSOR_CHARS_MAX)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_says_null() {
        let page = Page { items: vec![1, 2], next_cursor: None };
        assert_eq!(serde_json::to_string(&page).unwrap(), r#"{"items":[1,2],"next_cursor":null}"#);
    }

    #[test]
    fn limits_have_bounds() {
        for (limit, valid) in [(0, false), (1, true), (200, true), (201, false)] {
            let query = PageQuery { limit: Some(limit), cursor: None };
            assert_eq!(query.validate().is_ok(), valid, "{limit}");
        }
        assert!(PageQuery::default().validate().is_ok());
        assert!(PageQuery { limit: None, cursor: Some(String::new()) }.validate().is_err());
    }
}
