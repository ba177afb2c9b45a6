//! The one table of what every page answers to everybody. A page that is not here fails the tests.

use server::routes::{Listed, Needs};

use super::{Column, Visitor};

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
    /// What a member gets who is no admin, where that is something else.
    members: Option<u16>,
    /// The path and the fields of a call that is right, with `$…` in both, where that above is a wrong one.
    right: Option<(&'static str, &'static str)>,
    /// The page that has the form, where the form says which version of a thing was looked at: `$version`.
    form_on: Option<&'static str>,
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

impl std::fmt::Display for PageDoor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl PageDoor {
    /// Whether the page changes nothing.
    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET"
    }

    /// What it is asked in the way of somebody who means it: the path and the fields, with `$…` in both.
    pub(crate) fn meant(&self) -> (&'static str, &'static str) {
        self.right.unwrap_or((self.asks, self.form))
    }

    /// Where the form of that call is, with `$…`, if its `$version` is to be read there.
    pub(crate) fn form_on(&self) -> Option<&'static str> {
        self.form_on
    }

    /// Whether what it is asked by somebody who means it is accepted by itself: no provider has to answer, and no code or
    /// link that only others hand out is needed.
    pub(crate) fn is_meant(&self) -> bool {
        self.right.is_some() || self.opens == 303
    }

    pub(crate) fn is(&self, route: &Listed) -> bool {
        self.method == route.method && self.path == route.path
    }

    /// What follows from what the page needs and who comes; none if the visitor must not come.
    pub(crate) fn answer_to(&self, needs: Needs, visitor: &Visitor) -> Option<Gets> {
        let is_known = !visitor.account.is_empty();
        let is_member = visitor.column == Some(Column::Member);
        let opens = self.members.filter(|_| is_member).unwrap_or(self.opens);
        let gets = match needs {
            Needs::Nothing => Gets::Opened(opens),
            Needs::Key | Needs::Login if !is_known => Gets::SentToLogin,
            Needs::Login if !visitor.is_login() => Gets::WrongKind,
            Needs::Key | Needs::Login => Gets::Opened(opens),
            other => panic!("no page needs {other:?} yet"),
        };
        (gets != Gets::Opened(LEAVES)).then_some(gets)
    }
}

/// The call ends the login it is made with.
const LEAVES: u16 = 0;

const fn look(path: &'static str, asks: &'static str, opens: u16) -> PageDoor {
    PageDoor { method: "GET", path, asks, form: "", opens, members: None, right: None, form_on: None }
}

const fn submit(path: &'static str, form: &'static str, opens: u16) -> PageDoor {
    PageDoor { method: "POST", path, asks: path, form, opens, members: None, right: None, form_on: None }
}

impl PageDoor {
    /// The same with other words in the place of what varies.
    const fn at(self, asks: &'static str) -> Self {
        Self { asks, ..self }
    }

    /// A call that is right: what it asks for, and its fields.
    const fn right(self, asks: &'static str, form: &'static str) -> Self {
        Self { right: Some((asks, form)), ..self }
    }

    /// On which page its form is, which says the `$version`.
    const fn form_is_on(self, page: &'static str) -> Self {
        Self { form_on: Some(page), ..self }
    }

    /// What a member gets who is no admin.
    const fn for_members(self, status: u16) -> Self {
        Self { members: Some(status), ..self }
    }
}

