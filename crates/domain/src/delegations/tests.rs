//! Chains never loop, never reach whoever had a hand in it, and each link only narrows.

use proptest::prelude::*;

use super::*;
use crate::sample::{alone, at, id, resource};
use crate::tasks::Mode;

const PEOPLE: u128 = 6;

fn matter(task_type: &str, names: &[&str], risk_score: u32) -> Matter {
    let resources: Vec<Resource> =
        names.iter().map(|name| resource("database", name, Mode::Exclusive)).collect();
    Matter::new(task_type, &resources, risk_score)
}

fn delegation(number: u128, owner: u128, to: u128) -> Delegation {
    Delegation {
        id: id(number),
        org_id: id(1),
        owner_id: id(owner),
        delegate_to: id(to),
        kind: DelegationKind::Transfer,
        conditions: Conditions::default(),
        cascade: true,
        active: true,
        starts_at: None,
        expires_at: None,
        behind: alone(id(owner)),
        version: 1,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn author(number: u128) -> Provenance {
    Provenance::default().with(&alone(id(number)))
}

fn routed(book: &Book, owner: u128, matter: &Matter) -> Route {
    book.route(id(owner), matter, (&author(99), at(50)), |_| true)
}

fn chain(through: &[(u128, u128)], to: u128) -> Route {
    let links = through.iter().map(|(from, by)| Link { from: id(*from), by: Some(id(*by)) }).collect();
    Route::To(Chain { links, to: id(to) })
}

/// The example of the source document (DELEG-06): Alice 1, Bob 2, Carol 3.
#[test]
fn alice_to_bob_to_carol() {
    let mut to_bob = delegation(10, 1, 2);
    to_bob.conditions.task_types = Some(vec!["infrastructure".into()]);
    to_bob.conditions.risk_above = Some(50);
    let mut to_carol = delegation(11, 2, 3);
    to_carol.conditions.resource_patterns = Some(vec!["prod-*".into()]);
    let book: Book = [to_bob.clone(), to_carol].into_iter().collect();
    let high = matter("infrastructure", &["prod-db-01"], 80);
    assert_eq!(routed(&book, 1, &high), chain(&[(1, 10), (2, 11)], 3));
    assert_eq!(routed(&book, 2, &high), chain(&[(2, 11)], 3));
    assert_eq!(routed(&book, 1, &matter("infrastructure", &["test-db"], 80)), chain(&[(1, 10)], 2));
    assert_eq!(routed(&book, 1, &matter("infrastructure", &["prod-db-01"], 50)), Route::Own, "above, not at");
    assert_eq!(routed(&book, 1, &matter("other", &["prod-db-01"], 80)), Route::Own);
    let mixed = matter("infrastructure", &["prod-db-01", "test-db"], 80);
    assert_eq!(routed(&book, 1, &mixed), chain(&[(1, 10)], 2), "not all of it is Carol's");
    // Without cascade the chain ends with Bob.
    to_bob.cascade = false;
    let book: Book = [to_bob, delegation(11, 2, 3)].into_iter().collect();
    assert_eq!(routed(&book, 1, &high), chain(&[(1, 10)], 2));
}

#[test]
fn what_does_not_hold_does_nothing() {
    let any = matter("t", &[], 10);
    let late = Delegation { starts_at: Some(at(51)), ..delegation(10, 1, 2) };
    let over = Delegation { expires_at: Some(at(50)), ..delegation(10, 1, 2) };
    let revoked = Delegation { active: false, ..delegation(10, 1, 2) };
    let follow = Delegation { kind: DelegationKind::Follow, cascade: false, ..delegation(10, 1, 2) };
    for nothing in [late, over, revoked, follow] {
        let book: Book = [nothing].into_iter().collect();
        assert_eq!(routed(&book, 1, &any), Route::Own);
    }
    // Somebody who may not stand in is passed over for the next.
    let book: Book = [delegation(10, 1, 2), delegation(11, 1, 3)].into_iter().collect();
    let route = book.route(id(1), &any, (&author(99), at(50)), |who| who != id(2));
    assert_eq!(route, chain(&[(1, 11)], 3));
}

#[test]
fn a_chain_that_touches_the_provenance_is_void() {
    let any = matter("t", &[], 10);
    let book: Book = [delegation(10, 1, 2), delegation(11, 2, 3)].into_iter().collect();
    let by = |author_is: u128| book.route(id(1), &any, (&author(author_is), at(50)), |who| who == id(3));
    assert_eq!(by(3), Route::Own, "Bob may not stand in, so it never gets to the author");
    let by = |author_is: u128| book.route(id(1), &any, (&author(author_is), at(50)), |_| true);
    assert_eq!(by(3), Route::Void(id(3)), "at its end");
    assert_eq!(by(2), Route::Void(id(2)), "on its way: an author does not choose who decides");
    // Whoever minted the key that Alice's delegation was made with has chosen Bob.
    let chosen = Delegation { behind: [id(1), id(9)].into_iter().collect(), ..delegation(10, 1, 2) };
    let book: Book = [chosen].into_iter().collect();
    assert_eq!(book.route(id(1), &any, (&author(9), at(50)), |_| true), Route::Void(id(2)));
}

#[test]
fn circles_are_seen_and_refused() {
    let any = matter("t", &[], 10);
    let book: Book = [delegation(10, 1, 2), delegation(11, 2, 3), delegation(12, 3, 1)].into_iter().collect();
    assert_eq!(routed(&book, 1, &any), Route::Circle(vec![id(1), id(2), id(3), id(1)]));
    let book: Book = [delegation(10, 1, 2), delegation(11, 2, 3)].into_iter().collect();
    let back = delegation(12, 3, 1);
    assert_eq!(book.circle(&back), Some(vec![id(3), id(1), id(2), id(3)]));
    assert_eq!(book.circle(&Delegation { active: false, ..back.clone() }), None);
    assert_eq!(
        book.circle(&Delegation { cascade: false, ..back.clone() }),
        None,
        "it goes no further than Alice"
    );
    // Two people who cover for each other, one after the other.
    let first = Delegation { starts_at: Some(at(0)), expires_at: Some(at(10)), ..delegation(10, 1, 2) };
    let then = Delegation { starts_at: Some(at(10)), expires_at: Some(at(20)), ..delegation(11, 2, 1) };
    let book: Book = [first].into_iter().collect();
    assert_eq!(book.circle(&then), None);
    let at_once = Delegation { starts_at: Some(at(9)), ..then };
    assert_eq!(book.circle(&at_once), Some(vec![id(2), id(1), id(2)]));
}

/// Each of thirty delegates to twenty: more ways through them than could ever be walked.
#[test]
fn a_thicket_is_searched_person_by_person() {
    let thicket = |to: u128| (1..=20).map(move |step| (to, (to - 2 + step) % 30 + 2));
    let ways = (2..=31).flat_map(thicket);
    let all = ways.enumerate().map(|(number, (from, to))| delegation(number as u128 + 10, from, to));
    let mut thicket: Vec<Delegation> = all.collect();
    let new = delegation(5000, 1, 2);
    let book: Book = thicket.iter().cloned().collect();
    assert_eq!(book.circle(&new), None);
    // Reached by one that goes no further before another that does.
    thicket.push(Delegation { cascade: false, ..delegation(4998, 2, 40) });
    thicket.extend([delegation(4999, 31, 40), delegation(5001, 40, 1)]);
    let book: Book = thicket.into_iter().collect();
    assert_eq!(book.circle(&new), Some([1, 2, 11, 31, 40, 1].map(id).to_vec()));
}

#[test]
fn the_form() {
    let change = DelegationChange { delegate_to: Some(id(1)), ..DelegationChange::default() };
    let own = delegation(10, 1, 2).changed(&change, &alone(id(1)), at(5)).unwrap_err();
    assert_eq!(own[0].pointer, "/delegate_to");
    let conditions = Conditions {
        task_types: Some(Vec::new()),
        resource_patterns: Some(vec!["**:*:*".into(), "\u{7}".into()]),
        risk_above: Some(100),
    };
    let wrong = Delegation {
        conditions,
        starts_at: Some(at(5)),
        expires_at: Some(at(5)),
        kind: DelegationKind::Follow,
        ..delegation(10, 1, 2)
    };
    let pointers: Vec<String> = wrong.check().unwrap_err().into_iter().map(|error| error.pointer).collect();
    for pointer in ["/conditions/task_types", "/conditions/risk_above", "/expires_at", "/cascade"] {
        assert!(pointers.iter().any(|found| found == pointer), "{pointer} of {pointers:?}");
    }
    let same = delegation(10, 1, 2);
    assert_eq!(same.changed(&DelegationChange::default(), &alone(id(7)), at(5)).unwrap(), same);
    let change = DelegationChange { cascade: Some(false), ..DelegationChange::default() };
    let changed = same.changed(&change, &alone(id(7)), at(5)).unwrap();
    assert_eq!(changed.version, 2);
    assert!(changed.behind.iter().any(|who| who == id(7)), "whoever changed it stands behind it too");
}

fn any_delegation() -> impl Strategy<Value = Delegation> {
    let accounts = (1..=PEOPLE, 1..=PEOPLE);
    let times = (proptest::option::of(0_i64..100), proptest::option::of(0_i64..100));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (accounts, times, flags, proptest::option::of(0_u32..100), 0_u128..1000).prop_map(
        |((owner, to), (starts, expires), (active, cascade, is_transfer), risk, number)| {
            let mut one = delegation(number, owner, to);
            (one.active, one.cascade) = (active, cascade);
            (one.starts_at, one.expires_at) = (starts.map(at), expires.map(at));
            one.kind = if is_transfer { DelegationKind::Transfer } else { DelegationKind::Follow };
            one.conditions.risk_above = risk;
            one
        },
    )
}

proptest! {
    #[test]
    fn a_chain_ends_holds_and_never_meets_the_provenance(
        delegations in proptest::collection::vec(any_delegation(), 0..30),
        owner in 1..=PEOPLE, author_is in 1..=PEOPLE, risk in 0_u32..100, now in 0_i64..100, barred in 1..=PEOPLE,
    ) {
        let book: Book = delegations.clone().into_iter().collect();
        let matter = matter("t", &[], risk);
        let provenance = author(author_is);
        let Route::To(chain) = book.route(id(owner), &matter, (&provenance, at(now)), |who| who != id(barred)) else {
            return Ok(());
        };
        prop_assert!(chain.links.len() <= CHAIN_MAX);
        prop_assert!(chain.to != id(author_is) && chain.to != id(barred) && chain.to != id(owner));
        let mut people: Vec<_> = chain.links.iter().map(|link| link.from).chain([chain.to]).collect();
        prop_assert_eq!(people[0], id(owner));
        for (place, link) in chain.links.iter().enumerate() {
            let used = delegations.iter().find(|one| {
                Some(one.id) == link.by && one.owner_id == link.from && one.delegate_to == people[place + 1]
            });
            prop_assert!(used.is_some(), "no such link");
            let holds = delegations.iter().any(|one| {
                Some(one.id) == link.by && one.owner_id == link.from && one.holds_for(&matter, &provenance, at(now))
                    && one.kind == DelegationKind::Transfer && (one.cascade || place + 1 == chain.links.len())
            });
            prop_assert!(holds, "a link that does not hold");
        }
        people.sort_unstable();
        people.dedup();
        prop_assert_eq!(people.len(), chain.links.len() + 1, "nobody twice");
    }

    /// Where everybody has one delegation, narrowing one of them makes chains shorter and never different.
    #[test]
    fn narrowing_only_narrows(
        targets in proptest::collection::vec(1..=PEOPLE, PEOPLE as usize),
        narrowed in 0..PEOPLE as usize, owner in 1..=PEOPLE, risk in 0_u32..100, above in 0_u32..100,
    ) {
        let wide: Vec<Delegation> = targets
            .iter()
            .enumerate()
            .map(|(place, to)| delegation(place as u128 + 10, place as u128 + 1, *to))
            .filter(|one| one.owner_id != one.delegate_to)
            .collect();
        let mut narrow = wide.clone();
        for one in narrow.iter_mut().filter(|one| one.owner_id == id(narrowed as u128 + 1)) {
            one.conditions.risk_above = Some(above);
        }
        let matter = matter("t", &[], risk);
        let path = |delegations: Vec<Delegation>| {
            let book: Book = delegations.into_iter().collect();
            match routed(&book, owner, &matter) {
                Route::To(chain) => chain.links.iter().map(|link| link.from).chain([chain.to]).collect(),
                Route::Circle(people) => people,
                Route::Own | Route::Void(_) => vec![id(owner)],
            }
        };
        let (wide, narrow): (Vec<Id<Account>>, Vec<Id<Account>>) = (path(wide), path(narrow));
        prop_assert!(wide.starts_with(&narrow), "{:?} is no part of {:?}", narrow, wide);
    }

    #[test]
    fn what_is_refused_as_a_circle_would_lead_back(
        delegations in proptest::collection::vec(any_delegation(), 0..20), owner in 1..=PEOPLE, to in 1..=PEOPLE,
    ) {
        prop_assume!(owner != to);
        let new = delegation(5000, owner, to);
        let book: Book = delegations.into_iter().collect();
        if let Some(circle) = book.circle(&new) {
            prop_assert_eq!(circle.first(), circle.last());
            prop_assert_eq!((circle[0], circle[1]), (id(owner), id(to)));
        }
    }
}
