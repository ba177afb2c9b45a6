//! Reading one JSON object strictly: every member by name, everything wrong with its pointer.

use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::json::{FieldError, pointer_push};
use crate::text::{BadText, UnknownWord};

/// An object whose members are taken one by one; what nobody asked for is an error in the end.
///
/// A member that is missing is an error unless there is a default for it.
pub(super) struct Fields<'a> {
    members: &'a Map<String, Value>,
    pointer: String,
    asked: Vec<&'static str>,
    errors: &'a mut Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// The members of the object at this pointer; `None`, with an error, if it is no object.
    pub(super) fn of(value: &'a Value, pointer: String, errors: &'a mut Vec<FieldError>) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self { members, pointer, asked: Vec::new(), errors }),
            _ => {
                errors.push(FieldError { pointer, detail: "must be an object".to_owned() });
                None
            }
        }
    }

    fn at(&self, name: &str) -> String {
        let mut pointer = self.pointer.clone();
        pointer_push(&mut pointer, name);
        pointer
    }

    /// Notes that this member is wrong.
    pub(super) fn refuse(&mut self, name: &str, detail: impl Into<String>) {
        let pointer = self.at(name);
        self.errors.push(FieldError { pointer, detail: detail.into() });
    }

    /// Notes that this item of a list is wrong.
    pub(super) fn refuse_item(&mut self, list: &str, index: usize, detail: &str) {
        let pointer = format!("{}/{index}", self.at(list));
        self.errors.push(FieldError { pointer, detail: detail.to_owned() });
    }

    /// Notes that this member of an inner object is wrong.
    pub(super) fn refuse_member(&mut self, object: &str, name: &str, detail: String) {
        let mut pointer = self.at(object);
        pointer_push(&mut pointer, name);
        self.errors.push(FieldError { pointer, detail });
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        default: Option<T>,
        read: impl FnOnce(&'a Value) -> Result<T, BadText>,
    ) -> Option<T> {
        self.asked.push(name);
        let read = match (self.members.get(name), default) {
            (Some(value), _) => read(value),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(BadText("is required".to_owned())),
        };
        read.map_err(|bad| self.refuse(name, bad.to_string())).ok()
    }

    /// A text that passes the check.
    pub(super) fn text(
        &mut self,
        name: &'static str,
        default: Option<&str>,
        check: impl FnOnce(&str) -> Result<(), BadText>,
    ) -> Option<String> {
        self.read(name, default.map(str::to_owned), |value| {
            let text = value.as_str().ok_or_else(|| BadText("must be a string".to_owned()))?;
            check(text)?;
            Ok(text.to_owned())
        })
    }

    /// A word of a list.
    pub(super) fn word<T: FromStr<Err = UnknownWord>>(
        &mut self,
        name: &'static str,
        default: Option<T>,
    ) -> Option<T> {
        self.read(name, default, |value| {
            let text = value.as_str().ok_or_else(|| BadText("must be a string".to_owned()))?;
            text.parse().map_err(|unknown: UnknownWord| BadText(unknown.to_string()))
        })
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        default: Option<u32>,
        bounds: RangeInclusive<u32>,
    ) -> Option<u32> {
        self.read(name, default, |value| {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            number.filter(|number| bounds.contains(number)).ok_or_else(|| {
                BadText(format!("must be a whole number from {} to {}", bounds.start(), bounds.end()))
            })
        })
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &'static str, default: Option<bool>) -> Option<bool> {
        self.read(name, default, |value| {
            value.as_bool().ok_or_else(|| BadText("must be true or false".to_owned()))
        })
    }

    /// An object, as it is.
    pub(super) fn object(
        &mut self,
        name: &'static str,
        default: Option<Map<String, Value>>,
    ) -> Option<Map<String, Value>> {
        self.read(name, default, |value| {
            value.as_object().cloned().ok_or_else(|| BadText("must be an object".to_owned()))
        })
    }

    /// A list of at most so many, as they are.
    pub(super) fn list(
        &mut self,
        name: &'static str,
        default: Option<Vec<Value>>,
        most: usize,
    ) -> Option<Vec<Value>> {
        self.read(name, default, |value| {
            let items = value.as_array().ok_or_else(|| BadText("must be a list".to_owned()))?;
            if items.len() > most {
                return Err(BadText(format!("must be at most {most}, these are {}", items.len())));
            }
            Ok(items.clone())
        })
    }

    /// Reads an inner value with its own pointer.
    pub(super) fn inner<T>(
        &mut self,
        name: &str,
        value: &Value,
        read: impl FnOnce(&Value, String, &mut Vec<FieldError>) -> Option<T>,
    ) -> Option<T> {
        let pointer = self.at(name);
        read(value, pointer, self.errors)
    }

    /// Reads the items of a list, each with its own pointer.
    pub(super) fn items<T>(
        &mut self,
        name: &str,
        items: &[Value],
        read: impl Fn(&Value, String, &mut Vec<FieldError>) -> Option<T>,
    ) -> Vec<T> {
        let list = self.at(name);
        let read = |(index, item): (usize, &Value)| read(item, format!("{list}/{index}"), self.errors);
        items.iter().enumerate().filter_map(read).collect()
    }

    /// Refuses the members nobody asked for.
    pub(super) fn end(self) {
        for name in self.members.keys().filter(|name| !self.asked.contains(&name.as_str())) {
            let mut pointer = self.pointer.clone();
            pointer_push(&mut pointer, name);
            self.errors.push(FieldError { pointer, detail: "there is no such field".to_owned() });
        }
    }
}
