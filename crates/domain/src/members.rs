//! Who belongs to an organization, as what, and who may change that.

use crate::accounts::Account;
use crate::json::FieldError;
use crate::organizations::{MembershipLevel, Organization};
use crate::roles;
use crate::{Id, Timestamp};

/// What a member is, or shall be, to the organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Owner, admin or member.
    pub level: MembershipLevel,
    /// Who decides in the member's place when the member cannot.
    pub manager_id: Option<Id<Account>>,
    /// Names of roles, by name, each once, without `admin`, which is a level.
    pub roles: Vec<String>,
}

impl Seat {
    /// A level and nothing else.
    #[must_use]
    pub fn of(level: MembershipLevel) -> Self {
        Self { level, manager_id: None, roles: Vec::new() }
    }

    /// A seat as somebody asks for it: `admin` among the roles is another spelling of the level.
    ///
    /// # Errors
    /// The roles that cannot be given, by place; or that nobody becomes owner this way.
    pub fn asked(
        level: MembershipLevel,
        wanted: &[String],
        manager_id: Option<Id<Account>>,
    ) -> Result<Self, Vec<FieldError>> {
        if level == MembershipLevel::Owner {
            let detail = "an organization has one owner; use transfer-ownership";
            return Err(vec![FieldError { pointer: "/membership_level".into(), detail: detail.into() }]);
        }
        let wrong: Vec<FieldError> = wanted
            .iter()
            .enumerate()
            .filter_map(|(index, role)| {
                let bad = roles::check(role).err()?;
                Some(FieldError { pointer: format!("/roles/{index}"), detail: bad.to_string() })
            })
            .collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let is_admin = level.is_admin() || wanted.iter().any(|role| role == roles::ADMIN);
        let mut roles: Vec<String> = wanted.iter().filter(|role| *role != roles::ADMIN).cloned().collect();
        roles.sort();
        roles.dedup();
        let level = if is_admin { MembershipLevel::Admin } else { MembershipLevel::Member };
        Ok(Self { level, manager_id, roles })
    }
}

/// What shall change about a seat.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeatChange {
    /// Admin or member.
    pub level: Option<MembershipLevel>,
    /// All roles, new.
    pub roles: Option<Vec<String>>,
    /// Another manager, or none.
    pub manager_id: Option<Option<Id<Account>>>,
}

impl Seat {
    /// The seat after the change. Without a word about the level, a list of roles that names `admin` or leaves it out
    /// says it; the owner's level is not asked for, it stays.
    ///
    /// # Errors
    /// As [`Seat::asked`].
    pub fn changed(&self, change: &SeatChange) -> Result<Self, Vec<FieldError>> {
        let is_owner = self.level == MembershipLevel::Owner;
        let said = change.level.unwrap_or(match (&change.roles, is_owner) {
            (None, false) => self.level,
            (None, true) => MembershipLevel::Admin,
            (Some(_), _) => MembershipLevel::Member,
        });
        let roles = change.roles.as_ref().unwrap_or(&self.roles);
        let seat = Self::asked(said, roles, change.manager_id.unwrap_or(self.manager_id))?;
        let stays = is_owner && change.level.is_none();
        Ok(if stays { Self { level: self.level, ..seat } } else { seat })
    }
}

/// A role that somebody holds, and who gave it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HeldRole {
    /// Its name.
    pub role: String,
    /// Who gave it.
    pub granted_by: Id<Account>,
}

/// An account as its organization sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The account.
    pub account: Account,
    /// What it is to the organization; none if it has left.
    pub seat: Option<Seated>,
}

/// A seat that is taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seated {
    /// Owner, admin or member.
    pub level: MembershipLevel,
    /// Who decides in the member's place when the member cannot.
    pub manager_id: Option<Id<Account>>,
    /// By name.
    pub roles: Vec<HeldRole>,
    /// Since when.
    pub joined_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl HeldRole {
    /// Whether the role makes its holder eligible: one that somebody gave himself does not.
    #[must_use]
    pub fn counts_for(&self, holder: Id<Account>) -> bool {
        self.granted_by != holder
    }
}

impl Seated {
    /// What it is, without who gave it and since when.
    #[must_use]
    pub fn seat(&self) -> Seat {
        let roles = self.roles.iter().map(|held| held.role.clone()).collect();
        Seat { level: self.level, manager_id: self.manager_id, roles }
    }

    /// The names of the roles as people see them: the level is one of them.
    #[must_use]
    pub fn role_names(&self) -> Vec<String> {
        let level = self.level.is_admin().then(|| roles::ADMIN.to_owned());
        level.into_iter().chain(self.roles.iter().map(|held| held.role.clone())).collect()
    }
}

/// Whether an admin may add this account without asking it: one that is at home here; an instance admin any but the
/// hub's own, which is at home nowhere.
#[must_use]
pub fn may_add(account: &Account, org: Id<Organization>, by_instance_admin: bool) -> bool {
    account.home_org_id.is_some_and(|home| home == org || by_instance_admin)
}

/// Why a seat stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SeatRefusal {
    /// There is always one.
    #[error("the owner stays owner until ownership is transferred")]
    IsOwner,
    /// Agents have an end of their own.
    #[error("an agent is not removed but deactivated: DELETE /agents/{{id}}")]
    IsAgent,
    /// Agents work, they do not run organizations.
    #[error("an agent cannot be an admin")]
    AgentAsAdmin,
    /// Somebody else's affair.
    #[error("only an admin of the organization removes others")]
    NotYours,
    /// Nobody stands in for himself.
    #[error("nobody can be their own manager")]
    OwnManager,
}

