//! What people said about a task: with their answers, and besides.

use domain::Timestamp;
use domain::approvals::Answer;
use hub::tasks::Dossier;

use super::{People, Said};
use crate::pages::show::{ago, clock, lines, span, time};

/// Reasons given with answers, and comments, the oldest first.
pub(super) fn of(dossier: &Dossier, people: &People<'_>, now: Timestamp) -> Vec<Said> {
    let mut all: Vec<(Timestamp, Said)> = Vec::new();
    for seat in &dossier.seats {
        let Some(response) = &seat.approval.response else { continue };
        let Some(reason) = &response.reason else { continue };
        let verb = match response.action {
            Answer::Approve => "approved",
            Answer::Reject => "rejected",
            Answer::RequestChanges => "requested changes",
        };
        let words = format!("{verb} {} ago, {}", span(now.since(response.at)), clock(response.at, now));
        let said = Said {
            id: format!("answer-{}", seat.approval.id),
            face: people.face(response.by).large(),
            name: people.named(response.by),
            about: time(response.at, &words),
            words: lines(reason),
        };
        all.push((response.at, said));
    }
    for comment in &dossier.comments {
        let said = Said {
            id: format!("comment-{}", comment.id),
            face: people.face(comment.author_id).large(),
            name: people.named(comment.author_id),
            about: ago(comment.created_at, now),
            words: lines(&comment.body),
        };
        all.push((comment.created_at, said));
    }
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, said)| said).collect()
}
