//! The one table of routes.

use axum::Router;
use domain::permissions::Capability;
use domain::permissions::Capability as C;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::guard::Guard;
pub use crate::guard::Needs;
use crate::kept::{self, Keep};
use crate::{App, api, pages};

/// One route and what it asks of its caller.
struct Route {
    needs: Needs,
    mount: UtoipaMethodRouter<App>,
}

/// A route as tests and documents see it.
#[derive(Debug)]
pub struct Listed {
    /// `GET`, …
    pub method: String,
    /// With `{id}` for what varies.
    pub path: String,
    /// What it asks of its caller.
    pub needs: Needs,
    /// Whether it is a page for people, and no part of the API.
    pub is_page: bool,
}

/// What a route needs, and where it is mounted.
type Entry = (Needs, UtoipaMethodRouter<App>);

fn may(capability: Capability) -> Needs {
    Needs::Capability(capability)
}

fn table() -> Vec<Route> {
    let parts = [
        of_the_instance(),
        of_identity(),
        of_work(),
        of_locks(),
        of_review(),
        of_tasks(),
        of_executions(),
        of_grants(),
        of_the_record(),
        of_webhooks(),
    ];
    let entries = parts.into_iter().flatten();
    entries.map(|(needs, mount)| Route { needs, mount }).collect()
}

fn of_the_instance() -> Vec<Entry> {
    let operators = |strangers| Needs::LocalOr { capability: C::MetricsRead, strangers };
    vec![
        (Needs::Nothing, routes!(api::health::healthz)),
        (operators(true), routes!(api::health::readyz)),
        (operators(false), routes!(api::health::metrics)),
        (Needs::Nothing, routes!(api::errors::page)),
    ]
}

fn of_identity() -> Vec<Entry> {
    vec![
        (Needs::Key, routes!(api::me::me)),
        (may(C::AccountsRead), routes!(api::accounts::list)),
        (may(C::MembersWrite), routes!(api::accounts::create)),
        (may(C::AccountsRead), routes!(api::accounts::get)),
        (may(C::AccountsWrite), routes!(api::accounts::change)),
        (may(C::OrganizationsRead), routes!(api::organizations::list)),
        (may(C::OrganizationsWrite), routes!(api::organizations::create)),
        (may(C::OrganizationsRead), routes!(api::organizations::get)),
        (may(C::OrganizationsWrite), routes!(api::organizations::change)),
        (may(C::OrganizationsWrite), routes!(api::organizations::transfer_ownership)),
        (may(C::AccountsRead), routes!(api::organizations::members)),
        (may(C::MembersWrite), routes!(api::organizations::add_member)),
        (may(C::AccountsRead), routes!(api::organizations::get_member)),
        (may(C::MembersWrite), routes!(api::organizations::change_member)),
        (may(C::AccountsWrite), routes!(api::organizations::remove_member)),
        (may(C::AccountsRead), routes!(api::invitations::list)),
        (may(C::AccountsRead), routes!(api::invitations::get)),
        (may(C::AccountsWrite), routes!(api::invitations::accept)),
        (may(C::AccountsWrite), routes!(api::invitations::decline)),
        (may(C::MembersWrite), routes!(api::invitations::withdraw)),
        (Needs::Nothing, routes!(api::login_sessions::log_in)),
        (Needs::Login, routes!(api::login_sessions::log_out)),
        (may(C::AccountsRead), routes!(api::login_sessions::list)),
        (may(C::AccountsRead), routes!(api::login_sessions::get)),
        (may(C::AccountsWrite), routes!(api::login_sessions::end)),
        (Needs::Login, routes!(api::login_sessions::switch)),
        (Needs::Unscoped, routes!(api::passwords::set)),
        (Needs::Nothing, routes!(api::device_logins::ask)),
        (Needs::Nothing, routes!(api::device_logins::exchange)),
        (may(C::KeysRead), routes!(api::api_keys::list)),
        (may(C::KeysWrite), routes!(api::api_keys::create)),
        (may(C::KeysRead), routes!(api::api_keys::get)),
        (may(C::KeysWrite), routes!(api::api_keys::revoke)),
        (may(C::KeysWrite), routes!(api::api_keys::rotate)),
    ]
}

