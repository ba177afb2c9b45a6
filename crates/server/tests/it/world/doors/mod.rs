//! The one table of what every route answers to everybody. A route that is not here fails the tests.

use server::routes::{Listed, Needs};

use super::Visitor;

mod answers;
mod people;
mod work;

use people::PEOPLE;
use work::WORK;

/// All rows.
pub(crate) const DOORS: &[Door] = &joined::<{ PEOPLE.len() + WORK.len() }>();

const fn joined<const ROWS: usize>() -> [Door; ROWS] {
    let mut all = [PEOPLE[0]; ROWS];
    let mut row = 0;
    while row < ROWS {
        all[row] = if row < PEOPLE.len() { PEOPLE[row] } else { WORK[row - PEOPLE.len()] };
        row += 1;
    }
    all
}

/// Who the columns of the table are, from those who may least to those who may most, and last an outsider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    /// Without a credential, from elsewhere.
    Stranger,
    /// The instance admin's key with `events:read` only.
    Narrow,
    /// An agent of the author's, with the scopes agents usually get.
    Agent,
    /// A member without roles.
    Member,
    /// A member with the role `author`.
    Author,
    /// A member with the role `reviewer`.
    Reviewer,
    /// An admin of the organization, not of the instance.
    Admin,
    /// The owner of the organization, who also runs the instance, and whose things are named.
    Instance,
    /// The owner of another organization.
    Other,
}

/// A route, a call of it that would be right if only the caller might make it, and what everybody gets.
#[derive(Clone, Copy)]
pub(crate) struct Door {
    pub(crate) method: &'static str,
    /// As the table of routes has it.
    pub(crate) path: &'static str,
    /// What stands in the path for each parameter. `$…` is a fresh thing of the organization (`things.rs`).
    pub(crate) names: &'static [&'static str],
    /// A body that is right; empty where the route takes none.
    pub(crate) body: &'static str,
    /// The status for each column. What opens nothing (revoked, suspended, …) follows from what the route needs.
    answers: [u16; 9],
    /// What those who come with a login get, where that is not what their column says; `LEAVES` where the call ends
    /// the login itself, which is tested with logins of its own.
    login: Option<u16>,
}

/// The call ends the login it is made with.
const LEAVES: u16 = 0;

impl Door {
    pub(crate) fn answer(&self, column: Column) -> u16 {
        self.answers[column as usize]
    }

    /// What this visitor gets; none if the visitor must not come.
    pub(crate) fn answer_to(&self, visitor: &Visitor, dead: u16) -> Option<u16> {
        let usual = visitor.column.map_or(dead, |column| self.answer(column));
        let wanted = if visitor.is_login() { self.login.unwrap_or(usual) } else { usual };
        (wanted != LEAVES).then_some(wanted)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET"
    }

    pub(crate) fn takes_body(&self) -> bool {
        !self.body.is_empty()
    }

    pub(crate) fn is(&self, route: &Listed) -> bool {
        self.method == route.method && self.path == route.path
    }
}

impl std::fmt::Display for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// What a dead credential gets.
pub(crate) fn dead(needs: Needs, door: &Door) -> u16 {
    if needs == Needs::Nothing { door.answer(Column::Stranger) } else { 401 }
}

/// Whether the row agrees with what the table of routes says about a stranger, and about a key that may only read
/// events.
pub(crate) fn keeps_to(needs: Needs, door: &Door) -> bool {
    let (stranger, narrow) = (door.answer(Column::Stranger), door.answer(Column::Narrow));
    let is_let_in = |status: u16| ![401, 403, 409].contains(&status);
    match needs {
        Needs::Nothing | Needs::LocalOr { strangers: true, .. } => is_let_in(stranger) && is_let_in(narrow),
        Needs::LocalOr { strangers: false, .. } | Needs::Unscoped => (stranger, narrow) == (401, 403),
        Needs::Login => (stranger, narrow) == (401, 409),
        // Whose the thing is decides the use case.
        Needs::Key => stranger == 401,
        Needs::Capability(capability) if capability.as_str() == "events:read" => {
            stranger == 401 && is_let_in(narrow)
        }
        Needs::Capability(_) => (stranger, narrow) == (401, 403),
    }
}

const fn door(
    method: &'static str,
    path: &'static str,
    names: &'static [&'static str],
    body: &'static str,
    answers: [u16; 9],
) -> Door {
    Door { method, path, names, body, answers, login: None }
}

/// One that asks for a login: a key of whatever kind is the wrong kind of credential.
const fn for_logins(method: &'static str, path: &'static str, body: &'static str, login: u16) -> Door {
    let answers = [401, 409, 409, 409, 409, 409, 409, 409, 409];
    Door { method, path, names: &[], body, answers, login: Some(login) }
}
