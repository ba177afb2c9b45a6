//! Who is who: accounts, organizations and the keys that act for them.

use std::borrow::Cow;
use std::fmt;

use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// How many scopes a key may list.
pub const SCOPES_MAX: usize = 64;
/// How long the name of a scope may be.
pub const SCOPE_CHARS_MAX: usize = 100;
/// How long the name of a key may be.
pub const KEY_NAME_CHARS_MAX: usize = 200;

/// The caller, as the hub sees them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// Who is calling.
    pub account: Account,
    /// Where they act.
    pub organization: Organization,
    /// Their roles there.
    pub roles: Vec<String>,
    /// What they may do with these credentials.
    pub permissions: Vec<Cow<'static, str>>,
    /// The API key that was used, if one was.
    pub key_id: Option<Uuid>,
    /// The login that was used, if one was.
    pub login_session_id: Option<String>,
}

/// A person, service or agent that can authenticate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    /// The account's id.
    pub id: Uuid,
    /// Its address, unique in the hub.
    pub email: String,
    /// Its name for people.
    pub display_name: String,
    /// Its name in Gitea.
    pub gitea_username: Option<String>,
    /// What kind of account.
    pub access_level: AccessLevel,
    /// Whether it may authenticate.
    pub status: AccountStatus,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// What kind of account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// Administers the whole instance.
    Admin,
    /// A person.
    User,
    /// A program.
    Service,
}

/// Whether an account may authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountStatus {
    /// It may.
    Active,
    /// Locked by an admin.
    Suspended,
    /// Shut down by its owner.
    Deactivated,
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Organization {
    /// The organization's id.
    pub id: Uuid,
    /// Its short name, unique in the hub.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// The account that owns it.
    pub owner_id: Uuid,
    /// Its name in Gitea.
    pub gitea_org_name: Option<String>,
    /// Since when it is closed.
    #[schema(format = DateTime)]
    pub archived_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// A credential of one account for one organization. The key itself is shown once, in [`CreatedApiKey`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    /// The key's id, which is no secret.
    pub id: Uuid,
    /// Where the key acts.
    pub organization_id: Uuid,
    /// Whom the key stands for.
    pub account_id: Uuid,
    /// What it is for, in the words of who minted it.
    pub name: String,
    /// Its first characters, to recognise it by.
    #[schema(example = "csk_1a2b3c4d")]
    pub prefix: String,
    /// The permissions it is limited to; null means all of the account's.
    pub scopes: Option<Vec<String>>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// When it stops working; null means never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// When it was revoked; null means it was not.
    #[schema(format = DateTime)]
    pub revoked_at: Option<String>,
    /// The key that replaced it.
    pub rotated_to_id: Option<Uuid>,
    /// The account that minted it.
    pub minted_by: Uuid,
    /// When it was last used, to the minute.
    #[schema(format = DateTime)]
    pub last_used_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Mints a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Validate, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    /// Whom the key stands for (default: the caller).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<Uuid>,
    /// What it is for.
    #[garde(length(chars, min = 1, max = KEY_NAME_CHARS_MAX))]
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The permissions to limit it to (default: all of the account's; for an agent a list of its own).
    #[garde(inner(length(min = 1, max = SCOPES_MAX), inner(length(bytes, min = 1, max = SCOPE_CHARS_MAX))))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// When it stops working (default: never).
    // Whoever turns it into a time checks its form.
    #[garde(skip)]
    #[schema(format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Where it acts (default: the caller's organization).
    #[garde(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<Uuid>,
}

/// The answer to minting or rotating a key: the only one that shows the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiKey {
    /// What later answers show of it.
    #[serde(flatten)]
    pub api_key: ApiKey,
    /// The key itself; null in a replayed answer, because it is not kept.
    #[schema(required)]
    pub key: Option<String>,
    /// This repeats the answer to an earlier request with the same `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

impl fmt::Debug for CreatedApiKey {
    /// Leaves out the key, so that no log line or failed assertion can show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedApiKey")
            .field("api_key", &self.api_key)
            .field("replayed", &self.replayed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Problem;

    fn created() -> CreatedApiKey {
        let time = "2026-03-18T15:30:00.000000Z".to_owned();
        let api_key = ApiKey {
            id: Uuid::nil(),
            organization_id: Uuid::nil(),
            account_id: Uuid::nil(),
            name: "ci".to_owned(),
            prefix: "csk_1a2b".to_owned(),
            scopes: None,
            enabled: true,
            expires_at: None,
            revoked_at: None,
            rotated_to_id: None,
            minted_by: Uuid::nil(),
            last_used_at: None,
            created_at: time.clone(),
            updated_at: time,
        };
        CreatedApiKey { api_key, key: Some("csk_1a2b-hush".to_owned()), replayed: false }
    }

    #[test]
    fn a_created_key_is_one_flat_object() {
        let sent = serde_json::to_value(created()).unwrap();
        assert_eq!(sent["name"], "ci");
        assert_eq!(sent["key"], "csk_1a2b-hush");
        assert_eq!(sent.get("replayed"), None);
        assert_eq!(serde_json::from_value::<CreatedApiKey>(sent).unwrap(), created());
    }

    #[test]
    fn a_replayed_answer_says_so() {
        let sent = serde_json::to_value(CreatedApiKey { key: None, replayed: true, ..created() }).unwrap();
        assert_eq!(sent["key"], json!(null));
        assert_eq!(sent["replayed"], json!(true));
    }

    #[test]
    fn debug_never_shows_the_key() {
        assert!(!format!("{:?}", created()).contains("hush"));
    }

    #[test]
    fn unknown_fields_are_refused() {
        let error = serde_json::from_value::<CreateApiKey>(json!({"name": "ci", "scope": []})).unwrap_err();
        assert!(error.to_string().contains("scope"), "{error}");
    }

    #[test]
    fn names_and_scopes_have_bounds() {
        let named = |name: &str| CreateApiKey { name: name.to_owned(), ..CreateApiKey::default() };
        let scoped = |scopes: Vec<String>| CreateApiKey { scopes: Some(scopes), ..named("ci") };
        let cases = [
            (named(""), Some("/name")),
            (named("ä"), None),
            (named(&"ä".repeat(200)), None),
            (named(&"ä".repeat(201)), Some("/name")),
            (scoped(vec![]), Some("/scopes")),
            (scoped(vec![String::new()]), Some("/scopes/0")),
            (scoped(vec!["tasks:*".to_owned()]), None),
            (scoped(vec!["tasks:*".to_owned(); SCOPES_MAX + 1]), Some("/scopes")),
            (scoped(vec!["x".repeat(101)]), Some("/scopes/0")),
        ];
        for (request, expected) in cases {
            let problem = request.validate().err().map(|report| Problem::invalid(&report));
            let pointer = problem.as_ref().map(|problem| problem.errors[0].pointer.as_str());
            assert_eq!(pointer, expected, "{request:?}");
        }
    }

    #[test]
    fn levels_and_statuses_are_snake_case() {
        assert_eq!(serde_json::to_value(AccessLevel::Service).unwrap(), "service");
        assert_eq!(serde_json::to_value(AccountStatus::Deactivated).unwrap(), "deactivated");
    }
}
