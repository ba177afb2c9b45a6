//! A part of the keys under one mutex, and what it has to write and to say.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::Id;
use domain::locks::{Line, LockKey};
use domain::organizations::Organization;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::journal::record::{Origin, Writing, write};
use super::journal::snapshot::{encode_happening, encode_line};
use crate::locks::{Acquired, Happening, Held, Receipt, Refusal};

/// How many parts there are: keys in different ones never wait for each other.
pub(crate) const LANES: usize = 64;

/// A key of an organization.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) org: Id<Organization>,
    pub(crate) key: LockKey,
}

/// What is answered once it is durable.
#[derive(Debug)]
pub(super) enum Reply {
    /// Something that was not there before it was asked for.
    Acquired(Acquired),
    /// The same as before, because it is the same request.
    Again(Acquired),
    Refused(Refusal),
    Held(Held),
    Nothing,
}

/// To be said once what came before it is on the disk.
pub(super) enum Done {
    Answer(oneshot::Sender<Box<Reply>>, Box<Reply>),
    Tell(Happening),
}

/// What a lane has to write and to say.
#[derive(Default)]
pub(super) struct Out {
    pub(super) records: Vec<u8>,
    pub(super) done: Vec<Done>,
}

/// A part of the keys.
pub(super) struct Lane {
    number: u8,
    pub(super) lines: HashMap<Place, Line>,
    /// Those who wait with an open connection, by the number of the waiter.
    pub(super) open: HashMap<u64, oneshot::Sender<Box<Reply>>>,
    /// Locks and tickets that were told to the same request again. Whoever asked first may be gone; they are not
    /// nobody's.
    pub(super) told_again: HashSet<Uuid>,
    /// What is not yet noted elsewhere.
    happenings: BTreeMap<u64, Happening>,
    /// The number of the last record.
    written: u64,
    pub(super) out: Out,
}

impl Lane {
    pub(super) fn new(number: u8) -> Self {
        Self {
            number,
            lines: HashMap::new(),
            open: HashMap::new(),
            told_again: HashSet::new(),
            happenings: BTreeMap::new(),
            written: 0,
            out: Out::default(),
        }
    }

    pub(super) fn take_out(&mut self) -> Out {
        std::mem::take(&mut self.out)
    }

    pub(super) fn write(&mut self, record: &Writing<'_>) {
        self.written += 1;
        let origin = Origin { lane: self.number, number: self.written };
        write(&mut self.out.records, origin, record);
    }

    /// Says it, and keeps it until it is noted.
    pub(super) fn tell_surely(&mut self, number: u64, mut happening: Happening) {
        happening.receipt = Some(Receipt { lane: self.number, number });
        self.write(&Writing::Happened(number, &happening));
        self.happenings.insert(number, happening.clone());
        self.out.done.push(Done::Tell(happening));
    }

    /// Says again what an earlier run has said and nobody has noted.
    pub(super) fn tell_again(&mut self, number: u64, mut happening: Happening) {
        happening.receipt = Some(Receipt { lane: self.number, number });
        self.happenings.insert(number, happening.clone());
        self.out.done.push(Done::Tell(happening));
    }

    /// It is on record elsewhere. Nobody waits for this to be durable: what is lost is told again.
    pub(super) fn noted(&mut self, number: u64) {
        if self.happenings.remove(&number).is_some() {
            self.write(&Writing::Noted(number));
        }
    }

    /// Everything in it as records; the number of the last record that is in there.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> u64 {
        self.lines.iter().for_each(|(place, line)| encode_line(out, place, line));
        self.happenings.iter().for_each(|(number, happening)| encode_happening(out, *number, happening));
        self.written
    }
}

/// A place in a line that somebody listens at.
pub(super) type Listener = oneshot::Sender<Box<Reply>>;
