//! Telling people of events, in the unit that appends them: whoever is told of a change that was not made was told wrong,
//! and of one that was made nobody is told too little.

use std::collections::{BTreeMap, BTreeSet};

use domain::Id;
use domain::accounts::Account;
use domain::approvals::ApprovalStatus;
use domain::events::EventDraft;
use domain::notifications::{About, Notification, NotificationKind, Recipient, about, addressed};
use domain::tasks::Task;
use records::notification_preferences::{Listener, listeners};
use records::{Tx, approvals, notifications, reviewers, tasks};

use crate::HubError;
use crate::act::Deed;
use crate::agents::owners;

/// How many admins are told at most.
const ADMINS_MAX: i64 = 200;

/// An event, what it is about, and whom it tells what.
struct Telling<'e> {
    event: &'e EventDraft,
    about: About,
    people: BTreeMap<Id<Account>, NotificationKind>,
}

/// Tells everybody to whom the events are addressed, except whoever did it and whoever does not want to know. How many.
pub(crate) async fn tell(tx: &mut Tx, deed: &impl Deed, events: &[EventDraft]) -> Result<usize, HubError> {
    let mut tellings = Vec::new();
    for event in events {
        let to = addressed(event);
        let Some(about) = about(event).filter(|_| !to.is_empty()) else { continue };
        let people = people(tx, deed, (event, &about), to).await?;
        tellings.push(Telling { event, about, people });
    }
    keep_listeners(tx, deed, &mut tellings).await?;
    let mut told = 0;
    for Telling { event, about, people } in &tellings {
        for (account, kind) in people {
            notifications::insert(tx, &notification(deed, (event, about), (*account, *kind))).await?;
            told += 1;
        }
    }
    Ok(told)
}

fn notification(
    deed: &impl Deed,
    (event, about): (&EventDraft, &About),
    (account_id, kind): (Id<Account>, NotificationKind),
) -> Notification {
    Notification {
        id: deed.hub().ids.id(),
        org_id: deed.org(),
        account_id,
        kind,
        task_id: about.task_id,
        approval_id: about.approval_id,
        event_id: event.id,
        event_type: event.event_type.clone(),
        event_seq: None,
        actor_id: event.actor,
        facts: about.facts.clone(),
        created_at: event.occurred_at,
        delivered_at: None,
        read_at: None,
    }
}

/// Each person once, without whoever did it.
async fn people(
    tx: &mut Tx,
    deed: &impl Deed,
    (event, about): (&EventDraft, &About),
    to: Vec<(Recipient, NotificationKind)>,
) -> Result<BTreeMap<Id<Account>, NotificationKind>, HubError> {
    let mut people = BTreeMap::new();
    for (recipient, kind) in to {
        let accounts = match recipient {
            Recipient::Account(account) => vec![account],
            Recipient::Author => author(tx, deed, (event, about.task_id)).await?.into_iter().collect(),
            Recipient::Reviewers => reviewers(tx, deed, about.task_id).await?,
            Recipient::Admins => {
                let admins = reviewers::admins(tx, deed.org(), ADMINS_MAX).await?;
                admins.into_iter().map(|admin| admin.account_id).collect()
            }
        };
        for account in accounts.into_iter().filter(|account| Some(account.raw()) != event.actor) {
            people.entry(account).or_insert(kind);
        }
    }
    Ok(people)
}

/// Who wrote the task. An agent reads the log; it is the person who answers for it that has an inbox.
async fn author(
    tx: &mut Tx,
    deed: &impl Deed,
    (event, task): (&EventDraft, Id<Task>),
) -> Result<Option<Id<Account>>, HubError> {
    let named = event.payload["author_id"].as_str().and_then(|id| id.parse().ok());
    let author = match named {
        Some(author) => Some(author),
        None => tasks::get(tx, deed.org(), task).await?.map(|task| task.author_id),
    };
    let Some(author) = author else { return Ok(None) };
    let owners = owners::lines(tx, deed.org(), BTreeSet::from([author])).await?;
    Ok(Some(owners.get(&author).and_then(|line| line.last()).copied().unwrap_or(author)))
}

/// Whose answer the task's review has, or waits for.
async fn reviewers(tx: &mut Tx, deed: &impl Deed, task: Id<Task>) -> Result<Vec<Id<Account>>, HubError> {
    let Some(task) = tasks::get(tx, deed.org(), task).await? else { return Ok(Vec::new()) };
    let Some(review) = task.review_id else { return Ok(Vec::new()) };
    let requests = approvals::of_review(tx, deed.org(), review).await?;
    let heard = [ApprovalStatus::Pending, ApprovalStatus::Approved, ApprovalStatus::Rejected];
    let heard = requests.into_iter().filter(|request| heard.contains(&request.status));
    Ok(heard.map(|request| request.reviewer_id).collect())
}

/// Leaves out members who may not act, those who left, and what people muted. Whoever is asked for a decision was looked
/// at by whoever asks, in this very unit, and cannot mute it: nothing is read for them.
async fn keep_listeners(tx: &mut Tx, deed: &impl Deed, tellings: &mut [Telling<'_>]) -> Result<(), HubError> {
    let all = tellings.iter().flat_map(|telling| &telling.people);
    let asked_about: BTreeSet<Id<Account>> =
        all.filter(|(_, kind)| !kind.asks()).map(|(account, _)| *account).collect();
    if asked_about.is_empty() {
        return Ok(());
    }
    let found = listeners(tx, deed.org(), asked_about).await?;
    let found: BTreeMap<Id<Account>, Listener> =
        found.into_iter().map(|listener| (listener.account_id, listener)).collect();
    let hears = |account: &Id<Account>, kind: NotificationKind| {
        found.get(account).is_some_and(|listener| {
            kind.reaches(listener.status, listener.muted.as_deref().unwrap_or_default())
        })
    };
    for telling in tellings {
        telling.people.retain(|account, kind| kind.asks() || hears(account, *kind));
    }
    Ok(())
}
