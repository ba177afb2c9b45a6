//! Asking somebody who is at home elsewhere to join.

use domain::accounts::{Account, AccountStatus};
use domain::audit::{AuditEntry, Chain};
use domain::invitations::{INVITATION_LASTS, Invitation, InvitationStatus};
use domain::members::Seat;
use domain::organizations::{MembershipLevel, Organization};
use domain::permissions::Capability;
use domain::subject::Subject;
use domain::{Id, Timestamp};
use records::invitations::{self, After, Side};
use records::{Tx, accounts, members, organizations};

use super::authenticate::confirm;
use super::founding::{Maker, join};
use crate::{Caller, Hub, HubError, audit};

/// Whom an organization wants, as what.
pub(super) struct Wanted<'a> {
    pub(super) hub: &'a Hub,
    pub(super) caller: &'a Caller,
    pub(super) account: Id<Account>,
    pub(super) seat: &'a Seat,
    pub(super) now: Timestamp,
}

/// Makes the invitation, or renews the one that is open.
pub(super) async fn invite(tx: &mut Tx, wanted: &Wanted<'_>) -> Result<Invitation, HubError> {
    let credential = &wanted.caller.credential;
    let known = invitations::open(tx, credential.organization.id, wanted.account).await?;
    let (id, created_at) =
        known.as_ref().map_or((wanted.hub.ids.id(), wanted.now), |known| (known.id, known.created_at));
    let invitation = Invitation {
        id,
        org_id: credential.organization.id,
        account_id: wanted.account,
        invited_by: credential.account.id,
        membership_level: wanted.seat.level,
        roles: wanted.seat.roles.clone(),
        manager_id: wanted.seat.manager_id,
        status: InvitationStatus::Open,
        expires_at: wanted.now.plus(INVITATION_LASTS),
        created_at,
        updated_at: wanted.now,
    };
    match known {
        Some(_) => invitations::update(tx, &invitation).await?,
        None => invitations::insert(tx, &invitation).await?,
    }
    let subject = Subject::new("invitation", invitation.id);
    let mut entry = wanted.caller.entry(wanted.hub, "invitation:sent", subject, wanted.now);
    entry.details.insert("roles".into(), invitation.roles.clone().into());
    entry.details.insert("membership_level".into(), invitation.membership_level.as_str().into());
    audit::record(tx, &entry).await?;
    Ok(invitation)
}

/// An invitation and where it leads.
pub struct Seen {
    /// The invitation.
    pub invitation: Invitation,
    /// The organization that sent it.
    pub organization: Organization,
}

/// Invitations, newest first: those the caller received, or those the caller's organization sent.
pub async fn list(
    hub: &Hub,
    caller: &Caller,
    sent: bool,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Seen>, HubError> {
    caller.require(if sent { Capability::MembersWrite } else { Capability::AccountsRead })?;
    let side = match sent {
        true => Side::Sent(caller.credential.organization.id),
        false => Side::Received(caller.credential.account.id),
    };
    let found = invitations::list(&hub.records, side, after, limit).await?;
    hub.records.read(found, |tx, found| Box::pin(seen_all(tx, found))).await
}

async fn seen_all(tx: &mut Tx, found: &[Invitation]) -> Result<Vec<Seen>, HubError> {
    let mut all = Vec::with_capacity(found.len());
    for invitation in found {
        all.push(seen(tx, invitation.clone()).await?);
    }
    Ok(all)
}

async fn seen(tx: &mut Tx, invitation: Invitation) -> Result<Seen, HubError> {
    let organization =
        organizations::get(tx, invitation.org_id).await?.ok_or(HubError::NotFound("invitation"))?;
    Ok(Seen { invitation, organization })
}

/// One invitation: one's own, or one of the organization for its admins.
pub async fn get(hub: &Hub, caller: &Caller, id: Id<Invitation>) -> Result<Seen, HubError> {
    caller.require(Capability::AccountsRead)?;
    let input = (caller.clone(), id);
    hub.records
        .read(input, |tx, (caller, id)| {
            Box::pin(async move {
                let credential = &caller.credential;
                let found =
                    invitations::get(tx, *id, credential.organization.id, credential.account.id).await?;
                let may_see = |found: &Invitation| {
                    found.account_id == credential.account.id
                        || caller.capabilities.contains(Capability::MembersWrite)
                };
                seen(tx, found.filter(may_see).ok_or(HubError::NotFound("invitation"))?).await
            })
        })
        .await
}

/// What somebody does with an invitation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The person joins.
    Accept,
    /// The person does not want to.
    Decline,
    /// The organization changed its mind.
    Withdraw,
}