/// A thing nobody has.
const NOBODYS_AGENT: &str = "/agents/0197a000-0000-7000-8000-000000000000";
const NOBODYS_POLICY: &str = "/policies/0197a000-0000-7000-8000-000000000000";
const NOBODYS_POLICY_BACK: &str = "/policies/0197a000-0000-7000-8000-000000000000/backtest";
const NOBODYS_POLICY_OFF: &str = "/policies/0197a000-0000-7000-8000-000000000000/deactivate";
const NOBODYS_DELEGATION: &str = "/delegations/0197a000-0000-7000-8000-000000000000";
const NOBODYS_DELEGATION_END: &str = "/delegations/0197a000-0000-7000-8000-000000000000/end";
const NOBODYS_SETUP: &str = "/agents/0197a000-0000-7000-8000-000000000000/setup";
const NOBODYS_AGENT_KEY: &str = "/agents/0197a000-0000-7000-8000-000000000000/key";
const NOBODYS_AGENT_DRAIN: &str = "/agents/0197a000-0000-7000-8000-000000000000/drain";
const NOBODYS_AGENT_RESUME: &str = "/agents/0197a000-0000-7000-8000-000000000000/resume";

/// A form whose address names something; `asks` names what nobody has.
const fn answer(path: &'static str, asks: &'static str, form: &'static str, opens: u16) -> PageDoor {
    PageDoor { method: "POST", path, asks, form, opens, members: None, right: None, form_on: None }
}

