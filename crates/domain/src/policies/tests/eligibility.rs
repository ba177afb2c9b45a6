use proptest::prelude::*;

use super::*;
use crate::accounts::{AccessLevel, AccountStatus};
use crate::members::HeldRole;
use crate::organizations::MembershipLevel;
use crate::tasks::{Behind, Provenance};

const ME: u128 = 1;
const OTHER: u128 = 2;

fn candidate() -> Candidate {
    Candidate {
        account_id: account(ME),
        status: AccountStatus::Active,
        access_level: AccessLevel::User,
        level: Some(MembershipLevel::Member),
        roles: vec![held("dba", OTHER)],
        is_agent: false,
        owners: vec![],
    }
}

fn held(name: &str, granted_by: u128) -> HeldRole {
    HeldRole { role: name.to_owned(), granted_by: account(granted_by) }
}

fn quorum(roles: &[&str], reviewers: &[u128]) -> Quorum {
    let reviewers = reviewers.iter().map(|number| account(*number)).collect();
    Quorum { required_roles: words(roles), reviewers, ..PolicyRules::blank().quorum }
}

fn by(account_number: u128) -> Provenance {
    Provenance::default().with(&Behind::act(account(account_number), &[], account(account_number)))
}

fn asked(quorum: &Quorum, candidate: &Candidate) -> Result<Because, Ineligible> {
    eligible(quorum, candidate, &by(77))
}

#[test]
fn whom_a_policy_means() {
    let role = |name: &str| Ok(Because::Role(name.to_owned()));
    assert_eq!(asked(&quorum(&["dba"], &[]), &candidate()), role("dba"));
    assert_eq!(asked(&quorum(&[], &[ME]), &candidate()), Ok(Because::Named));
    assert_eq!(asked(&quorum(&["sre"], &[OTHER]), &candidate()), Err(Ineligible::NotMeant));
    assert_eq!(asked(&quorum(&[], &[]), &candidate()), Err(Ineligible::NotMeant), "nobody, not everybody");
}

#[test]
fn a_role_from_oneself_opens_nothing() {
    let own = Candidate { roles: vec![held("dba", ME)], ..candidate() };
    assert_eq!(asked(&quorum(&["dba"], &[]), &own), Err(Ineligible::RoleFromThemselves));
    let both = Candidate { roles: vec![held("dba", ME), held("sre", OTHER)], ..candidate() };
    assert_eq!(asked(&quorum(&["dba", "sre"], &[]), &both), Ok(Because::Role("sre".into())));
    assert_eq!(asked(&quorum(&["dba"], &[ME]), &own), Ok(Because::Named));
}

#[test]
fn admin_is_a_level_and_not_a_label() {
    let admins = quorum(&["admin"], &[]);
    for level in [MembershipLevel::Admin, MembershipLevel::Owner] {
        let admin = Candidate { level: Some(level), ..candidate() };
        assert_eq!(asked(&admins, &admin), Ok(Because::Role("admin".into())));
    }
    let labelled = Candidate { roles: vec![held("admin", OTHER)], ..candidate() };
    assert_eq!(asked(&admins, &labelled), Err(Ineligible::NotMeant));
    let of_instance = Candidate { access_level: AccessLevel::Admin, ..candidate() };
    assert_eq!(asked(&admins, &of_instance), Err(Ineligible::NotMeant), "not of the organization");
}

#[test]
fn who_may_not_act_is_not_asked() {
    let meant = quorum(&["dba"], &[ME]);
    let cases = [
        (Candidate { status: AccountStatus::Suspended, ..candidate() }, Ineligible::NotActive),
        (Candidate { status: AccountStatus::Deactivated, ..candidate() }, Ineligible::NotActive),
        (Candidate { level: None, ..candidate() }, Ineligible::NotAMember),
        (Candidate { access_level: AccessLevel::Service, ..candidate() }, Ineligible::IsService),
        (Candidate { is_agent: true, ..candidate() }, Ineligible::IsService),
    ];
    for (candidate, refusal) in cases {
        assert_eq!(asked(&meant, &candidate), Err(refusal));
        let joined = eligible_by_joining(&meant, &candidate, &by(77));
        assert_eq!(joined, Err(refusal));
    }
}

