//! The one table of what every page answers to everybody. A page that is not here fails the tests.

use server::routes::{Listed, Needs};

use super::Visitor;

/// A page, a right call of it, and what whoever may open it gets.
pub(crate) struct PageDoor {
    pub(crate) method: &'static str,
    /// As the table of routes has it.
    pub(crate) path: &'static str,
    /// The path and query that are asked for.
    pub(crate) asks: &'static str,
    /// The fields; empty for a page that is only looked at. `$…` is a thing of the organization (`things.rs`).
    pub(crate) form: &'static str,
    opens: u16,
}

/// What a visitor gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gets {
    /// The page, with this status.
    Opened(u16),
    /// The way to the page to log in.
    SentToLogin,
    /// That a key is not what is wanted here.
    WrongKind,
}

impl PageDoor {
    pub(crate) fn is(&self, route: &Listed) -> bool {
        self.method == route.method && self.path == route.path
    }

    /// What follows from what the page needs and who comes; none if the visitor must not come.
    pub(crate) fn answer_to(&self, needs: Needs, visitor: &Visitor) -> Option<Gets> {
        let is_known = !visitor.account.is_empty();
        let gets = match needs {
            Needs::Nothing => Gets::Opened(self.opens),
            Needs::Key | Needs::Login if !is_known => Gets::SentToLogin,
            Needs::Login if !visitor.is_login() => Gets::WrongKind,
            Needs::Key | Needs::Login => Gets::Opened(self.opens),
            other => panic!("no page needs {other:?} yet"),
        };
        (gets != Gets::Opened(LEAVES)).then_some(gets)
    }
}

/// The call ends the login it is made with.
const LEAVES: u16 = 0;

const fn look(path: &'static str, asks: &'static str, opens: u16) -> PageDoor {
    PageDoor { method: "GET", path, asks, form: "", opens }
}

const fn submit(path: &'static str, form: &'static str, opens: u16) -> PageDoor {
    PageDoor { method: "POST", path, asks: path, form, opens }
}

pub(crate) const PAGES: &[PageDoor] = &[
    look("/", "/", 303),
    look("/assets/{name}", "/assets/app.css", 200),
    look("/login", "/login?next=/account", 200),
    submit("/login", "email=$email&password=correct+horse+battery", 303),
    look("/login/once", "/login/once?token=cso_nope", 200),
    submit("/login/once", "token=cso_nope", 404),
    submit("/login/oidc", "next=/account", 200),
    look("/login/device", "/login/device", 200),
    submit("/login/device", "code=AAAA-AAAA&answer=allow", 404),
    look("/account", "/account", 200),
    submit("/account/switch", "organization_id=$org", 303),
    submit("/account/end", "login_session_id=0197a000-0000-7000-8000-000000000000", 404),
    submit("/account/password", "new_password=short", 422),
    submit("/account/connect", "=", 200),
    submit("/account/disconnect", "identity_id=0197a000-0000-7000-8000-000000000000", 404),
    submit("/account/logout", "=", LEAVES),
    // Last, because each counts as a failure to log in.
    look("/login/oidc/callback", "/login/oidc/callback?state=cst_nope&code=nope", 410),
];
