//! What is wrong with what was typed, said at the field it was typed into.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use domain::json::FieldError;

use super::capitalised;
use super::show::{Markup, line};

/// The fields of a page by where the hub finds them; what begins alike, the longer first.
pub(super) type Places = [(&'static str, &'static str)];

/// What is wrong, by the field it was typed into.
#[derive(Default)]
pub(super) struct Wrong {
    pub(super) status: Option<StatusCode>,
    fields: BTreeMap<&'static str, Markup>,
}

impl Wrong {
    pub(super) fn of(errors: &[FieldError], places: &Places) -> Self {
        let mut fields: BTreeMap<&'static str, Markup> = BTreeMap::new();
        for error in errors {
            let (field, words) = placed(error, places);
            let said = fields.entry(field).or_default();
            if !said.is_empty() {
                said.text(" ");
            }
            said.raw(format_args!("{}", line(&words)));
        }
        Self { status: Some(StatusCode::UNPROCESSABLE_ENTITY), fields }
    }

    /// What is said above the fields; none where nothing is wrong.
    pub(super) fn summary(&self) -> Option<Markup> {
        self.status?;
        let mut words = self.fields.get("").cloned().unwrap_or_default();
        if words.is_empty() {
            match self.fields.len() {
                1 => words.text("One field is not right."),
                several => words.text(&format!("{several} fields are not right.")),
            }
        }
        words.text(" Nothing was saved.");
        Some(words)
    }

    /// For the control: that it is wrong, and where that is said.
    pub(super) fn mark(&self, field: &str) -> Markup {
        let mut markup = Markup::default();
        if self.fields.contains_key(field) {
            markup.raw(format_args!(" aria-invalid=\"true\" aria-describedby=\"{field}-bad\""));
        }
        markup
    }

    /// Below the control.
    pub(super) fn said(&self, field: &str) -> Markup {
        let mut markup = Markup::default();
        if let Some(words) = self.fields.get(field) {
            markup.raw(format_args!("<small class=\"bad\" id=\"{field}-bad\">{words}</small>"));
        }
        markup
    }
}

pub(super) fn wrong(pointer: &str, detail: &str) -> FieldError {
    FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() }
}

/// The field an error is about, and what is said there: the rest of the way to it, counted from 1.
fn placed(error: &FieldError, places: &Places) -> (&'static str, String) {
    let of = |(root, field): &(&'static str, &'static str)| {
        let rest = error.pointer.strip_prefix(root)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((*field, rest.to_owned()))
    };
    let Some((field, rest)) = places.iter().find_map(of) else {
        return ("", capitalised(&error.detail));
    };
    let steps: Vec<String> = rest.split('/').filter(|step| !step.is_empty()).map(counted).collect();
    match steps.is_empty() {
        true => (field, capitalised(&error.detail)),
        false => (field, capitalised(&format!("{}: {}", steps.join(", "), error.detail))),
    }
}

fn counted(step: &str) -> String {
    match step.parse::<usize>() {
        Ok(number) => format!("number {}", number + 1),
        Err(_) => step.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: [(&str, &str); 4] = [
        ("/config/type", "task_type"),
        ("/config/resources", "resources"),
        ("/config", "more"),
        ("/slug", "slug"),
    ];

    #[test]
    fn an_error_is_said_at_its_field() {
        let at = |pointer: &str| placed(&wrong(pointer, "must be short"), &PLACES);
        assert_eq!(at("/slug"), ("slug", "Must be short.".to_owned()));
        assert_eq!(at("/config/resources/1/id"), ("resources", "Number 2, id: must be short.".to_owned()));
        assert_eq!(at("/config/max_retries"), ("more", "Max retries: must be short.".to_owned()));
        assert_eq!(at("/config/typed").0, "more");
        assert_eq!(at("/elsewhere").0, "");
    }

    #[test]
    fn what_is_wrong_with_no_field_is_said_above_them() {
        let said = |errors: &[FieldError]| Wrong::of(errors, &PLACES).summary().unwrap().to_string();
        let (slug, other) = (wrong("/slug", "must be short"), wrong("/x", "is <not> right"));
        assert_eq!(said(std::slice::from_ref(&slug)), "One field is not right. Nothing was saved.");
        assert_eq!(said(&[slug, other]), "Is &#60;not&#62; right. Nothing was saved.");
        assert!(Wrong::default().summary().is_none());
    }
}
