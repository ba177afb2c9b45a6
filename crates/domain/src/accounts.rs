//! People, services and agents that can authenticate.

use std::str::FromStr;

use crate::organizations::Organization;
use crate::text::{UnknownWord, one_of};
use crate::{Id, Timestamp};

/// What an account is to the whole instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessLevel {
    /// Runs the instance.
    Admin,
    /// A person.
    User,
    /// A program: an agent, a pipeline, the hub itself.
    Service,
}

impl AccessLevel {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Admin, Self::User, Self::Service];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
            Self::Service => "service",
        }
    }
}

impl FromStr for AccessLevel {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// Whether an account may authenticate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountStatus {
    /// It may.
    Active,
    /// Locked by an admin.
    Suspended,
    /// Shut down by its owner.
    Deactivated,
}

impl AccountStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Deactivated];

    /// As stored and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deactivated => "deactivated",
        }
    }
}

impl FromStr for AccountStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        one_of(&Self::ALL, Self::as_str, text)
    }
}

/// One who can authenticate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Its id.
    pub id: Id<Account>,
    /// Lower case; unique in the instance.
    pub email: String,
    /// What people read.
    pub display_name: String,
    /// Its name in Gitea.
    pub gitea_username: Option<String>,
    /// What it is to the instance.
    pub access_level: AccessLevel,
    /// Whether it may authenticate.
    pub status: AccountStatus,
    /// Whose admins may change it. Only the first accounts are older than their organization.
    pub home_org_id: Option<Id<Organization>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// How many words of a name people are found by.
const SEARCHED_WORDS_MAX: usize = 8;

/// One text an account is found by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchName {
    /// Lower case; bytes, so that every database compares them alike.
    pub name: Vec<u8>,
    /// Whether this is the whole name, which lists are sorted by.
    pub whole: bool,
}

impl Account {
    /// What the account is found by: its name from the beginning of any word, and its e-mail.
    #[must_use]
    pub fn search_names(&self) -> Vec<SearchName> {
        let folded = folded(&self.display_name);
        let starts = folded.char_indices().filter(|(at, _)| *at == 0 || folded[..*at].ends_with(' '));
        let words = starts.take(SEARCHED_WORDS_MAX).map(|(at, _)| &folded[at..]);
        let mut names: Vec<SearchName> = words
            .chain([self.email.as_str()])
            .enumerate()
            .map(|(index, text)| SearchName { name: text.as_bytes().to_vec(), whole: index == 0 })
            .collect();
        // The whole name stands before anything equal to it.
        names.sort_by(|left, right| (&left.name, right.whole).cmp(&(&right.name, left.whole)));
        names.dedup_by(|later, kept| later.name == kept.name);
        names
    }
}

/// Text as it is compared in searches: lower case, one space between words.
#[must_use]
pub fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for level in AccessLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        for status in AccountStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert!("Admin".parse::<AccessLevel>().is_err());
        assert!("".parse::<AccountStatus>().is_err());
    }

    fn found_by(display_name: &str, email: &str) -> Vec<(String, bool)> {
        let at = Timestamp::from_micros(0);
        let account = Account {
            id: Id::new(uuid::Uuid::from_u128(1)),
            email: email.to_owned(),
            display_name: display_name.to_owned(),
            gitea_username: None,
            access_level: AccessLevel::User,
            status: AccountStatus::Active,
            home_org_id: None,
            created_at: at,
            updated_at: at,
        };
        let names = account.search_names().into_iter();
        names.map(|found| (String::from_utf8(found.name).unwrap(), found.whole)).collect()
    }

    #[test]
    fn people_are_found_by_each_word_of_their_name_and_by_e_mail() {
        let names = found_by("  Ada  KING Lovelace ", "ada@example.org");
        let expected = [
            ("ada king lovelace", true),
            ("ada@example.org", false),
            ("king lovelace", false),
            ("lovelace", false),
        ];
        assert!(names.iter().map(|(name, whole)| (name.as_str(), *whole)).eq(expected), "{names:?}");
        assert_eq!(found_by("a@b", "a@b"), [("a@b".to_owned(), true)]);
        assert_eq!(found_by("z z", "z z")[1], ("z z".to_owned(), true), "the whole name is never lost");
        let long = "x ".repeat(100);
        assert_eq!(found_by(&long, "a@b").len(), SEARCHED_WORDS_MAX + 1);
        assert_eq!(found_by(&long, "a@b").iter().filter(|(_, whole)| *whole).count(), 1);
    }
}