/// Whether a member may get this seat. Whoever asks is an admin of the organization.
pub fn may_reseat(
    member: Id<Account>,
    is_agent: bool,
    from: MembershipLevel,
    to: &Seat,
) -> Result<(), SeatRefusal> {
    if from == MembershipLevel::Owner && to.level != MembershipLevel::Owner {
        return Err(SeatRefusal::IsOwner);
    }
    if is_agent && to.level.is_admin() {
        return Err(SeatRefusal::AgentAsAdmin);
    }
    if to.manager_id == Some(member) { Err(SeatRefusal::OwnManager) } else { Ok(()) }
}

/// Whether somebody may end a membership: an admin another's, everybody their own.
pub fn may_remove(
    is_own: bool,
    by_admin: bool,
    is_agent: bool,
    level: MembershipLevel,
) -> Result<(), SeatRefusal> {
    if !is_own && !by_admin {
        return Err(SeatRefusal::NotYours);
    }
    if level == MembershipLevel::Owner {
        return Err(SeatRefusal::IsOwner);
    }
    if is_agent { Err(SeatRefusal::IsAgent) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::sample;

    const ME: Id<Account> = Id::new(Uuid::from_u128(1));

    fn asked(level: MembershipLevel, roles: &[&str]) -> Result<Seat, Vec<FieldError>> {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        Seat::asked(level, &roles, None)
    }

    #[test]
    fn admin_among_the_roles_is_the_level() {
        let seat = asked(MembershipLevel::Member, &["reviewer", "admin", "author", "author"]).unwrap();
        assert_eq!(
            (seat.level, seat.roles),
            (MembershipLevel::Admin, vec!["author".into(), "reviewer".into()])
        );
        assert_eq!(asked(MembershipLevel::Admin, &[]).unwrap().level, MembershipLevel::Admin);
        assert_eq!(asked(MembershipLevel::Member, &["dba"]).unwrap().level, MembershipLevel::Member);
    }

    #[test]
    fn refused_roles_are_named_by_place() {
        let errors = asked(MembershipLevel::Member, &["author", "owner", "Not A Role"]).unwrap_err();
        let places: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(places, ["/roles/1", "/roles/2"]);
        let errors = asked(MembershipLevel::Owner, &[]).unwrap_err();
        assert_eq!(errors[0].pointer, "/membership_level");
    }

    #[test]
    fn a_change_says_only_what_it_names() {
        use MembershipLevel::{Admin, Member, Owner};
        let seat = |level| Seat { roles: vec!["dba".into()], ..Seat::of(level) };
        let roles = |roles: &[&str]| SeatChange {
            roles: Some(roles.iter().map(|role| (*role).to_owned()).collect()),
            ..SeatChange::default()
        };
        for level in [Owner, Admin, Member] {
            assert_eq!(seat(level).changed(&SeatChange::default()), Ok(seat(level)));
        }
        assert_eq!(seat(Admin).changed(&roles(&["dba"])), Ok(seat(Member)), "admin was left out");
        assert_eq!(seat(Member).changed(&roles(&["admin", "dba"])), Ok(seat(Admin)));
        assert_eq!(seat(Owner).changed(&roles(&["dba"])), Ok(seat(Owner)), "the owner stays");
        let demoted = SeatChange { level: Some(Member), ..SeatChange::default() };
        assert_eq!(seat(Owner).changed(&demoted).map(|seat| seat.level), Ok(Member), "refused by may_reseat");
        let managed = SeatChange { manager_id: Some(Some(ME)), ..SeatChange::default() };
        let with = seat(Member).changed(&managed).unwrap();
        assert_eq!(with.manager_id, Some(ME));
        let without = SeatChange { manager_id: Some(None), ..SeatChange::default() };
        assert_eq!(with.changed(&without), Ok(seat(Member)));
    }

    #[test]
    fn the_owner_stays_and_agents_stay_members() {
        let seat = |level| Seat::of(level);
        use MembershipLevel::{Admin, Member, Owner};
        assert_eq!(may_reseat(ME, false, Owner, &seat(Admin)), Err(SeatRefusal::IsOwner));
        assert_eq!(may_reseat(ME, false, Owner, &seat(Owner)), Ok(()));
        assert_eq!(may_reseat(ME, false, Admin, &seat(Member)), Ok(()));
        assert_eq!(may_reseat(ME, true, Member, &seat(Admin)), Err(SeatRefusal::AgentAsAdmin));
        let own = Seat { manager_id: Some(ME), ..seat(Member) };
        assert_eq!(may_reseat(ME, false, Member, &own), Err(SeatRefusal::OwnManager));
    }

    #[test]
    fn who_is_added_without_being_asked() {
        let [here, elsewhere] = [sample::id(7), sample::id(8)];
        let at = |home_org_id| Account { home_org_id, ..sample::account(1) };
        for (home, by_admin, by_instance_admin) in
            [(Some(here), true, true), (Some(elsewhere), false, true), (None, false, false)]
        {
            assert_eq!(may_add(&at(home), here, false), by_admin, "{home:?}");
            assert_eq!(may_add(&at(home), here, true), by_instance_admin, "{home:?}");
        }
    }

    #[test]
    fn who_removes_whom() {
        use MembershipLevel::{Member, Owner};
        assert_eq!(may_remove(false, false, false, Member), Err(SeatRefusal::NotYours));
        assert_eq!(may_remove(true, false, false, Member), Ok(()));
        assert_eq!(may_remove(false, true, false, Member), Ok(()));
        assert_eq!(may_remove(true, true, false, Owner), Err(SeatRefusal::IsOwner));
        assert_eq!(may_remove(false, true, true, Member), Err(SeatRefusal::IsAgent));
    }
}
