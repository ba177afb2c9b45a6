//! What authentication costs: `/me` with a key and with a login's cookie, against a page that anybody may read.
//!
//! The page is one of the hub's own routes, from the same process through the same frame and guard, and has about as
//! many bytes as the answer of `/me`. What `/me` spends on its JSON beyond that counts as authentication too; a line of
//! the table says how much that is.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use domain::Id;
use domain::login_sessions::{LoginMethod, LoginSession};
use domain::secrets::{Secret, SecretKind};
use hub::clock::{Clock as _, SystemClock};
use hub::ids::{Ids as _, SystemIds, secret};
use records::{Engine, login_sessions, organizations};
use wire::Me;

use crate::chance::Chance;
use crate::figures::{Bar, Figure, Row, difference};
use crate::homes::{Home, Homes};
use crate::http::{Connection, Request, Target, load};
use crate::programs::Program;
use crate::turns::{Side, taken};
use crate::{Bench, ROUNDS, progress};

const CONNECTIONS: usize = 64;
const CPU_MICROS_MAX: f64 = 15.0;
/// Enough to time, and over in a moment.
const JSON_TIMES: u32 = 20_000;
/// Its page has about as many bytes as the answer of `/me`.
const PAGE: &str = "/errors/NOT_FOUND";
/// Strangers may ask 300 times a minute from one address. From so many the limit is never reached, so it costs what
/// it costs everybody and refuses nobody.
const STRANGERS: u64 = 1 << 14;
const LOGIN_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let mut table = Vec::new();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        table.extend(on(engine, bench).with_context(|| format!("on {engine}"))?);
    }
    Ok(table)
}

fn on(engine: Engine, bench: &Bench) -> Result<Vec<Row>> {
    let homes = Homes::on(engine, bench);
    let home = homes.founded()?;
    let login = bench.runtime.block_on(log_in(&home))?;
    let hub = Program::at(&home, bench)?;
    let by_key = format!("authorization: Bearer {}\r\n", home.admin_key()?);
    let by_login = format!("cookie: cs={}\r\n", login.expose());
    let me = bench.runtime.block_on(answers(hub.target, &by_key, &by_login))?;
    let side = |what: &str, path: &'static str, headers: &str| {
        let headers = headers.to_owned();
        Side::new(format!("{engine}, {what}"), move |turn| {
            let who = (0..CONNECTIONS).map(|_| asker(path, headers.clone()));
            bench.runtime.block_on(load(hub.target, who, turn))
        })
    };
    let [page, key, cookie] = taken(
        bench,
        [
            side("page for anybody", PAGE, ""),
            side("/me by key", "/api/v1/me", &by_key),
            side("/me by login", "/api/v1/me", &by_login),
        ],
    )?;
    let more = |than: &[f64], by: &str, cpu: &[f64]| {
        let what = format!("{engine}, authentication {by}: CPU µs per request");
        Row::new(what, difference(cpu, than), 1).with_bar(Bar::AtMost(CPU_MICROS_MAX))
    };
    let cpu = page.values(|run| run.cpu_micros);
    let mut table = vec![
        more(&cpu, "by key", &key.values(|run| run.cpu_micros)),
        more(&cpu, "by login", &cookie.values(|run| run.cpu_micros)),
        Row::new(format!("{engine}, of that, the JSON of `/me`: µs"), json_micros(&me)?, 1),
    ];
    for side in [page, key, cookie] {
        table.extend(side.rows());
    }
    Ok(table)
}

/// Asks the same, each time as if for somebody else; all sides do, so that reading the address is no difference.
fn asker(path: &'static str, headers: String) -> impl FnMut() -> Request + Send + 'static {
    let mut chance = Chance::fresh();
    move || {
        Request::get(path, &format!("x-forwarded-for: {}\r\n{headers}", stranger(chance.below(STRANGERS))))
    }
}

/// An address that belongs to nobody.
fn stranger(number: u64) -> String {
    format!("198.18.{}.{}", number / 256 % 256, number % 256)
}

/// A login of the admin, as a browser would have it. It was used just now: no turn has to write that down.
async fn log_in(home: &Home) -> Result<Secret> {
    let (records, now) = (home.records()?, SystemClock::default().now());
    let org = organizations::all(&records).await?.into_iter().next().context("no organization")?;
    let secret = secret(SecretKind::Login)?;
    let login = LoginSession {
        id: Id::new(SystemIds.fresh()),
        org_id: org.id,
        account_id: org.owner_id,
        minted_by: org.owner_id,
        method: LoginMethod::Password,
        ip: None,
        user_agent: None,
        last_active_at: now,
        expires_at: now.plus(LOGIN_LASTS),
        ended_at: None,
        created_at: now,
        updated_at: now,
    };
    let kept = (login, secret.hash());
    let written: records::Result<()> =
        records.write(kept, |tx, (login, hash)| Box::pin(login_sessions::insert(tx, login, hash))).await;
    written?;
    records.close().await;
    Ok(secret)
}

/// Says how many bytes the answers have, because they are compared; the last of them.
async fn answers(target: Target, by_key: &str, by_login: &str) -> Result<Vec<u8>> {
    let mut connection = Connection::open(target.address).await?;
    let mut body = Vec::new();
    for (what, path, headers) in
        [("page", PAGE, ""), ("/me by key", "/api/v1/me", by_key), ("/me by login", "/api/v1/me", by_login)]
    {
        body = connection.ask(&Request::get(path, headers)).await?.to_vec();
        progress(&format!("  {what}: {} bytes of body", body.len()));
    }
    Ok(body)
}

/// What it takes to put the answer together and write it, on one core that does nothing else.
fn json_micros(body: &[u8]) -> Result<Figure> {
    let me: Me = serde_json::from_slice(body)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..JSON_TIMES {
            black_box(serde_json::to_vec(&black_box(&me).clone())?);
        }
        rounds.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(JSON_TIMES));
    }
    Ok(Figure::of(rounds))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn strangers_have_an_address_each() {
        let addresses: HashSet<Ipv4Addr> =
            (0..STRANGERS).map(|number| stranger(number).parse().unwrap()).collect();
        assert_eq!(addresses.len() as u64, STRANGERS);
    }
}
