//! Finding who decides: the end of a chain of ten among ten thousand delegations, against one step among a hundred.

use anyhow::{Context as _, Result};
use domain::accounts::Account;
use domain::delegations::{Book, Conditions, Delegation, DelegationKind, Matter, Route};
use domain::organizations::Organization;
use domain::tasks::{Behind, Provenance};
use domain::{Id, Timestamp};
use records::{Db, delegations};
use serde_json::json;

use crate::Bench;
use crate::closed_loop::{self, Run};
use crate::figures::{Bar, Row, ratio};
use crate::homes::Homes;
use crate::http::{Connection, Request};
use crate::programs::Program;
use crate::review::team::{bearer, call, text};
use crate::turns::{Side, taken};

const SHORT: (usize, usize) = (1, 100);
const LONG: (usize, usize) = (10, 10_000);
const OF_SHORT_MAX: f64 = 1.3;
/// Delegations are spread over so many people.
const OWNERS: usize = 100;

/// A hub's records with delegations in them, and whom to ask about.
struct Ground {
    db: Db,
    org: Id<Organization>,
    first: Id<Account>,
    last: Id<Account>,
}

struct Asker {
    db: Db,
    org: Id<Organization>,
    first: Id<Account>,
    last: Id<Account>,
}

impl closed_loop::Worker for Asker {
    async fn once(&mut self) -> Result<()> {
        let input = (self.org, self.first);
        let read = self.db.read(input, |tx, &(org, first)| Box::pin(delegations::reached(tx, org, [first])));
        let book: Book = read.await?.into_iter().collect();
        let matter = Matter::new("infrastructure", &[], 50);
        let now = Timestamp::from_micros(1);
        let route = book.route(self.first, &matter, (&Provenance::default(), now), |_| true);
        match route {
            Route::To(chain) if chain.to == self.last => Ok(()),
            other => anyhow::bail!("the chain leads elsewhere: {other:?}"),
        }
    }
}

pub(super) fn measure(bench: &Bench, homes: &Homes<'_>) -> Result<Vec<Row>> {
    let (short, long) = (grown(bench, homes, SHORT)?, grown(bench, homes, LONG)?);
    let turn = |ground: &Ground, time| -> Result<Run> {
        let Ground { db, org, first, last } = ground;
        let asker = Asker { db: db.clone(), org: *org, first: *first, last: *last };
        bench.runtime.block_on(closed_loop::run([asker], time, std::process::id()))
    };
    let named = |(links, all): (usize, usize)| format!("SQLite, a chain of {links} among {all} delegations");
    let sides = [
        Side::new(named(SHORT), |time| turn(&short, time)),
        Side::new(named(LONG), |time| turn(&long, time)),
    ];
    let [short, long] = taken(bench, sides)?;
    let grown = ratio(&long.values(|run| run.p50_micros), &short.values(|run| run.p50_micros));
    let mut table = vec![
        Row::new("chain of 10 among 10,000 ÷ one step among 100: p50", grown, 2)
            .with_bar(Bar::AtMost(OF_SHORT_MAX)),
    ];
    table.extend(short.rows_of("chain"));
    table.extend(long.rows_of("chain"));
    Ok(table)
}

/// Records with a chain of so many links among so many delegations.
fn grown(bench: &Bench, homes: &Homes<'_>, (links, all): (usize, usize)) -> Result<Ground> {
    let home = homes.founded()?;
    let hub = Program::at(&home, bench)?;
    let (org, people) = bench.runtime.block_on(peopled(&hub, &home.admin_key()?))?;
    drop(hub);
    let db = home.records()?;
    let (chain, others) = people.split_at(LONG.0 + 1);
    let mut pairs: Vec<(Id<Account>, Id<Account>)> =
        chain.windows(2).take(links).map(|pair| (pair[0], pair[1])).collect();
    pairs.extend((0..all - links).map(|number| {
        let (from, to) = (number % others.len(), (number / others.len() + number + 1) % others.len());
        (others[from], others[to])
    }));
    let made = pairs.into_iter().enumerate().map(|(number, pair)| delegation(org, number, pair));
    let made = made.collect::<Result<Vec<Delegation>>>()?;
    for some in made.chunks(500) {
        let unit = db.write(some.to_vec(), |tx, some| {
            Box::pin(async move {
                for one in some {
                    delegations::insert(tx, one).await?;
                }
                Ok::<_, records::Error>(())
            })
        });
        bench.runtime.block_on(unit)?;
    }
    Ok(Ground { db, org, first: chain[0], last: chain[links] })
}

async fn peopled(hub: &Program, admin_key: &str) -> Result<(Id<Organization>, Vec<Id<Account>>)> {
    let mut connection = Connection::open(hub.target.address).await?;
    let admin = bearer(admin_key);
    let me = call(&mut connection, &Request::get("/api/v1/me", &admin)).await?;
    let org = text(&me["organization"], "id")?.parse().ok().context("no id")?;
    let mut people = Vec::new();
    for number in 0..LONG.0 + 1 + OWNERS {
        let body =
            json!({"email": format!("p{number}@example.org"), "display_name": "p", "roles": ["reviewer"]});
        let made = Request::post_as("/api/v1/accounts", &admin, &body.to_string());
        people.push(text(&call(&mut connection, &made).await?, "id")?.parse().ok().context("no id")?);
    }
    Ok((org, people))
}

fn delegation(
    org_id: Id<Organization>,
    number: usize,
    (owner_id, delegate_to): (Id<Account>, Id<Account>),
) -> Result<Delegation> {
    let at = Timestamp::from_micros(0);
    Ok(Delegation {
        id: format!("0197a000-0000-7000-8000-{number:012x}").parse().ok().context("no id")?,
        org_id,
        owner_id,
        delegate_to,
        kind: DelegationKind::Transfer,
        conditions: Conditions::default(),
        cascade: true,
        active: true,
        starts_at: None,
        expires_at: None,
        behind: Behind::default(),
        version: 1,
        created_at: at,
        updated_at: at,
    })
}
