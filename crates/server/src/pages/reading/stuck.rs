//! A review that cannot end with yes as things are: what is missing, and who was told.

use std::collections::BTreeMap;

use domain::Timestamp;
use hub::tasks::Dossier;

use super::People;
use crate::pages::show::{Markup, clock, line};

/// Why nobody may decide, and who knows.
pub(in crate::pages) struct Stuck {
    /// What is missing, policy by policy.
    pub(in crate::pages) missing: Vec<Markup>,
    /// Who was told, and when; a sentence each time.
    pub(in crate::pages) told: Vec<Markup>,
}

pub(super) fn of(dossier: &Dossier, people: &People<'_>, now: Timestamp) -> Option<Stuck> {
    let review = dossier.seen.review.as_ref().filter(|_| dossier.seen.is_stuck())?;
    let missing = review.summary.missing.iter().map(|missing| line(&format!("{missing}."))).collect();
    Some(Stuck { missing, told: told(dossier, people, now) })
}

/// What was told at one moment to several is one sentence.
fn told(dossier: &Dossier, people: &People<'_>, now: Timestamp) -> Vec<Markup> {
    let mut at_once: BTreeMap<(Timestamp, bool), Vec<Markup>> = BTreeMap::new();
    for alarmed in &dossier.alarmed {
        at_once.entry((alarmed.at, alarmed.is_on_call)).or_default().push(people.named(alarmed.account));
    }
    if at_once.is_empty() {
        return vec![line("The hub has no record of having told anybody.")];
    }
    at_once
        .into_iter()
        .map(|((at, is_on_call), names)| sentence(names, is_on_call, &clock(at, now)))
        .collect()
}

fn sentence(names: Vec<Markup>, is_on_call: bool, at: &str) -> Markup {
    let mut words = Markup::default();
    words.raw(format_args!("Told at {at}, as {}: ", if is_on_call { "on call" } else { "admins" }));
    for (place, name) in names.into_iter().enumerate() {
        words.raw(format_args!("{}<b>{name}</b>", if place == 0 { "" } else { ", " }));
    }
    words.raw(format_args!("."));
    words
}
