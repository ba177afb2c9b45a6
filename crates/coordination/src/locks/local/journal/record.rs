//! What the journal holds: the changes of locks, one after the other.
//!
//! A record is its length (4 bytes), the lane it was made in (1), its number there (8), its kind (1) and its fields;
//! numbers are little-endian, texts have their length before them. Whether it arrived whole is its batch's to say.

use std::collections::HashMap;
use std::sync::Arc;

use domain::locks::{About, Hold, LockKey, Mode, Owner, Waiter};
use domain::{Id, Timestamp};
use uuid::Uuid;

use crate::locks::local::lane::Place;
use crate::locks::{Happening, Receipt, What};

/// One change.
#[derive(Debug)]
pub(crate) enum Record<H, W, N> {
    Granted(Place, H),
    Renewed {
        place: Place,
        id: Id<Hold>,
        ttl_seconds: u32,
        heartbeats: u32,
    },
    Ended(Place, Id<Hold>),
    Queued(Place, W),
    Left(Place, u64),
    Happened(u64, N),
    Noted(u64),
    /// Tokens up to this one may have been given: it stays when the locks they were given to are gone.
    Reached(u64),
}

/// As it is written.
pub(crate) type Writing<'a> = Record<&'a Hold, &'a Waiter, &'a Happening>;
/// As it is read.
pub(crate) type Reading = Record<Hold, Waiter, Happening>;

/// The bytes are no record of this version.
#[derive(Debug)]
pub(crate) struct NoRecord;

/// Where a record came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) lane: u8,
    pub(crate) number: u64,
}