struct Answering {
    hub: Hub,
    caller: Caller,
    id: Id<Invitation>,
    answer: Answer,
    now: Timestamp,
}

/// Accepts, declines or withdraws an invitation.
pub async fn answer(
    hub: &Hub,
    caller: &Caller,
    id: Id<Invitation>,
    answer: Answer,
) -> Result<Seen, HubError> {
    caller.require(needed(answer))?;
    let now = hub.clock.now();
    let answering = Answering { hub: hub.clone(), caller: caller.clone(), id, answer, now };
    hub.records.write(answering, |tx, answering| Box::pin(answer_unit(tx, answering))).await
}

fn needed(answer: Answer) -> Capability {
    match answer {
        Answer::Accept | Answer::Decline => Capability::AccountsWrite,
        Answer::Withdraw => Capability::MembersWrite,
    }
}

async fn answer_unit(tx: &mut Tx, answering: &Answering) -> Result<Seen, HubError> {
    let credential = &answering.caller.credential;
    let (org, account) = (credential.organization.id, credential.account.id);
    let found = invitations::get_locked(tx, answering.id, org, account).await?;
    confirm(tx, &answering.caller, needed(answering.answer), answering.now).await?;
    let is_theirs = |found: &Invitation| match answering.answer {
        Answer::Accept | Answer::Decline => found.account_id == account,
        Answer::Withdraw => found.org_id == org,
    };
    let invitation = found.filter(is_theirs).ok_or(HubError::NotFound("invitation"))?;
    invitation.is_open(answering.now).map_err(|refusal| HubError::InvalidState {
        state: invitation.status.as_str().into(),
        detail: refusal.to_string(),
    })?;
    let Seen { invitation, organization } = seen(tx, invitation).await?;
    let (status, action) = match answering.answer {
        Answer::Accept => {
            accept(tx, answering, &invitation, &organization).await?;
            (InvitationStatus::Accepted, "invitation:accepted")
        }
        Answer::Decline => (InvitationStatus::Declined, "invitation:declined"),
        Answer::Withdraw => (InvitationStatus::Withdrawn, "invitation:withdrawn"),
    };
    let invitation =
        Invitation { status, updated_at: answering.now.after(invitation.updated_at), ..invitation };
    invitations::update(tx, &invitation).await?;
    let subject = Subject::new("invitation", invitation.id);
    let plain = answering.caller.entry(&answering.hub, action, subject, answering.now);
    // In the chain of the organization that asked: the person may act in another one now.
    audit::record(tx, &AuditEntry { chain: Chain::Organization(organization.id), ..plain }).await?;
    Ok(Seen { invitation, organization })
}

/// What was offered is given by whoever offered it, so they must still be able to.
async fn accept(
    tx: &mut Tx,
    answering: &Answering,
    invitation: &Invitation,
    organization: &Organization,
) -> Result<(), HubError> {
    let inviter = accounts::get_shared(tx, invitation.invited_by).await?;
    let seat = members::get_shared(tx, organization.id, invitation.invited_by).await?;
    let stands = inviter.is_some_and(|inviter| inviter.status == AccountStatus::Active)
        && seat.is_some_and(|seat| seat.membership_level.is_admin())
        && organization.archived_at.is_none();
    if !stands {
        return Err(HubError::InvalidState {
            state: "void".into(),
            detail: "whoever sent this invitation can no longer give what it offers; ask for another one"
                .into(),
        });
    }
    let account = &answering.caller.credential.account;
    if members::get(tx, organization.id, account.id).await?.is_some() {
        return Err(HubError::Conflict("you are a member already".into()));
    }
    let manager_id = match invitation.manager_id {
        Some(manager) => members::get_shared(tx, organization.id, manager).await?.map(|_| manager),
        None => None,
    };
    let level = match invitation.membership_level {
        MembershipLevel::Owner => MembershipLevel::Member,
        level => level,
    };
    let seat = Seat { level, manager_id, roles: invitation.roles.clone() };
    let service = &answering.caller.origin.service;
    let maker = Maker { ids: &*answering.hub.ids, actor: invitation.invited_by, service, now: answering.now };
    join(tx, maker, organization, account, &seat).await
}
