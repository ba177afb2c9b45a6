//! Requests as time goes by: over, more urgent, or of another level.

use crate::Timestamp;
use crate::approvals::{Approval, ApprovalStatus};

impl Approval {
    /// The request after nobody answered it in time.
    #[must_use]
    pub fn expired(&self, now: Timestamp) -> Self {
        Self { status: ApprovalStatus::Expired, updated_at: now.after(self.updated_at), ..self.clone() }
    }

    /// The request after the time of one of its policies: about the others, or over.
    pub(crate) fn without(&self, place: usize, now: Timestamp) -> Self {
        let rest: Vec<usize> = self.serves.iter().copied().filter(|other| *other != place).collect();
        if rest.is_empty() {
            // For what it was stays on record.
            return self.expired(now);
        }
        let mut routing = self.routing.clone();
        routing.escalated.retain(|other| *other != place);
        Self { serves: rest, routing, updated_at: now.after(self.updated_at), ..self.clone() }
    }

    /// The request, one step more urgent.
    #[must_use]
    pub fn more_urgent(&self, risk_score: u32, now: Timestamp) -> Self {
        let priority = self.priority.raised(1);
        let updated_at = now.after(self.updated_at);
        Self { priority, score: priority.score(risk_score), updated_at, ..self.clone() }
    }

    /// The request of somebody whom a level of a policy's escalation list names.
    #[must_use]
    pub fn named_at(mut self, place: usize, level: u32) -> Self {
        for places in [&mut self.serves, &mut self.routing.escalated] {
            places.push(place);
            places.sort_unstable();
            places.dedup();
        }
        self.routing.level = self.routing.level.max(level);
        self
    }
}
