use super::*;

const LEVELS: [Option<MembershipLevel>; 4] =
    [None, Some(MembershipLevel::Member), Some(MembershipLevel::Admin), Some(MembershipLevel::Owner)];

const STRANGER: Standing =
    Standing { access_level: AccessLevel::User, membership_level: None, is_author: false, is_agent: false };
const REVIEWER: Standing = Standing { membership_level: Some(MembershipLevel::Member), ..STRANGER };
const AUTHOR: Standing = Standing { is_author: true, ..REVIEWER };
const AGENT: Standing = Standing { access_level: AccessLevel::Service, is_agent: true, ..REVIEWER };
const ADMIN: Standing = Standing { membership_level: Some(MembershipLevel::Admin), ..STRANGER };
/// The hub's own account belongs to no organization.
const SYSTEM: Standing = Standing { access_level: AccessLevel::Service, ..STRANGER };

fn every_standing() -> impl Iterator<Item = Standing> {
    AccessLevel::ALL.into_iter().flat_map(|access_level| {
        LEVELS.into_iter().flat_map(move |membership_level| {
            [(false, false), (false, true), (true, false), (true, true)]
                .map(|(is_author, is_agent)| Standing { access_level, membership_level, is_author, is_agent })
        })
    })
}

fn scopes(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn names_are_sorted_and_come_back() {
    assert!(Capability::ALL.is_sorted_by_key(|capability| capability.as_str()));
    for (index, capability) in Capability::ALL.into_iter().enumerate() {
        assert_eq!(capability as usize, index);
        assert_eq!(capability.as_str().parse(), Ok(capability));
        assert!(check_scope(capability.as_str()).is_ok());
    }
}

/// PERM-01 to PERM-07, as far as it does not depend on the task: whoever reviews a task is asked for that task, and
/// its author never is. The system cancels by itself, not through a route.
#[test]
fn the_matrix_of_s001() {
    use Capability::*;
    // Author, Reviewer, Admin, System, and an agent, which authors.
    for (act, capability, expected) in [
        ("create", TasksWrite, [true, false, true, false, true]),
        ("submit", TasksWrite, [true, false, true, false, true]),
        ("approve or reject", ApprovalsDecide, [true, true, true, false, true]),
        ("force apply", TasksForceApply, [false, false, true, false, false]),
        ("cancel", TasksWrite, [true, false, true, false, true]),
        ("override", TasksOverride, [false, false, true, false, false]),
        ("view the audit log", AuditRead, [true, true, true, false, true]),
    ] {
        let found =
            [AUTHOR, REVIEWER, ADMIN, SYSTEM, AGENT].map(|who| capabilities(who).contains(capability));
        assert_eq!(found, expected, "{act}");
    }
}

#[test]
fn each_standing_has_its_share() {
    use Capability::*;
    for standing in every_standing() {
        let set = capabilities(standing);
        if standing.membership_level.is_none() {
            let expected: &[Capability] =
                if standing.is_instance_admin() { &[MetricsRead, OrganizationsWrite] } else { &[] };
            assert!(set.iter().eq(expected.iter().copied()), "{standing:?}: {set:?}");
            continue;
        }
        assert!(
            [TasksRead, EventsRead, PoliciesRead].iter().all(|every| set.contains(*every)),
            "{standing:?}"
        );
        assert_eq!(set.contains(MetricsRead), standing.is_instance_admin(), "{standing:?}");
        for admins in
            [MembersWrite, PoliciesWrite, SettingsRead, SettingsWrite, AuditVerify, LocksForceRelease]
        {
            assert_eq!(set.contains(admins), standing.is_org_admin(), "{standing:?}");
        }
        assert_eq!(set.contains(GrantsMint), standing.is_org_admin() && !standing.is_agent, "{standing:?}");
        let authors = standing.is_author || standing.is_org_admin();
        assert_eq!(set.contains(AgentsWrite), authors, "{standing:?}");
        assert_eq!(set.contains(ProjectsWrite), authors, "{standing:?}");
        assert_eq!(set.contains(TasksWrite), authors || standing.is_agent, "{standing:?}");
    }
    let all = Standing { access_level: AccessLevel::Admin, membership_level: LEVELS[3], ..STRANGER };
    assert_eq!(capabilities(all), Capability::ALL.into_iter().collect());
}

#[test]
fn a_key_never_opens_more_than_its_owner() {
    let mut all: Vec<String> = Capability::ALL
        .into_iter()
        .filter_map(|capability| capability.as_str().split_once(':').map(|(noun, _)| format!("{noun}:*")))
        .collect();
    all.push("nouns-of-later-releases:*".to_owned());
    for standing in every_standing() {
        assert_eq!(capabilities_within(standing, None), capabilities(standing));
        assert_eq!(capabilities_within(standing, Some(&all)), capabilities(standing));
        assert_eq!(capabilities_within(standing, Some(&[])), CapabilitySet::EMPTY);
    }
}

/// DECISIONS.md 20.
#[test]
fn an_agents_key_never_decides_or_mints_by_default() {
    let scopes = scopes(&crate::agents::DEFAULT_SCOPES);
    assert!(scopes.iter().all(|scope| check_scope(scope).is_ok()));
    let set = capabilities_within(AGENT, Some(&scopes));
    assert!(set.contains(Capability::TasksWrite) && set.contains(Capability::EventsRead));
    for never in ["approvals:", "grants:", "keys:", "policies:", "agents:", "accounts:"] {
        assert!(set.iter().all(|capability| !capability.as_str().starts_with(never)), "{set:?}");
    }
}

/// DECISIONS.md 33.
#[test]
fn a_service_mints_grants_only_with_a_key_that_an_admin_made_for_that() {
    let service = Standing { access_level: AccessLevel::Service, ..REVIEWER };
    let (named, other) = (scopes(&["grants:mint"]), scopes(&["grants:consume"]));
    let mints = |standing, scopes: Option<&[String]>, by_another| {
        entrusted(standing, scopes, by_another).contains(Capability::GrantsMint)
    };
    assert!(mints(service, Some(&named), true));
    assert!(mints(service, Some(&scopes(&["grants:*"])), true));
    assert!(!mints(service, Some(&named), false), "it made the key itself");
    assert!(!mints(service, None, true) && !mints(service, Some(&other), true), "nobody said so");
    assert!(!mints(AGENT, Some(&named), true) && !mints(REVIEWER, Some(&named), true));
    assert!(!mints(SYSTEM, Some(&named), true), "no member");
    for standing in every_standing() {
        let all = entrusted(standing, Some(&scopes(&["grants:*", "keys:*", "tasks:*"])), true);
        assert!(all.iter().all(|capability| capability == Capability::GrantsMint), "{all:?}");
    }
}

#[test]
fn scopes_narrow_by_name_or_namespace() {
    let names = |list: &[&str]| CapabilitySet::of_scopes(&scopes(list)).iter().collect::<Vec<_>>();
    assert_eq!(
        names(&["keys:*", "events:read"]),
        [Capability::EventsRead, Capability::KeysRead, Capability::KeysWrite]
    );
    for nothing in ["*", ":*", "key*", "keys*", "keys:", "keys:re*", "KEYS:*", "keys:read ", "none:*", ""] {
        assert_eq!(names(&[nothing]), [], "{nothing:?}");
        assert!(check_scope(nothing).is_err(), "{nothing:?}");
    }
}

#[test]
fn a_set_reads_as_its_names() {
    let set: CapabilitySet = [Capability::KeysWrite, Capability::AuditRead].into_iter().collect();
    assert_eq!(format!("{set:?}"), r#"{"audit:read", "keys:write"}"#);
    assert_eq!(set.union(CapabilitySet::EMPTY), set);
}
