//! Asking somebody who is at home elsewhere to join.

use domain::Id;
use domain::accounts::Account;
use domain::audit::{AuditEntry, Chain};
use domain::invitations::{INVITATION_LASTS, Invitation, InvitationRefusal, InvitationStatus, still_stands};
use domain::members::Seat;
use domain::organizations::Organization;
use domain::permissions::Capability;
use domain::subject::Subject;
use records::invitations::{self, After, Side};
use records::{Tx, accounts, members, organizations};

use super::founding::{Entrance, join};
use crate::act::Act;
use crate::{Caller, Hub, HubError, audit};

const MISSING: HubError = HubError::NotFound("invitation");

/// Makes the invitation of an account to the caller's organization, or renews the one that is open.
pub(super) async fn invite<T>(
    tx: &mut Tx,
    act: &Act<T>,
    account_id: Id<Account>,
    seat: &Seat,
) -> Result<Invitation, HubError> {
    let known = invitations::open(tx, act.org(), account_id).await?;
    let (id, created_at) =
        known.as_ref().map_or((act.hub.ids.id(), act.now), |known| (known.id, known.created_at));
    let invitation = Invitation {
        id,
        org_id: act.org(),
        account_id,
        invited_by: act.actor(),
        membership_level: seat.level,
        roles: seat.roles.clone(),
        manager_id: seat.manager_id,
        status: InvitationStatus::Open,
        expires_at: act.now.plus(INVITATION_LASTS),
        created_at,
        updated_at: act.now,
    };
    match known {
        Some(_) => invitations::update(tx, &invitation).await?,
        None => invitations::insert(tx, &invitation).await?,
    }
    let mut entry = act.entry("invitation:sent", Subject::new("invitation", invitation.id));
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
    let organization = organizations::get(tx, invitation.org_id).await?.ok_or(MISSING)?;
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
                seen(tx, found.filter(may_see).ok_or(MISSING)?).await
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

/// Accepts, declines or withdraws an invitation.
pub async fn answer(
    hub: &Hub,
    caller: &Caller,
    id: Id<Invitation>,
    answer: Answer,
) -> Result<Seen, HubError> {
    caller.require(needed(answer))?;
    let act = Act::new(hub, caller, (id, answer));
    hub.records.write(act, |tx, act| Box::pin(answer_unit(tx, act))).await
}

fn needed(answer: Answer) -> Capability {
    match answer {
        Answer::Accept | Answer::Decline => Capability::AccountsWrite,
        Answer::Withdraw => Capability::MembersWrite,
    }
}

type Answering = Act<(Id<Invitation>, Answer)>;

async fn answer_unit(tx: &mut Tx, act: &Answering) -> Result<Seen, HubError> {
    let (id, answer) = act.input;
    let found = invitations::get_locked(tx, id, act.org(), act.actor()).await?;
    act.confirm(tx, needed(answer)).await?;
    let is_theirs = |found: &Invitation| match answer {
        Answer::Accept | Answer::Decline => found.account_id == act.actor(),
        Answer::Withdraw => found.org_id == act.org(),
    };
    let invitation = found.filter(is_theirs).ok_or(MISSING)?;
    invitation.is_open(act.now).map_err(|refusal| refused(&invitation, refusal))?;
    let Seen { invitation, organization } = seen(tx, invitation).await?;
    let (status, action) = match answer {
        Answer::Accept => {
            accept(tx, act, &invitation, &organization).await?;
            (InvitationStatus::Accepted, "invitation:accepted")
        }
        Answer::Decline => (InvitationStatus::Declined, "invitation:declined"),
        Answer::Withdraw => (InvitationStatus::Withdrawn, "invitation:withdrawn"),
    };
    let invitation = Invitation { status, updated_at: act.now.after(invitation.updated_at), ..invitation };
    invitations::update(tx, &invitation).await?;
    let plain = act.entry(action, Subject::new("invitation", invitation.id));
    // In the chain of the organization that asked: the person may act in another one now.
    audit::record(tx, &AuditEntry { chain: Chain::Organization(organization.id), ..plain }).await?;
    Ok(Seen { invitation, organization })
}

fn refused(invitation: &Invitation, refusal: InvitationRefusal) -> HubError {
    let state = match refusal {
        InvitationRefusal::Void => "void",
        InvitationRefusal::Closed | InvitationRefusal::Expired => invitation.status.as_str(),
    };
    HubError::InvalidState { state: state.into(), detail: refusal.to_string() }
}

/// The person joins; what was offered is from whoever offered it.
async fn accept(
    tx: &mut Tx,
    act: &Answering,
    invitation: &Invitation,
    organization: &Organization,
) -> Result<(), HubError> {
    let sender = accounts::get_shared(tx, invitation.invited_by).await?.ok_or(MISSING)?;
    let level = members::get_shared(tx, organization.id, sender.id).await?.map(|seat| seat.membership_level);
    still_stands(sender.status, level, organization).map_err(|refusal| refused(invitation, refusal))?;
    let account = &act.caller.credential.account;
    if members::get(tx, organization.id, account.id).await?.is_some() {
        return Err(HubError::Conflict("you are a member already".into()));
    }
    // Who was to be the manager may have left.
    let manager_id = match invitation.manager_id {
        Some(manager) => members::get_shared(tx, organization.id, manager).await?.map(|_| manager),
        None => None,
    };
    let seat = Seat { level: invitation.membership_level, manager_id, roles: invitation.roles.clone() };
    join(tx, act.maker(), account, &Entrance { organization, seat: &seat, granted_by: sender.id }).await
}