/// Appends a record.
pub(crate) fn write(out: &mut Vec<u8>, origin: Origin, record: &Writing<'_>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(origin.lane);
    out.extend_from_slice(&origin.number.to_le_bytes());
    match record {
        Record::Granted(place, hold) => {
            out.push(1);
            put_place(out, place);
            put_hold(out, hold);
        }
        Record::Renewed { place, id, ttl_seconds, heartbeats } => {
            out.push(2);
            put_place(out, place);
            out.extend_from_slice(id.raw().as_bytes());
            out.extend_from_slice(&ttl_seconds.to_le_bytes());
            out.extend_from_slice(&heartbeats.to_le_bytes());
        }
        Record::Ended(place, id) => {
            out.push(3);
            put_place(out, place);
            out.extend_from_slice(id.raw().as_bytes());
        }
        Record::Queued(place, waiter) => {
            out.push(4);
            put_place(out, place);
            put_waiter(out, waiter);
        }
        Record::Left(place, number) => {
            out.push(5);
            put_place(out, place);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Record::Happened(number, happening) => {
            out.push(6);
            out.extend_from_slice(&number.to_le_bytes());
            put_happening(out, happening);
        }
        Record::Noted(number) => {
            out.push(7);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Record::Reached(number) => {
            out.push(8);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..text.len().min(usize::from(u16::MAX))]);
}

fn put_place(out: &mut Vec<u8>, place: &Place) {
    out.extend_from_slice(place.org.raw().as_bytes());
    put_text(out, place.key.as_str());
}

fn put_owner(out: &mut Vec<u8>, owner: &Owner) {
    out.extend_from_slice(owner.agent.raw().as_bytes());
    out.extend_from_slice(&owner.birth.to_le_bytes());
    put_text(out, &owner.name);
}

fn put_mode(out: &mut Vec<u8>, mode: Mode) {
    out.push(u8::from(mode == Mode::Shared));
}

/// Bit by bit what there is, then that.
fn put_about(out: &mut Vec<u8>, about: Option<&About>) {
    let none = About::default();
    let about = about.unwrap_or(&none);
    let bits = [
        about.request_id.is_some(),
        about.purpose.is_some(),
        about.priority.is_some(),
        about.ticket.is_some(),
    ];
    out.push(bits.iter().enumerate().fold(0, |all, (place, set)| all | u8::from(*set) << place));
    about.request_id.iter().chain(&about.purpose).for_each(|text| put_text(out, text));
    about.priority.iter().for_each(|priority| out.extend_from_slice(&priority.to_le_bytes()));
    about.ticket.iter().for_each(|ticket| out.extend_from_slice(ticket.raw().as_bytes()));
}

fn put_hold(out: &mut Vec<u8>, hold: &Hold) {
    out.extend_from_slice(hold.id.raw().as_bytes());
    put_owner(out, &hold.owner);
    put_mode(out, hold.mode);
    out.extend_from_slice(&hold.fence.to_le_bytes());
    out.extend_from_slice(&hold.ttl_seconds.to_le_bytes());
    out.extend_from_slice(&hold.acquired_at.micros().to_le_bytes());
    out.extend_from_slice(&hold.heartbeats.to_le_bytes());
    put_about(out, hold.about.as_deref());
}

fn put_waiter(out: &mut Vec<u8>, waiter: &Waiter) {
    out.extend_from_slice(&waiter.number.to_le_bytes());
    put_owner(out, &waiter.owner);
    put_mode(out, waiter.mode);
    out.extend_from_slice(&waiter.ttl_seconds.to_le_bytes());
    out.extend_from_slice(&waiter.asked_at.micros().to_le_bytes());
    put_about(out, waiter.about.as_deref());
}

fn put_happening(out: &mut Vec<u8>, happening: &Happening) {
    let what = What::ALL.iter().position(|what| *what == happening.what).unwrap_or(0);
    out.push(u8::try_from(what).unwrap_or(0));
    out.extend_from_slice(&happening.at.micros().to_le_bytes());
    put_place(out, &Place { org: happening.owner.org, key: happening.key.clone() });
    put_owner(out, &happening.owner);
    let lock = happening.lock.map_or(Uuid::nil(), Id::raw);
    out.extend_from_slice(lock.as_bytes());
    out.extend_from_slice(&happening.fence.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(happening.ticket.map_or(Uuid::nil(), Id::raw).as_bytes());
    out.extend_from_slice(&u16::try_from(happening.circle.len()).unwrap_or(0).to_le_bytes());
    happening.circle.iter().flatten().for_each(|text| put_text(out, text));
}

/// Reads records, with one `Owner` for each there was.
#[derive(Default)]
pub(crate) struct Reader {
    owners: HashMap<(Uuid, Uuid, u64), Arc<Owner>>,
}

impl Reader {
    /// The first record of the bytes, and what comes after it.
    pub(crate) fn read<'b>(&mut self, bytes: &'b [u8]) -> Result<(Origin, Reading, &'b [u8]), NoRecord> {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(NoRecord)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| NoRecord)?;
        let (body, rest) = rest.split_at_checked(length).ok_or(NoRecord)?;
        let mut fields = Fields { bytes: body, reader: self };
        let origin = Origin { lane: fields.byte()?, number: fields.u64()? };
        let record = fields.record()?;
        if fields.bytes.is_empty() { Ok((origin, record, rest)) } else { Err(NoRecord) }
    }
}

struct Fields<'b, 'r> {
    bytes: &'b [u8],
    reader: &'r mut Reader,
}

impl Fields<'_, '_> {
    fn record(&mut self) -> Result<Reading, NoRecord> {
        Ok(match self.byte()? {
            1 => {
                let place = self.place()?;
                let hold = self.hold(&place)?;
                Record::Granted(place, hold)
            }
            2 => Record::Renewed {
                place: self.place()?,
                id: self.id()?,
                ttl_seconds: self.u32()?,
                heartbeats: self.u32()?,
            },
            3 => Record::Ended(self.place()?, self.id()?),
            4 => {
                let place = self.place()?;
                let waiter = self.waiter(&place)?;
                Record::Queued(place, waiter)
            }
            5 => Record::Left(self.place()?, self.u64()?),
            6 => Record::Happened(self.u64()?, self.happening()?),
            7 => Record::Noted(self.u64()?),
            8 => Record::Reached(self.u64()?),
            _ => return Err(NoRecord),
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], NoRecord> {
        let (array, rest) = self.bytes.split_first_chunk::<N>().ok_or(NoRecord)?;
        self.bytes = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Result<u8, NoRecord> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, NoRecord> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, NoRecord> {
        self.array().map(u64::from_le_bytes)
    }

    fn id<T>(&mut self) -> Result<Id<T>, NoRecord> {
        self.array().map(|bytes| Id::new(Uuid::from_bytes(bytes)))
    }

    fn time(&mut self) -> Result<Timestamp, NoRecord> {
        self.array().map(|bytes| Timestamp::from_micros(i64::from_le_bytes(bytes)))
    }

    fn text(&mut self) -> Result<&str, NoRecord> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        let (text, rest) = self.bytes.split_at_checked(length).ok_or(NoRecord)?;
        self.bytes = rest;
        std::str::from_utf8(text).map_err(|_| NoRecord)
    }

    fn place(&mut self) -> Result<Place, NoRecord> {
        let org = self.id()?;
        let key: LockKey = self.text()?.parse().map_err(|_| NoRecord)?;
        Ok(Place { org, key })
    }

    fn owner(&mut self, place: &Place) -> Result<Arc<Owner>, NoRecord> {
        let (org, agent, birth) = (place.org, self.id()?, self.u64()?);
        let name: Box<str> = self.text()?.into();
        let known = self.reader.owners.entry((org.raw(), agent.raw(), birth));
        let owner = known.or_insert_with(|| Arc::new(Owner { org, agent, name: name.clone(), birth }));
        if owner.name == name { Ok(Arc::clone(owner)) } else { Err(NoRecord) }
    }

    fn mode(&mut self) -> Result<Mode, NoRecord> {
        match self.byte()? {
            0 => Ok(Mode::Exclusive),
            1 => Ok(Mode::Shared),
            _ => Err(NoRecord),
        }
    }

    fn about(&mut self) -> Result<Option<Box<About>>, NoRecord> {
        let bits = self.byte()?;
        let has = |place: u8| bits & 1 << place != 0;
        let about = About {
            request_id: has(0).then(|| self.text().map(Box::from)).transpose()?,
            purpose: has(1).then(|| self.text().map(Box::from)).transpose()?,
            priority: has(2).then(|| self.array().map(i32::from_le_bytes)).transpose()?,
            ticket: has(3).then(|| self.id()).transpose()?,
        };
        Ok((bits != 0).then(|| Box::new(about)))
    }

    fn hold(&mut self, place: &Place) -> Result<Hold, NoRecord> {
        Ok(Hold {
            id: self.id()?,
            owner: self.owner(place)?,
            mode: self.mode()?,
            fence: self.u64()?,
            // Every lock gets its whole time after a restart.
            deadline_ms: 0,
            expires_at: Timestamp::from_micros(0),
            ttl_seconds: self.u32()?,
            acquired_at: self.time()?,
            heartbeats: self.u32()?,
            about: self.about()?,
        })
    }

    fn waiter(&mut self, place: &Place) -> Result<Waiter, NoRecord> {
        Ok(Waiter {
            number: self.u64()?,
            owner: self.owner(place)?,
            mode: self.mode()?,
            ttl_seconds: self.u32()?,
            asked_at: self.time()?,
            about: self.about()?,
        })
    }

    fn happening(&mut self) -> Result<Happening, NoRecord> {
        let what = *What::ALL.get(usize::from(self.byte()?)).ok_or(NoRecord)?;
        let at = self.time()?;
        let place = self.place()?;
        let owner = self.owner(&place)?;
        let (lock, fence, ticket) = (self.array()?, self.u64()?, self.array()?);
        let some = |bytes: [u8; 16]| (bytes != [0; 16]).then(|| Uuid::from_bytes(bytes));
        let length = u16::from_le_bytes(self.array()?);
        let mut circle = Vec::new();
        for _ in 0..length {
            let mut edge: [String; 5] = Default::default();
            for text in &mut edge {
                self.text()?.clone_into(text);
            }
            circle.push(edge);
        }
        Ok(Happening {
            what,
            at,
            key: place.key,
            owner,
            lock: some(lock).map(Id::new),
            fence: (fence != 0).then_some(fence),
            ticket: some(ticket).map(Id::new),
            circle,
            receipt: Some(Receipt { lane: 0, number: 0 }),
        })
    }
}
