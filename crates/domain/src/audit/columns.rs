//! The columns beside a body: an index, never the truth.

use serde_json::{Value, json};
use uuid::Uuid;

use super::entry::AuditEntry;
use crate::Timestamp;

/// The columns of one row, as claimed by a body or as found in the table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowColumns {
    /// Who did it.
    pub owner_id: Option<Uuid>,
    /// With which key; NULL once the key is deleted.
    pub key_id: Option<Uuid>,
    /// In which organization; NULL once it is deleted.
    pub org_id: Option<Uuid>,
    /// In which agent session; NULL once it is deleted.
    pub session_id: Option<Uuid>,
    /// In which login.
    pub login_session_id: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// To what kind of thing.
    pub subject_type: Option<String>,
    /// To which one.
    pub subject_id: Option<String>,
    /// The state before.
    pub from_state: Option<String>,
    /// The state after.
    pub to_state: Option<String>,
    /// From which address.
    pub ip: Option<String>,
    /// With which program.
    pub user_agent: Option<String>,
    /// Through which service.
    pub service: Option<String>,
    /// Why, in words.
    pub reason: Option<String>,
    /// Why, by reference.
    pub ticket_ref: Option<String>,
    /// When.
    pub created_at: Option<Timestamp>,
}

impl RowColumns {
    /// What the columns are when the row is written.
    #[must_use]
    pub fn of(entry: &AuditEntry) -> Self {
        Self {
            owner_id: Some(entry.actor.raw()),
            key_id: entry.key_id.map(|id| id.raw()),
            org_id: entry.chain.organization().map(|id| id.raw()),
            session_id: entry.session_id,
            login_session_id: entry.login_session_id.clone(),
            action: Some(entry.action.clone()),
            subject_type: Some(entry.subject.kind.clone()),
            subject_id: Some(entry.subject.id.clone()),
            from_state: entry.from_state.clone(),
            to_state: entry.to_state.clone(),
            ip: entry.ip.clone(),
            user_agent: entry.user_agent.clone(),
            service: entry.service.clone(),
            reason: entry.reason.clone(),
            ticket_ref: entry.ticket_ref.clone(),
            created_at: Some(entry.occurred_at),
        }
    }

    /// The first column that says something else than the body claimed. Only what a foreign key sets to NULL may
    /// have become NULL.
    #[must_use]
    pub fn first_difference(&self, claimed: &Self) -> Option<&'static str> {
        let checks = [
            ("owner_id", self.owner_id == claimed.owner_id),
            ("key_id", same_or_null(self.key_id, claimed.key_id)),
            ("org_id", same_or_null(self.org_id, claimed.org_id)),
            ("session_id", same_or_null(self.session_id, claimed.session_id)),
            ("login_session_id", self.login_session_id == claimed.login_session_id),
            ("action", self.action == claimed.action),
            ("subject_type", self.subject_type == claimed.subject_type),
            ("subject_id", self.subject_id == claimed.subject_id),
            ("from_state", self.from_state == claimed.from_state),
            ("to_state", self.to_state == claimed.to_state),
            ("ip", self.ip == claimed.ip),
            ("user_agent", self.user_agent == claimed.user_agent),
            ("service", self.service == claimed.service),
            ("reason", self.reason == claimed.reason),
            ("ticket_ref", self.ticket_ref == claimed.ticket_ref),
            ("created_at", self.created_at == claimed.created_at),
        ];
        checks.into_iter().find_map(|(name, agrees)| (!agrees).then_some(name))
    }

    pub(super) fn to_json(&self) -> Value {
        let id = |id: Option<Uuid>| id.map(|id| id.to_string());
        json!({
            "owner_id": id(self.owner_id),
            "key_id": id(self.key_id),
            "org_id": id(self.org_id),
            "session_id": id(self.session_id),
            "login_session_id": self.login_session_id,
            "action": self.action,
            "subject_type": self.subject_type,
            "subject_id": self.subject_id,
            "from_state": self.from_state,
            "to_state": self.to_state,
            "ip": self.ip,
            "user_agent": self.user_agent,
            "service": self.service,
            "reason": self.reason,
            "ticket_ref": self.ticket_ref,
            "created_at": self.created_at.map(|at| at.to_string()),
        })
    }

    /// What cannot be read becomes `None`; whoever needs to know compares [`RowColumns::to_json`] afterwards.
    pub(super) fn from_json(columns: &Value) -> Self {
        let text = |name: &str| columns[name].as_str().map(str::to_owned);
        let id = |name: &str| columns[name].as_str().and_then(|id| id.parse().ok());
        Self {
            owner_id: id("owner_id"),
            key_id: id("key_id"),
            org_id: id("org_id"),
            session_id: id("session_id"),
            login_session_id: text("login_session_id"),
            action: text("action"),
            subject_type: text("subject_type"),
            subject_id: text("subject_id"),
            from_state: text("from_state"),
            to_state: text("to_state"),
            ip: text("ip"),
            user_agent: text("user_agent"),
            service: text("service"),
            reason: text("reason"),
            ticket_ref: text("ticket_ref"),
            created_at: columns["created_at"].as_str().and_then(|at| at.parse().ok()),
        }
    }
}

fn same_or_null(stored: Option<Uuid>, claimed: Option<Uuid>) -> bool {
    stored.is_none() || stored == claimed
}

#[cfg(test)]
mod tests {
    use super::super::testing::full_entry;
    use super::*;

    #[test]
    fn columns_come_back() {
        let columns = RowColumns::of(&full_entry());
        assert_eq!(RowColumns::from_json(&columns.to_json()), columns);
        assert_eq!(RowColumns::from_json(&RowColumns::default().to_json()), RowColumns::default());
    }

    /// Through JSON, so that no column can be forgotten here.
    #[test]
    fn every_column_is_compared() {
        let claimed = RowColumns::of(&full_entry());
        let as_json = claimed.to_json();
        for (name, value) in as_json.as_object().unwrap() {
            let changed = match name.as_str() {
                "created_at" => json!("2001-01-01T00:00:00.000000Z"),
                id if id.ends_with("_id") && Uuid::parse_str(value.as_str().unwrap()).is_ok() => {
                    json!(Uuid::from_u128(0xdead).to_string())
                }
                _ => json!("changed"),
            };
            let with = |value: Value| {
                let mut columns = as_json.clone();
                columns[name] = value;
                RowColumns::from_json(&columns)
            };
            assert_eq!(with(changed).first_difference(&claimed), Some(name.as_str()));
            let may_be_null = ["key_id", "org_id", "session_id"].contains(&name.as_str());
            let nulled = with(Value::Null).first_difference(&claimed);
            assert_eq!(nulled, (!may_be_null).then_some(name.as_str()));
        }
    }

    #[test]
    fn a_column_may_not_say_more_than_the_body() {
        let claimed = RowColumns::default();
        let stored = RowColumns { key_id: Some(Uuid::from_u128(1)), ..RowColumns::default() };
        assert_eq!(stored.first_difference(&claimed), Some("key_id"));
    }
}