fn of_work() -> Vec<Entry> {
    vec![
        (may(C::ProjectsRead), routes!(api::projects::list)),
        (may(C::ProjectsWrite), routes!(api::projects::create)),
        (may(C::ProjectsRead), routes!(api::projects::get)),
        (may(C::ProjectsWrite), routes!(api::projects::change)),
        (may(C::ProjectsWrite), routes!(api::projects::delete)),
        (may(C::ProjectsRead), routes!(api::workspaces::list)),
        (may(C::ProjectsWrite), routes!(api::workspaces::create)),
        (may(C::ProjectsRead), routes!(api::workspaces::get)),
        (may(C::ProjectsWrite), routes!(api::workspaces::change)),
        (may(C::ProjectsWrite), routes!(api::workspaces::delete)),
        (may(C::AgentsRead), routes!(api::agents::list)),
        (may(C::AgentsWrite), routes!(api::agents::create)),
        (may(C::AgentsRead), routes!(api::agents::get)),
        (may(C::AgentsWrite), routes!(api::agents::change)),
        (may(C::AgentsWrite), routes!(api::agents::deactivate)),
        // Of itself an agent may say this with any key; of others the use case decides.
        (Needs::Key, routes!(api::agents::heartbeat)),
        (Needs::Key, routes!(api::agents::drain)),
        (may(C::AgentsWrite), routes!(api::agents::resume)),
    ]
}

fn of_grants() -> Vec<Entry> {
    vec![
        (may(C::GrantsMint), routes!(api::standalone_grants::create)),
        (may(C::GrantsConsume), routes!(api::standalone_grants::consume)),
        (may(C::GrantsRead), routes!(api::standalone_grants::pending)),
        (may(C::GrantsRead), routes!(api::standalone_grants::stats)),
        (may(C::GrantsRead), routes!(api::standalone_grants::health)),
        (may(C::GrantsRead), routes!(api::standalone_grants::follow)),
        (may(C::GrantsMint), routes!(api::standalone_grants::clean)),
        (may(C::GrantsRead), routes!(api::standalone_grants::get)),
        (may(C::GrantsConsume), routes!(api::standalone_grants::acknowledge)),
    ]
}

fn of_tasks() -> Vec<Entry> {
    vec![
        (may(C::TasksRead), routes!(api::tasks::list)),
        (may(C::TasksWrite), routes!(api::tasks::create)),
        (may(C::TasksWrite), routes!(api::tasks::simulate)),
        (may(C::TasksRead), routes!(api::tasks::get)),
        (may(C::TasksWrite), routes!(api::tasks::change)),
        (may(C::TasksWrite), routes!(api::tasks::delete)),
        (may(C::TasksWrite), routes!(api::tasks::attach_preview)),
        (may(C::AuditRead), routes!(api::tasks::audit)),
        (may(C::TasksRead), routes!(api::task_revisions::list)),
        (may(C::TasksRead), routes!(api::task_revisions::get)),
        (may(C::TasksRead), routes!(api::task_revisions::diff)),
        (may(C::TasksRead), routes!(api::task_comments::list)),
        // Whoever writes tasks or is asked about them may speak; the use case knows.
        (Needs::Key, routes!(api::task_comments::create)),
        (may(C::TasksRead), routes!(api::task_comments::get)),
        (may(C::TasksWrite), routes!(api::task_reviews::submit)),
        (may(C::TasksWrite), routes!(api::task_reviews::cancel)),
        (may(C::TasksWrite), routes!(api::task_reviews::resubmit)),
        (may(C::ApprovalsDecide), routes!(api::task_reviews::withdraw)),
        (may(C::ApprovalsDecide), routes!(api::task_reviews::join)),
        (may(C::TasksOverride), routes!(api::task_reviews::ask_override)),
        (may(C::TasksForceApply), routes!(api::task_reviews::force_apply)),
        (may(C::ApprovalsRead), routes!(api::task_reviews::approvals)),
        (may(C::ApprovalsRead), routes!(api::approvals::list)),
        (may(C::ApprovalsRead), routes!(api::approvals::stats)),
        (may(C::ApprovalsRead), routes!(api::approvals::get)),
        (may(C::ApprovalsDecide), routes!(api::approvals::approve)),
        (may(C::ApprovalsDecide), routes!(api::approvals::reject)),
        (may(C::ApprovalsDecide), routes!(api::approvals::request_changes)),
        (may(C::ApprovalsDecide), routes!(api::approvals::acknowledge)),
        (may(C::ApprovalsDecide), routes!(api::approval_batches::answer)),
        (may(C::ApprovalsDecide), routes!(api::delegations::pass_on)),
    ]
}

