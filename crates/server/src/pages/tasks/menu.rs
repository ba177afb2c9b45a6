//! What the reader may do with the task as it stands: what the hub offers them, and where its form is.

use domain::permissions::Capability;
use hub::HubError;
use hub::tasks::{self, Dossier, Offer};

use super::acts::address;
use super::effects::{name, override_asked};
use crate::App;
use crate::pages::policies::explain::{Simulated, simulated};
use crate::pages::shell::Shell;
use crate::problem::Problem;

/// What the reader may do.
pub(super) struct Menu {
    /// What comes of handing it in; none: that is not theirs, or not now.
    pub(super) submit: Option<Simulated>,
    /// The way on from a task that did not come through.
    pub(super) anew: Option<Entry>,
    /// The way back from what failed, where a person has to ask for it.
    pub(super) undo: Option<Entry>,
    /// What helps where the review cannot end with yes any more.
    pub(super) ways_out: Vec<Entry>,
    pub(super) usual: Vec<Entry>,
    /// What ends something, or goes past the rules.
    pub(super) hard: Vec<Entry>,
    /// What other admins are asked now.
    pub(super) override_asked: Option<String>,
}

/// One thing, and where it is done.
pub(super) struct Entry {
    pub(super) to: String,
    pub(super) icon: &'static str,
    pub(super) name: &'static str,
}

impl Menu {
    pub(super) fn is_empty(&self) -> bool {
        self.usual.is_empty() && self.hard.is_empty()
    }
}

pub(super) async fn menu(app: &App, shell: &Shell, dossier: &Dossier) -> Result<Menu, Problem> {
    let id = dossier.seen.task.id;
    let is_offered = |offer: &Offer| dossier.may(&shell.caller, *offer).is_ok();
    let entry = |offer: Offer| {
        let (icon, name) = name(offer);
        Entry { to: address(offer, id), icon, name }
    };
    let of =
        |wanted: &[Offer]| -> Vec<Entry> { wanted.iter().copied().filter(is_offered).map(entry).collect() };
    let mut usual = of(&[Offer::Resubmit]);
    if shell.caller.capabilities.contains(Capability::AuditRead) {
        usual.push(Entry { to: format!("/audit?task={id}"), icon: "audit", name: "Audit rows and proofs" });
    }
    let submit = match is_offered(&Offer::Submit) {
        true => foreseen(app, shell, dossier).await?,
        false => None,
    };
    Ok(Menu {
        submit,
        anew: of(&[Offer::Resubmit]).pop(),
        undo: of(&[Offer::Undo]).pop(),
        ways_out: if dossier.seen.is_stuck() { ways_out(shell, of) } else { Vec::new() },
        usual,
        hard: of(&[Offer::Undo, Offer::Cancel, Offer::Withdraw, Offer::Override, Offer::ForceApply]),
        override_asked: override_asked(dossier),
    })
}

/// What the reader may do about a review that nobody can end with yes. It keeps the policies that it began with, so
/// another policy helps the next one.
fn ways_out(shell: &Shell, of: impl Fn(&[Offer]) -> Vec<Entry>) -> Vec<Entry> {
    let mut all = of(&[Offer::Override, Offer::Cancel]);
    if shell.caller.capabilities.contains(Capability::PoliciesWrite) {
        all.push(Entry { to: "/policies".to_owned(), icon: "policy", name: "Change the policies" });
    }
    all
}

/// What would come of handing it in; none if somebody did meanwhile.
async fn foreseen(app: &App, shell: &Shell, dossier: &Dossier) -> Result<Option<Simulated>, Problem> {
    match tasks::foresee(&app.hub, &shell.caller, dossier.seen.task.id).await {
        Ok(found) => Ok(Some(simulated(&found))),
        Err(HubError::InvalidState { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}