#[test]
fn services_decide_only_where_a_policy_says_so() {
    let service = Candidate { access_level: AccessLevel::Service, ..candidate() };
    let allowed = Quorum { allow_service_reviewers: true, ..quorum(&[], &[ME]) };
    assert_eq!(asked(&allowed, &service), Ok(Because::Named));
    let agent = Candidate { is_agent: true, owners: vec![account(5), account(6)], ..service };
    assert_eq!(asked(&allowed, &agent), Ok(Because::Named));
    for owner in [5, 6] {
        assert_eq!(eligible(&allowed, &agent, &by(owner)), Err(Ineligible::InProvenance), "{owner}");
    }
}

#[test]
fn an_admin_who_joins_counts_where_the_policy_counts_them() {
    let admin = Candidate { level: Some(MembershipLevel::Admin), roles: vec![], ..candidate() };
    let counting = quorum(&["dba"], &[OTHER]);
    let strict = Quorum { admins_count: false, ..counting.clone() };
    assert_eq!(eligible_by_joining(&counting, &admin, &by(77)), Ok(Because::Joined));
    assert_eq!(eligible_by_joining(&strict, &admin, &by(77)), Err(Ineligible::NotMeant));
    assert_eq!(eligible_by_joining(&counting, &admin, &by(ME)), Err(Ineligible::InProvenance));
    assert_eq!(asked(&counting, &admin), Err(Ineligible::NotMeant), "without joining they are not asked");
    assert_eq!(eligible_by_joining(&counting, &candidate(), &by(77)), Ok(Because::Role("dba".into())));
}

proptest! {
    /// Promise 5: whoever had a hand in it, or answers for one who had, is never asked.
    #[test]
    fn nobody_decides_on_their_own(
        roles in prop::collection::vec("(dba|sre|admin)", 0..3), reviewers in prop::collection::vec(0_u128..4, 0..4),
        level in 0_usize..3, owners in prop::collection::vec(0_u128..4, 0..3), hands in prop::collection::vec(0_u128..6, 0..4),
        services in any::<bool>(), is_agent in any::<bool>(), joined in any::<bool>(), granted_by in 0_u128..3,
    ) {
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        let quorum = Quorum { allow_service_reviewers: services, ..quorum(&roles, &reviewers) };
        let candidate = Candidate {
            roles: vec![held("dba", granted_by)],
            level: Some(MembershipLevel::ALL[level]),
            owners: owners.iter().map(|number| account(*number)).collect(),
            is_agent,
            ..candidate()
        };
        let provenance: Provenance = hands.iter().map(|number| account(*number)).collect();
        let asking = if joined { eligible_by_joining } else { eligible };
        let answer = asking(&quorum, &candidate, &provenance);
        let had_a_hand = hands.contains(&ME) || owners.iter().any(|owner| hands.contains(owner));
        prop_assert!(!had_a_hand || answer == Err(Ineligible::InProvenance));
        if let Ok(Because::Role(role)) = &answer {
            prop_assert!(role == "admin" || granted_by != ME);
            prop_assert!(quorum.required_roles.contains(role));
        }
        prop_assert!(!is_agent || services || answer.is_err());
        prop_assert!(answer != Ok(Because::Named) || reviewers.contains(&ME));
    }
}

#[test]
fn an_author_holds_what_others_gave_while_they_may_act() {
    let roles = |member: Option<&Candidate>| Author::of(account(ME), member).roles;
    let mut member = candidate();
    member.roles = vec![held("dba", OTHER), held("sre", ME)];
    assert_eq!(roles(Some(&member)), ["dba"], "not what they gave themselves");
    member.level = Some(MembershipLevel::Admin);
    assert_eq!(roles(Some(&member)), ["dba", "admin"]);
    let suspended = Candidate { status: AccountStatus::Suspended, ..member.clone() };
    let left = Candidate { level: None, ..member };
    for gone in [Some(&suspended), Some(&left), None] {
        assert!(roles(gone).is_empty(), "{gone:?}");
    }
}
