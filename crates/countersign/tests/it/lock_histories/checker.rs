//! Whether what was seen of one key can be true. One pass, so that any number can be looked at.

use std::time::{Duration, Instant};

pub(super) const TTL: Duration = Duration::from_secs(300);

/// One lock, as the client that got it saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) key: usize,
    pub(super) shared: bool,
    pub(super) fence: u64,
    pub(super) lock_id: uuid::Uuid,
    pub(super) owner: String,
    pub(super) asked: Instant,
    /// When it surely stood in line, because its ticket was there.
    pub(super) in_line: Option<Instant>,
    pub(super) answered: Instant,
    /// When its release was asked for, and whether that was answered.
    pub(super) released: Option<(Instant, bool)>,
}

impl Seen {
    /// The first moment at which others may have it.
    fn may_end(&self) -> Instant {
        self.released.map_or(self.asked + TTL, |(sent, _)| sent.min(self.asked + TTL))
    }
}

/// What is impossible about the locks of one key, in the order of their tokens.
pub(super) fn impossible(mut locks: Vec<Seen>) -> Option<String> {
    locks.sort_by_key(|seen| seen.fence);
    let (mut asked, mut any_ended, mut alone_ended) = (None::<Instant>, None::<Instant>, None::<Instant>);
    let mut last = 0;
    for seen in &locks {
        if seen.fence == last {
            return Some(format!("a token was given twice: {seen:?}"));
        }
        last = seen.fence;
        if asked.is_some_and(|asked| seen.answered < asked) {
            return Some(format!("a later lock has a smaller token: {seen:?}"));
        }
        // First come, first served: who asked when this one stood in line already comes after it.
        if asked.zip(seen.in_line).is_some_and(|(asked, in_line)| in_line < asked) {
            return Some(format!("somebody who came later was served before: {seen:?}"));
        }
        let must_have_ended = if seen.shared { alone_ended } else { any_ended };
        if must_have_ended.is_some_and(|ended| seen.answered < ended) {
            return Some(format!("held while somebody else held it: {seen:?}"));
        }
        asked = asked.max(Some(seen.asked));
        any_ended = any_ended.max(Some(seen.may_end()));
        if !seen.shared {
            alone_ended = alone_ended.max(Some(seen.may_end()));
        }
    }
    None
}

#[test]
fn the_checker_sees_what_cannot_be() {
    let start = Instant::now();
    let at = |ms: u64| start + Duration::from_millis(ms);
    let seen = |fence, asked, answered, released: u64| Seen {
        key: 0,
        shared: false,
        fence,
        lock_id: uuid::Uuid::nil(),
        owner: String::new(),
        asked: at(asked),
        in_line: None,
        answered: at(answered),
        released: Some((at(released), true)),
    };
    assert_eq!(impossible(vec![seen(2, 5, 30, 40), seen(1, 0, 10, 20)]), None);
    let queued = |in_line| Seen { in_line: Some(at(in_line)), ..seen(3, 5, 70, 80) };
    let late = seen(2, 20, 50, 60);
    assert_eq!(impossible(vec![seen(1, 0, 10, 40), late.clone(), queued(30)]), None);
    let wrong = [
        (vec![seen(1, 0, 10, 20), seen(1, 5, 30, 40)], "twice"),
        (vec![seen(2, 0, 10, 20), seen(1, 30, 40, 50)], "smaller token"),
        (vec![seen(1, 0, 10, 50), seen(2, 5, 30, 60)], "somebody else held it"),
        (vec![seen(1, 0, 10, 40), late, queued(10)], "came later was served before"),
    ];
    for (history, says) in wrong {
        let found = impossible(history).unwrap();
        assert!(found.contains(says), "{found}");
    }
    let shared = |fence, answered, released| Seen { shared: true, ..seen(fence, 0, answered, released) };
    assert_eq!(impossible(vec![shared(1, 10, 50), shared(2, 20, 60)]), None);
    assert!(impossible(vec![shared(1, 10, 50), seen(2, 5, 30, 60)]).is_some());
}