fn of_executions() -> Vec<Entry> {
    vec![
        (may(C::ExecutionsWrite), routes!(api::executions::claim)),
        (may(C::ExecutionsWrite), routes!(api::executions::next)),
        (may(C::ExecutionsRead), routes!(api::executions::list)),
        (may(C::ExecutionsRead), routes!(api::executions::get)),
        (may(C::ExecutionsWrite), routes!(api::executions::heartbeat)),
        (may(C::ExecutionsWrite), routes!(api::executions::append)),
        (may(C::ExecutionsRead), routes!(api::executions::output)),
        (may(C::ExecutionsWrite), routes!(api::executions::complete)),
        (may(C::ExecutionsWrite), routes!(api::executions::fail)),
        (may(C::TasksWrite), routes!(api::executions::roll_back)),
    ]
}

fn of_review() -> Vec<Entry> {
    vec![
        (may(C::PoliciesRead), routes!(api::policies::list)),
        (may(C::PoliciesWrite), routes!(api::policies::create)),
        (may(C::PoliciesRead), routes!(api::policies::get)),
        (may(C::PoliciesWrite), routes!(api::policies::change)),
        (may(C::PoliciesWrite), routes!(api::policies::deactivate)),
        (may(C::PoliciesWrite), routes!(api::policies::backtest)),
        (may(C::ApprovalsRead), routes!(api::delegations::list)),
        (may(C::ApprovalsDecide), routes!(api::delegations::create)),
        (may(C::ApprovalsRead), routes!(api::delegations::get)),
        (may(C::ApprovalsDecide), routes!(api::delegations::change)),
        (may(C::ApprovalsDecide), routes!(api::delegations::end)),
        (may(C::PoliciesRead), routes!(api::resource_catalogue::get)),
        (may(C::PoliciesWrite), routes!(api::resource_catalogue::replace)),
    ]
}

fn of_locks() -> Vec<Entry> {
    vec![
        (may(C::LocksRead), routes!(api::locks::list)),
        (may(C::LocksWrite), routes!(api::locks::acquire)),
        (may(C::LocksWrite), routes!(api::locks::acquire_many)),
        (may(C::LocksWrite), routes!(api::locks::heartbeat)),
        (may(C::LocksWrite), routes!(api::locks::release)),
        (may(C::LocksRead), routes!(api::locks::validate)),
        (may(C::LocksRead), routes!(api::locks::queue)),
        (may(C::LocksRead), routes!(api::locks::graph)),
        (may(C::LocksRead), routes!(api::locks::ticket)),
        (may(C::LocksWrite), routes!(api::locks::leave)),
        (may(C::LocksForceRelease), routes!(api::locks::force_release)),
    ]
}

