use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn owner(birth: u64) -> Arc<Owner> {
    let agent = Id::new(Uuid::from_u128(u128::from(birth)));
    Arc::new(Owner { org: Id::new(Uuid::nil()), agent, name: birth.to_string().into(), birth })
}

fn waiter(number: u64, birth: u64, mode: Mode) -> Waiter {
    let asked_at = Timestamp::from_micros(0);
    Waiter { number, owner: owner(birth), mode, ttl_seconds: 30, asked_at, about: None }
}

fn lock_id(number: u64) -> Id<Hold> {
    Id::new(Uuid::from_u128(u128::from(number)))
}

fn at(ms: u64) -> Now {
    Now { ms, wall: Timestamp::from_micros(0) }
}

fn agent(birth: u64) -> Id<Account> {
    owner(birth).agent
}

/// Serves whoever can be served; the fence and the id are the waiter's number.
fn settle(line: &mut Line, now_ms: u64) {
    while let Some(next) = line.serve_next() {
        let number = next.number;
        line.grant(next.granted(lock_id(number), number, at(now_ms)));
    }
}

fn ask(line: &mut Line, number: u64, birth: u64, mode: Mode) {
    line.enqueue(waiter(number, birth, mode));
    settle(line, 0);
}

fn holds(line: &Line, birth: u64) -> bool {
    line.held_by(agent(birth), &birth.to_string()).is_some()
}

fn holders(line: &Line) -> Vec<u64> {
    line.holders().iter().map(|hold| hold.fence).collect()
}

fn waiting(line: &Line) -> Vec<u64> {
    line.waiters().map(|waiter| waiter.number).collect()
}

#[test]
fn who_shares_does_not_overtake_who_waits_to_be_alone() {
    let mut line = Line::default();
    for (number, mode) in
        [Mode::Shared, Mode::Shared, Mode::Exclusive, Mode::Shared, Mode::Shared].into_iter().enumerate()
    {
        ask(&mut line, number as u64, number as u64, mode);
    }
    assert!(!line.is_free_for(Mode::Shared));
    assert_eq!((holders(&line), waiting(&line)), (vec![0, 1], vec![2, 3, 4]));
    line.end(lock_id(0));
    settle(&mut line, 0);
    assert_eq!(holders(&line), [1]);
    line.end(lock_id(1));
    settle(&mut line, 0);
    assert_eq!((holders(&line), waiting(&line)), (vec![2], vec![3, 4]));
    line.end(lock_id(2));
    settle(&mut line, 0);
    assert_eq!((holders(&line), waiting(&line)), (vec![3, 4], vec![]), "neighbours who share go together");
}

#[test]
fn leaving_opens_the_way_for_those_behind() {
    let mut line = Line::default();
    ask(&mut line, 0, 0, Mode::Shared);
    ask(&mut line, 1, 1, Mode::Exclusive);
    ask(&mut line, 2, 2, Mode::Shared);
    assert_eq!(line.leave_where(|waiter| waiter.number == 1).len(), 1);
    settle(&mut line, 0);
    assert_eq!(holders(&line), [0, 2]);
    assert!(line.leave_where(|_| true).is_empty());
}

#[test]
fn only_the_holder_renews_and_releases_and_only_in_time() {
    let mut line = Line::default();
    ask(&mut line, 1, 7, Mode::Exclusive);
    assert_eq!(line.renew(lock_id(1), agent(8), None, at(10)).err(), Some(Refused::NotHolder));
    assert_eq!(line.renew(lock_id(2), agent(7), None, at(10)).err(), Some(Refused::Expired));
    assert_eq!(line.renew(lock_id(1), agent(7), None, at(29_999)).unwrap().deadline_ms, 59_999);
    assert_eq!(line.renew(lock_id(1), agent(7), Some(5), at(30_000)).unwrap().deadline_ms, 35_000);
    assert_eq!(line.check(lock_id(1), agent(8), 30_000).err(), Some(Refused::NotHolder));
    assert_eq!(line.check(lock_id(1), agent(7), 35_000).err(), Some(Refused::Expired), "too late");
    assert_eq!(line.check(lock_id(1), agent(7), 34_999).unwrap().ttl_seconds, 5);
    assert_eq!(line.end(lock_id(1)).unwrap().fence, 1);
    assert!(line.is_idle());
}

#[test]
fn an_owner_that_got_it_waits_for_it_no_more() {
    let mut line = Line::default();
    ask(&mut line, 0, 0, Mode::Exclusive);
    ask(&mut line, 1, 1, Mode::Exclusive);
    ask(&mut line, 2, 2, Mode::Exclusive);
    ask(&mut line, 3, 1, Mode::Exclusive);
    line.end(lock_id(0));
    let next = line.serve_next().unwrap();
    let left = line.grant(next.granted(lock_id(1), 1, at(0)));
    assert_eq!(left.iter().map(|waiter| waiter.number).collect::<Vec<_>>(), [3]);
    assert_eq!((holders(&line), waiting(&line)), (vec![1], vec![2]));
}

#[test]
fn fences_grow_with_the_epoch_and_stay_in_json() {
    assert_eq!(first_fence(1), Some(1 << 32));
    assert!(first_fence(EPOCH_MAX).unwrap() + u64::from(u32::MAX) < 1 << 53);
    assert_eq!((first_fence(EPOCH_MAX + 1), first_fence(-1)), (None, None));
    assert_eq!(fences_left(first_fence(3).unwrap()), u64::from(u32::MAX));
    assert_eq!(fences_left(first_fence(4).unwrap() - 1), 0);
}