pub(crate) const PAGES: &[PageDoor] = &[
    look("/", "/", 200),
    look("/tasks/{id}", "/tasks/0197a000-0000-7000-8000-000000000000", 404),
    // Decisions without what they are bound to.
    look("/approvals/batch", "/approvals/batch", 422),
    submit("/approvals/batch", "action=approve&read=on", 422).right(
        "/approvals/batch",
        "action=approve&read=on&approval_ids=$approval&content_hash.$approval=$content&review_hash.$approval=$shown",
    ),
    answer(
        "/approvals/{id}/approve",
        "/approvals/0197a000-0000-7000-8000-000000000000/approve",
        "reason=x&from=task",
        422,
    )
    .right("/approvals/$approval/approve", "content_hash=$content&review_hash=$shown&from=task"),
    answer(
        "/approvals/{id}/reject",
        "/approvals/0197a000-0000-7000-8000-000000000000/reject",
        "reason=x&from=task",
        422,
    )
    .right("/approvals/$approval/reject", "content_hash=$content&review_hash=$shown&reason=x&from=task"),
    answer(
        "/approvals/{id}/request-changes",
        "/approvals/0197a000-0000-7000-8000-000000000000/request-changes",
        "reason=x&from=task",
        422,
    )
    .right("/approvals/$approval/request-changes", "content_hash=$content&review_hash=$shown&reason=x&from=task"),
    answer(
        "/approvals/{id}/delegate",
        "/approvals/0197a000-0000-7000-8000-000000000000/delegate",
        "to=0197a000-0000-7000-8000-000000000000&from=task",
        422,
    )
    .right("/approvals/$approval/delegate", "content_hash=$content&review_hash=$shown&to=$standin&from=task"),
    answer("/tasks/{id}/comments", "/tasks/0197a000-0000-7000-8000-000000000000/comments", "text=x", 422)
        .right("/tasks/$task/comments", "body=x"),
    look("/tasks/{id}/cancel", "/tasks/0197a000-0000-7000-8000-000000000000/cancel", 404),
    answer("/tasks/{id}/cancel", "/tasks/0197a000-0000-7000-8000-000000000000/cancel", "reason=x", 404)
        .right("/tasks/$task/cancel", "reason=x"),
    look("/tasks/{id}/resubmit", "/tasks/0197a000-0000-7000-8000-000000000000/resubmit", 404),
    answer("/tasks/{id}/resubmit", "/tasks/0197a000-0000-7000-8000-000000000000/resubmit", "take_over_dependents=on", 404)
        .right("/tasks/$cancelled/resubmit", "take_over_dependents=on"),
    look("/tasks/{id}/withdraw-approval", "/tasks/0197a000-0000-7000-8000-000000000000/withdraw-approval", 404),
    answer("/tasks/{id}/withdraw-approval", "/tasks/0197a000-0000-7000-8000-000000000000/withdraw-approval", "reason=x", 404)
        .right("/tasks/$granted/withdraw-approval", "reason=x"),
    look("/tasks/{id}/override", "/tasks/0197a000-0000-7000-8000-000000000000/override", 404),
    answer("/tasks/{id}/override", "/tasks/0197a000-0000-7000-8000-000000000000/override", "reason=x&incident_ticket=INC-7", 404)
        .right("/tasks/$reviewed/override", "reason=x&incident_ticket=INC-7"),
    look("/tasks/{id}/force-apply", "/tasks/0197a000-0000-7000-8000-000000000000/force-apply", 404),
    answer("/tasks/{id}/force-apply", "/tasks/0197a000-0000-7000-8000-000000000000/force-apply", "reason=x&incident_ticket=INC-7", 404)
        .right("/tasks/$granted/force-apply", "reason=x&incident_ticket=INC-7"),
    look("/tasks/{id}/rollback", "/tasks/0197a000-0000-7000-8000-000000000000/rollback", 404),
    answer("/tasks/{id}/rollback", "/tasks/0197a000-0000-7000-8000-000000000000/rollback", "reason=x", 404),
    answer("/tasks/{id}/submit", "/tasks/0197a000-0000-7000-8000-000000000000/submit", "=", 404)
        .right("/tasks/$task/submit", "="),
    look("/tasks/new", "/tasks/new", 200).for_members(403),
    submit("/tasks/new", "project_id=&description=&task_type=&resources=&declared_risk=medium&rollback_strategy=manual&priority=50&timeout_seconds=&more=&slug=&path=&depends_on=&due_at=&tags=&ticket_ref=&then=draft", 422).for_members(403)
        .right("/tasks/new", "project_id=&description=At+the+door&task_type=t&resources=db:x&declared_risk=medium&rollback_strategy=manual&priority=50&timeout_seconds=&more=&slug=$fresh&path=&depends_on=&due_at=&tags=&ticket_ref=&then=submit"),
    submit("/account/theme", "theme=dark&next=/", 303),
    look("/assets/{name}", "/assets/app.css", 200),
    // Nobody of these asks for a socket.
    look("/live", "/live", 426),
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
    submit("/account/notifications", "notification_ids=0197a000-0000-7000-8000-000000000000", 303),
    look("/account/notifications/preferences", "/account/notifications/preferences", 200),
    submit("/account/notifications/preferences", "version=x&told=nothing", 422)
        .right("/account/notifications/preferences", "version=$version&told=task_failed")
        .form_is_on("/account/notifications/preferences"),
    submit("/account/password", "new_password=short", 422),
    submit("/account/connect", "=", 200),
    submit("/account/disconnect", "identity_id=0197a000-0000-7000-8000-000000000000", 404),
    submit("/account/logout", "=", LEAVES),
    look("/tasks", "/tasks?state=DRAFT", 200),
    look("/locks", "/locks", 200),
    look("/locks/release", "/locks/release?key=resource:database:nobodys", 200).for_members(403),
    submit("/locks/release", "key=resource:database:nobodys&typed=nope&reason=x", 422).for_members(403),
    look("/agents", "/agents", 200),
    look("/agents/new", "/agents/new", 200).for_members(403),
    submit("/agents/new", "step=1&name=", 422).for_members(403)
        .right("/agents/new", "step=1&name=$fresh"),
    look("/agents/{id}/setup", NOBODYS_SETUP, 404),
    submit("/agents/{id}/setup", "step=2", 404).at(NOBODYS_SETUP)
        .right("/agents/$agent/setup", "step=2&role_name=x"),
    submit("/agents/{id}/key", "=", 404).at(NOBODYS_AGENT_KEY)
        .right("/agents/$agent/key", "="),
    submit("/agents/{id}", "version=x&description=&model=&role_name=&max_tasks=1&labels=", 404).at(NOBODYS_AGENT)
        .right("/agents/$agent", "version=$version&description=x&model=&role_name=&max_tasks=1&labels=")
        .form_is_on("/agents?agent=$agent"),
    submit("/agents/{id}/drain", "=", 404).at(NOBODYS_AGENT_DRAIN)
        .right("/agents/$agent/drain", "="),
    submit("/agents/{id}/resume", "=", 404).at(NOBODYS_AGENT_RESUME).for_members(403)
        .right("/agents/$agent/resume", "="),
    look("/audit", "/audit", 200),
    submit("/audit/verify", "=", 303).for_members(403),
    look("/overview", "/overview", 200),
    look("/plan", "/plan", 200),
    look("/policies", "/policies", 200),
    submit("/policies", "version=&name=&task_types=&resource_patterns=&risk_threshold=x&when=&min_approvers=1&required_roles=&reject_on=any&timeout_hours=&on_timeout=deny", 422).for_members(403)
        .right("/policies", "version=&name=$fresh&task_types=none&resource_patterns=&risk_threshold=0&when=&min_approvers=1&required_roles=reviewer&reject_on=any&timeout_hours=&on_timeout=deny"),
    submit("/policies/simulate", "config=nope", 422)
        .right("/policies/simulate", r#"config={"type":"t","description":"d","resources":[{"type":"db","id":"x"}]}"#),
    submit("/policies/{id}", "version=1&name=x&task_types=&resource_patterns=&risk_threshold=0&when=&min_approvers=1&required_roles=a&reject_on=any&timeout_hours=&on_timeout=deny", 404).at(NOBODYS_POLICY).for_members(403)
        .right("/policies/$policy", "version=1&name=$fresh&task_types=none&resource_patterns=&risk_threshold=0&when=&min_approvers=1&required_roles=reviewer&reject_on=any&timeout_hours=&on_timeout=deny"),
    submit("/policies/{id}/backtest", "version=1&name=x&task_types=&resource_patterns=&risk_threshold=0&when=&min_approvers=1&required_roles=a&reject_on=any&timeout_hours=&on_timeout=deny", 404).at(NOBODYS_POLICY_BACK).for_members(403)
        .right("/policies/$policy/backtest", "version=1&name=$fresh&task_types=none&resource_patterns=&risk_threshold=0&when=&min_approvers=1&required_roles=reviewer&reject_on=any&timeout_hours=&on_timeout=deny"),
    look("/policies/{id}/deactivate", NOBODYS_POLICY_OFF, 404).for_members(403),
    submit("/policies/{id}/deactivate", "=", 404).at(NOBODYS_POLICY_OFF).for_members(403)
        .right("/policies/$policy/deactivate", "="),
    look("/delegations", "/delegations", 200),
    submit("/delegations", "version=&delegate_to=&kind=transfer&task_types=&resource_patterns=&risk_above=&starts_at=&expires_at=", 422)
        .right("/delegations", "version=&delegate_to=$standin&kind=transfer&task_types=&resource_patterns=&risk_above=&starts_at=&expires_at="),
    submit("/delegations/{id}", "version=1&delegate_to=&kind=transfer&task_types=&resource_patterns=&risk_above=&starts_at=&expires_at=", 404).at(NOBODYS_DELEGATION)
        .right("/delegations/$delegation", "version=1&delegate_to=$standin&kind=follow&task_types=&resource_patterns=&risk_above=&starts_at=&expires_at="),
    look("/delegations/{id}/end", NOBODYS_DELEGATION_END, 404),
    submit("/delegations/{id}/end", "=", 404).at(NOBODYS_DELEGATION_END)
        .right("/delegations/$delegation/end", "="),
    look("/settings", "/settings", 200),
    submit("/settings", "name=lock:max_ttl&value=nope", 422).for_members(403)
        .right("/settings", "name=lock:max_ttl&value=60"),
    // Last, because each counts as a failure to log in.
    look("/login/oidc/callback", "/login/oidc/callback?state=cst_nope&code=nope", 410),
];