fn of_webhooks() -> Vec<Entry> {
    vec![
        (may(C::WebhooksRead), routes!(api::webhooks::list)),
        (may(C::WebhooksWrite), routes!(api::webhooks::create)),
        (may(C::WebhooksRead), routes!(api::webhooks::get)),
        (may(C::WebhooksWrite), routes!(api::webhooks::change)),
        (may(C::WebhooksWrite), routes!(api::webhooks::delete)),
        (may(C::WebhooksWrite), routes!(api::webhooks::rotate_secret)),
        (may(C::WebhooksWrite), routes!(api::webhook_deliveries::test)),
        (may(C::WebhooksRead), routes!(api::webhook_deliveries::list)),
        (may(C::WebhooksRead), routes!(api::webhook_deliveries::get)),
        (may(C::WebhooksWrite), routes!(api::webhook_deliveries::redeliver)),
    ]
}

fn of_the_record() -> Vec<Entry> {
    vec![
        (may(C::SettingsRead), routes!(api::settings::get)),
        (may(C::SettingsWrite), routes!(api::settings::change)),
        (may(C::EventsRead), routes!(api::events::read)),
        (may(C::EventsRead), routes!(api::events::stream)),
        (may(C::EventsRead), routes!(api::events::socket)),
        (may(C::EventsRead), routes!(api::notifications::list)),
        (may(C::EventsRead), routes!(api::notifications::preferences)),
        (may(C::EventsRead), routes!(api::notifications::set_preferences)),
        (may(C::EventsRead), routes!(api::notifications::get)),
        (may(C::EventsRead), routes!(api::notifications::read)),
        (may(C::TasksRead), routes!(api::archives::list)),
        (may(C::TasksRead), routes!(api::archives::get)),
        (may(C::AuditVerify), routes!(api::archives::content)),
        (may(C::AuditVerify), routes!(api::archives::of_task)),
        (may(C::AuditRead), routes!(api::audit::list)),
        (may(C::AuditRead), routes!(api::audit::get)),
        (may(C::AuditRead), routes!(api::audit::seals)),
        (may(C::AuditRead), routes!(api::audit::proof)),
        (may(C::AuditVerify), routes!(api::audit::export)),
        (may(C::AuditRead), routes!(api::audit::verification)),
        (may(C::AuditVerify), routes!(api::audit::verify)),
    ]
}

/// Every route, for the test that knocks on each.
#[must_use]
pub fn listed() -> Vec<Listed> {
    let pages = pages::table().into_iter().map(|page| Listed {
        method: page.method.into(),
        path: page.path.into(),
        needs: page.needs,
        is_page: true,
    });
    let routes = table().into_iter().flat_map(|route| {
        let needs = route.needs;
        route.mount.1.paths.into_iter().flat_map(move |(path, item)| {
            let methods = [
                ("GET", item.get),
                ("POST", item.post),
                ("PUT", item.put),
                ("PATCH", item.patch),
                ("DELETE", item.delete),
            ];
            let present = methods.into_iter().filter(|(_, operation)| operation.is_some());
            present
                .map(|(method, _)| Listed {
                    method: method.into(),
                    path: path.clone(),
                    needs,
                    is_page: false,
                })
                .collect::<Vec<_>>()
        })
    });
    routes.chain(pages).collect()
}

/// The routes behind their guards, and the document that describes them.
pub(crate) fn mounted(app: &App) -> (Router<App>, OpenApi) {
    let empty = OpenApiRouter::with_openapi(crate::openapi::outline());
    let (router, api) = table()
        .into_iter()
        .fold(empty, |router, Route { needs, mount }| {
            let mount = match mount.1.paths.keys().any(|path| kept::is_kept(path)) {
                true => mount.layer(Keep { app: app.clone() }),
                false => mount,
            };
            router.routes(mount.layer(Guard { app: app.clone(), needs }))
        })
        .split_for_parts();
    let router = pages::table().into_iter().fold(router, |router, page| {
        let guard = Guard { app: app.clone(), needs: page.needs };
        let mount = match kept::is_kept(page.path) {
            true => page.mount.layer(Keep { app: app.clone() }),
            false => page.mount,
        };
        router.route(page.path, mount.layer(guard))
    });
    (router, api)
}