/// The rules of a line in the plainest words: everybody in the order in which they came.
#[derive(Default)]
struct Naive {
    all: Vec<(u64, u64, Mode, bool)>,
}

impl Naive {
    fn settle(&mut self) {
        while let Some(first) = self.all.iter().position(|entry| !entry.3) {
            let (_, birth, mode, _) = self.all[first];
            let in_the_way = |entry: &(u64, u64, Mode, bool)| {
                entry.3 && (entry.2 == Mode::Exclusive || mode == Mode::Exclusive)
            };
            if self.all.iter().any(in_the_way) {
                return;
            }
            self.all[first].3 = true;
            self.all.retain(|entry| entry.3 || entry.1 != birth);
        }
    }

    fn numbers(&self, holding: bool) -> Vec<u64> {
        let mut numbers: Vec<u64> =
            self.all.iter().filter(|entry| entry.3 == holding).map(|entry| entry.0).collect();
        numbers.sort_unstable();
        numbers
    }
}

proptest! {
    #[test]
    fn a_line_serves_as_the_plain_rules_say(
        steps in prop::collection::vec((0_u8..4, 0_u64..6, any::<bool>()), 1..60)
    ) {
        let (mut line, mut naive) = (Line::default(), Naive::default());
        for (number, (what, pick, shared)) in steps.into_iter().enumerate() {
            let (number, mode) = (number as u64, if shared { Mode::Shared } else { Mode::Exclusive });
            match what {
                // Asking again for what one holds is refused before it comes to the line.
                0 | 1 if !holds(&line, pick) => {
                    ask(&mut line, number, pick, mode);
                    naive.all.push((number, pick, mode, false));
                }
                2 => {
                    let held = naive.numbers(true);
                    if let Some(&ended) = held.get(usize::try_from(pick).unwrap() % held.len().max(1)) {
                        prop_assert!(line.end(lock_id(ended)).is_some());
                        naive.all.retain(|entry| entry.0 != ended);
                    }
                }
                _ => {
                    let left = line.leave_where(|waiter| waiter.owner.birth == pick);
                    let before = naive.all.len();
                    naive.all.retain(|entry| entry.3 || entry.1 != pick);
                    prop_assert_eq!(left.len(), before - naive.all.len());
                }
            }
            settle(&mut line, 0);
            naive.settle();
            let mut held = holders(&line);
            held.sort_unstable();
            prop_assert_eq!(held, naive.numbers(true));
            prop_assert_eq!(waiting(&line), naive.numbers(false));
            prop_assert!(!line.holders().is_empty() || line.queue_length() == 0);
        }
    }

    #[test]
    fn a_circle_is_found_exactly_where_there_is_one(
        lines in prop::collection::vec(prop::collection::vec((0_u64..7, any::<bool>()), 1..5), 1..6)
    ) {
        let mut waits = Waits::default();
        let mut edges: Vec<(u64, u64)> = Vec::new();
        for (number, asked) in lines.into_iter().enumerate() {
            let mut line = Line::default();
            for (place, (birth, shared)) in asked.into_iter().enumerate() {
                let mode = if shared { Mode::Shared } else { Mode::Exclusive };
                if !holds(&line, birth) {
                    ask(&mut line, (number * 10 + place) as u64, birth, mode);
                }
            }
            let key: LockKey = format!("resource:k:{number}").parse().unwrap();
            waits.update(&key, &line);
            let all: Vec<(u64, Mode)> = line.holders().iter().map(|hold| (hold.owner.birth, hold.mode))
                .chain(line.waiters().map(|waiter| (waiter.owner.birth, waiter.mode))).collect();
            let held = line.holders().len();
            for (place, (waiter, mode)) in all.iter().enumerate().skip(held) {
                let before = all[..place].iter().filter(|(other, other_mode)| other != waiter && mode.conflicts(*other_mode));
                edges.extend(before.map(|(other, _)| (*waiter, *other)));
            }
        }
        let circles = waits.circles();
        prop_assert_eq!(circles.is_empty(), (0..7).all(|from| waits.circle(&owner(from)).is_none()));
        for from in 0..7_u64 {
            let mut reached = std::collections::BTreeSet::new();
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                open.extend(edges.iter().filter(|edge| edge.0 == at && reached.insert(edge.1)).map(|edge| edge.1));
            }
            let circle = waits.circle(&owner(from));
            prop_assert_eq!(circle.is_some(), reached.contains(&from));
            let Some(circle) = circle else { continue };
            prop_assert!(circle.iter().all(|edge| edges.contains(&(edge.waiter.birth, edge.blocker.birth))));
            prop_assert!(circle.windows(2).all(|pair| pair[0].blocker.birth == pair[1].waiter.birth));
            prop_assert_eq!(circle[0].waiter.birth, from);
            prop_assert_eq!(circle[circle.len() - 1].blocker.birth, from);
        }
    }

    #[test]
    fn a_line_that_is_gone_leaves_nothing(births in prop::collection::vec(0_u64..5, 2..6)) {
        let key: LockKey = "task:1".parse().unwrap();
        let (mut waits, mut line) = (Waits::default(), Line::default());
        for (number, birth) in births.into_iter().enumerate() {
            if !holds(&line, birth) {
                ask(&mut line, number as u64, birth, Mode::Exclusive);
                waits.update(&key, &line);
            }
        }
        line.leave_where(|_| true);
        waits.update(&key, &line);
        prop_assert!(waits.is_empty() && waits.edges().is_empty() && waits.keys_of(&owner(1)).is_empty());
    }
}
