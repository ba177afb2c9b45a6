//! Two organizations with the same in each: what one of them asks, the other never shows in the answer.

use std::collections::BTreeSet;

use hub::audit::sealer::seal_all;
use serde_json::{Value, json};
use testkit::{TestHub, on_each_engine};

use crate::backdoor::Backdoor;
use crate::support::{Answer, expect, get, mint, send, without_place};
use crate::world::document::Document;
use crate::world::things::with_ids;
use crate::world::{Column, DOORS, Door, Things, Visitor, fresh, id_in, request, rows};

const NOTHING: &str = "0197a000-0000-7000-8000-000000000000";

/// What one tenant may learn of another, each with the reason. Nothing below makes an exception for anything else.
const ACCEPTED: &[(&str, &str)] = &[
    ("POST /accounts answers 202 for an e-mail that exists elsewhere", "API.md: the person is asked"),
    ("e-mails are unique in the instance", "people log in with them; a change to a taken one is a 409"),
    ("names and slugs of organizations are unique in the instance", "only instance admins give them"),
    ("an instance admin sees all organizations and accounts", "DECISIONS 18, 19"),
    ("an account that belongs to both is seen in both", "it is a member of each"),
    (
        "events are numbered through the instance",
        "gaps and last_seq tell how much happens, not where or what",
    ),
];

/// An organization and those who act in it.
struct Tenant<'h> {
    visitors: Vec<Visitor>,
    things: Things<'h>,
    owner_key: String,
    org: String,
}

/// The same for each: people with the same names and roles, an agent, keys, invitations, settings, seals.
async fn filled<'h>(hub: &'h TestHub, backdoor: &Backdoor, slug: &str) -> Tenant<'h> {
    let owner = hub.tenant(slug).await;
    let org = id_in(&get(hub, &owner, "/api/v1/me").await["organization"], "id");
    let author = hub.member_with(&owner, "ann", &["author"]).await;
    let agent = rows::agent(hub, backdoor, &author, "builder").await;
    let agent = mint(hub, &author, json!({"name": "agent", "account_id": agent})).await;
    let admin = hub.member_with(&owner, "olga", &["admin"]).await;
    let people = [
        ("its owner", Column::Instance, owner.clone()),
        ("its admin", Column::Admin, admin),
        ("its author", Column::Author, author),
        ("its member", Column::Member, hub.member(&owner, "mia").await),
        ("its agent", Column::Agent, agent.key),
    ];
    let mut visitors = Vec::new();
    for (name, column, key) in people {
        visitors.push(Visitor::with_key(hub, name, column, &key).await);
    }
    let logins = visitors[1].logged_in(backdoor, &org).await;
    visitors.extend(logins);
    let mut tenant = Tenant { visitors, things: Things::of(hub, &owner, &owner), owner_key: owner, org };
    more(hub, &mut tenant).await;
    tenant
}

/// Some of everything that the table of routes can make.
async fn more(hub: &TestHub, tenant: &mut Tenant<'_>) {
    // Nobody who was heard is missed while answers are compared, however long that takes.
    let patient = json!({"lock:default_ttl": 3000, "lock:max_ttl": 3600, "lock:heartbeat_interval": 900});
    let settings = hub.request("PATCH", "/api/v1/settings").bearer_auth(&tenant.owner_key).json(&patient);
    expect(settings, 200).await;
    tenant.things.make_all().await;
    for door in DOORS.iter().filter(|door| door.takes_body()) {
        let (path, body) = tenant.things.call(door).await;
        // Giving the organization away would take the owner's rights, and an agent that was heard falls silent by itself
        // half a minute later, in the middle of whatever is compared then.
        if !path.ends_with("/transfer-ownership") && !path.ends_with("/heartbeat") {
            send(tenant.visitors[0].ask(request(hub, door.method, &path, &body))).await;
        }
    }
    tenant.things.used_up();
    tenant.things.make_all().await;
    let gitea = json!({"gitea_username": "same-in-both"});
    let path = format!("/api/v1/accounts/{}", tenant.things.get("$member").await);
    expect(hub.request("PATCH", &path).bearer_auth(&tenant.owner_key).json(&gitea), 200).await;
    let check = hub.request("POST", "/api/v1/audit/verification").bearer_auth(&tenant.owner_key);
    expect(check, 200).await;
}

/// An answer without what differs from request to request.
fn comparable(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    // How many seconds are left is another number a moment later.
    let own = ["date", "x-request-id", "content-length", "retry-after"];
    let headers = answer.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let mut headers: Vec<_> = headers.collect();
    headers.sort();
    let body = match answer.status.is_client_error() {
        true => without_place(&answer.any_problem()).to_string(),
        false => answer.text(),
    };
    let body = match answer.header("retry-after") {
        Some(seconds) => body.replace(&format!("in {seconds} s"), "in a while"),
        None => body,
    };
    (answer.status.as_u16(), headers, body)
}

/// A call with one id of another tenant in it, and the same with an id of nothing.
async fn pairs(
    theirs: &mut Things<'_>,
    own: &mut Things<'_>,
    door: &Door,
    document: &Document,
) -> Vec<[(String, String); 2]> {
    let (own_path, own_body) = own.call(door).await;
    let mut pairs = Vec::new();
    let mut own_ids = Vec::new();
    for name in door.names {
        own_ids.push(own.get(name).await);
    }
    let named = door.names.iter().enumerate().filter(|(_, name)| name.starts_with('$'));
    for (place, name) in named {
        let their = theirs.get(name).await;
        pairs.push([their.as_str(), NOTHING].map(|id| {
            let mut ids = own_ids.clone();
            id.clone_into(&mut ids[place]);
            (with_ids(door, &ids), own_body.clone())
        }));
    }
    let kinds = ["$maker", "$member", "$outsider", "$org", "$key"];
    for field in document.id_fields(door) {
        for kind in kinds {
            let their = theirs.get(kind).await;
            pairs.push([their.as_str(), NOTHING].map(|id| {
                let mut body: Value = serde_json::from_str(&own_body).unwrap();
                body[&field] = json!(id);
                (own_path.clone(), body.to_string())
            }));
        }
    }
    for filter in document.filters(door).iter().filter(|filter| filter.is_id) {
        for kind in kinds {
            let their = theirs.get(kind).await;
            pairs.push(
                [their.as_str(), NOTHING]
                    .map(|id| (format!("{own_path}?{}={id}", filter.name), String::new())),
            );
        }
    }
    pairs
}

#[test]
fn every_exception_has_its_reason() {
    assert!(ACCEPTED.iter().all(|(what, why)| !what.is_empty() && !why.is_empty()));
}

#[tokio::test]
async fn an_id_of_another_tenant_answers_like_none() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let mut theirs = filled(&hub, &backdoor, "acme").await;
        let mut own = filled(&hub, &backdoor, "bolt").await;
        let document = Document::of(&hub).await;
        let look = backdoor.tally().await;
        for door in DOORS {
            for visitor in own.visitors.clone() {
                for [their, missing] in pairs(&mut theirs.things, &mut own.things, door, &document).await {
                    let before = backdoor.column(&look).await;
                    let mut answers = Vec::new();
                    for (path, body) in [&their, &missing] {
                        answers.push(send(visitor.ask(request(&hub, door.method, path, body))).await);
                    }
                    let [found, wanted] = [&answers[0], &answers[1]].map(comparable);
                    let what = format!("{} at {door}: {their:?}", visitor.name);
                    assert_eq!(found, wanted, "{what}");
                    assert!(answers[0].status.is_client_error() || door.is_read(), "{what}: {}", found.2);
                    assert_eq!(before, backdoor.column(&look).await, "{what} changed something");
                }
            }
        }
    })
    .await;
}

/// Whatever tells one thing from all others: ids, addresses, beginnings of keys.
fn marks_in(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_@.".contains(letter);
    let words = text.split(|letter| !is_part(letter));
    let is_mark = |word: &&str| {
        let is_id = word.len() == 36 && word.matches('-').count() == 4;
        is_id || word.contains('@') || word.starts_with("csk_")
    };
    words.filter(is_mark).map(str::to_owned).collect()
}

/// All marks in the rows of an organization.
async fn marks_of(backdoor: &Backdoor, org: &str) -> BTreeSet<String> {
    let mut marks = BTreeSet::new();
    for table in backdoor.tables().await {
        let columns = backdoor.columns(&table).await;
        let by = match table.as_str() {
            "organizations" => "id",
            "accounts" => "home_org_id",
            _ if columns.iter().any(|column| column == "org_id") => "org_id",
            _ => continue,
        };
        // Bytes show nothing that is not in another column too.
        let hidden = [
            "body",
            "key_hash",
            "token_hash",
            "device_hash",
            "body_hash",
            "name",
            "content_hash",
            "effect_hash",
            "review_hash",
            "sha256",
            "sort_name",
            "secret",
            "previous_secret",
        ];
        let is_bytes =
            |column: &str| hidden.contains(&column) || (table == "task_revisions" && column == "config");
        for column in columns.iter().filter(|column| !is_bytes(column)) {
            let cells = format!(
                "SELECT CAST({column} AS TEXT) FROM {table} WHERE {by} = '{org}' AND {column} IS NOT NULL"
            );
            for cell in backdoor.column(&cells).await {
                marks.extend(marks_in(&cell));
            }
        }
    }
    marks
}

/// Every page of a list, or the one answer.
async fn all_pages(hub: &TestHub, visitor: &Visitor, path: &str, is_paged: bool) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let joint = if path.contains('?') { '&' } else { '?' };
        let asked = if is_paged { format!("{path}{joint}limit=7{cursor}") } else { path.to_owned() };
        let answer = send(visitor.ask(hub.request("GET", &asked))).await;
        // An export is one value a line.
        let page: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| {
            answer.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect()
        });
        let next = page["next_cursor"].as_str().filter(|_| is_paged).map(|next| format!("&cursor={next}"));
        pages.push(settled(page));
        match next {
            Some(next) => cursor = next,
            None => return pages,
        }
    }
}

/// Without what says when it was asked, how far the instance's events have come (ACCEPTED), and when a key was last used, which is noted beside the request.
fn settled(page: Value) -> Value {
    match page {
        Value::Object(members) => {
            let noise = [
                "request_id",
                "instance",
                // Asking is a use, which is noted once a minute.
                "last_active",
                "last_used_at",
                "updated_at",
                "next_cursor",
                "exported_at",
                "sha256",
                "last_seq",
            ];
            let kept = members.into_iter().filter(|(name, _)| !noise.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name, settled(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(settled).collect()),
        other => other,
    }
}

/// Everything that a tenant can read: each route that reads, by everybody, plain and with these values to filter by.
async fn everything(
    hub: &TestHub,
    tenant: &mut Tenant<'_>,
    document: &Document,
    values: &[(&str, String)],
) -> Vec<(String, Vec<Value>)> {
    let mut read = Vec::new();
    let tenants_own = |door: &&Door| door.is_read() && door.path.starts_with("/api/v1/");
    for door in DOORS.iter().filter(tenants_own) {
        let (path, _) = tenant.things.call(door).await;
        let mut paths = vec![path.clone()];
        for filter in document.filters(door) {
            let fits = |(kind, _): &&(&str, String)| {
                (*kind == "id" && filter.is_id) || (*kind == "text" && filter.is_text)
            };
            let values = values.iter().filter(fits);
            paths.extend(values.map(|(_, value)| format!("{path}?{}={value}", filter.name)));
        }
        for path in paths {
            for visitor in &tenant.visitors {
                let pages = all_pages(hub, visitor, &path, document.is_paged(door)).await;
                read.push((format!("{} at {path}", visitor.name), pages));
            }
        }
    }
    read
}

#[tokio::test]
async fn nothing_of_another_tenant_is_in_any_answer() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let mut theirs = filled(&hub, &backdoor, "acme").await;
        let mut own = filled(&hub, &backdoor, "bolt").await;
        let document = Document::of(&hub).await;
        let mut values = vec![("text", "acme".to_owned()), ("text", "ann@acme.example".to_owned())];
        values.push(("text", "same-in-both".to_owned()));
        for kind in [
            "$maker",
            "$member",
            "$outsider",
            "$org",
            "$key",
            "$row",
            "$login",
            "$project",
            "$workspace",
            "$agent",
            "$task",
            "$reviewed",
            "$approval",
        ] {
            values.push(("id", theirs.things.get(kind).await));
        }
        let own_marks = marks_of(&backdoor, &own.org).await;
        let their_marks = marks_of(&backdoor, &theirs.org).await;
        let foreign: BTreeSet<_> = their_marks.difference(&own_marks).cloned().collect();
        assert!(foreign.len() > 50, "too few marks to look for: {foreign:?}");
        for (what, pages) in everything(&hub, &mut own, &document, &values).await {
            let shown = marks_in(&pages.iter().map(Value::to_string).collect::<String>());
            // A refusal may say what was sent.
            let sent = marks_in(&what);
            let leaked: Vec<_> = shown.intersection(&foreign).filter(|mark| !sent.contains(*mark)).collect();
            assert!(leaked.is_empty(), "{what} shows {leaked:?} of another tenant");
        }
        // The same look finds what is the tenant's own, or it would find nothing anywhere.
        let seen = everything(&hub, &mut theirs, &document, &[]).await;
        let text: String = seen.iter().flat_map(|(_, pages)| pages).map(Value::to_string).collect();
        assert!(marks_in(&text).intersection(&foreign).count() > 50);
    })
    .await;
}

/// The items of all pages, so that the one that differs can be named.
fn flat(pages: &[Value]) -> Vec<Value> {
    let items = pages.iter().flat_map(|page| match page.get("items").unwrap_or(page) {
        Value::Array(items) => items.clone(),
        other => vec![other.clone()],
    });
    items.collect()
}

#[tokio::test]
async fn what_another_tenant_does_changes_no_answer() {
    on_each_engine(async |hub| {
        let backdoor = Backdoor::open(&hub).await;
        let mut theirs = filled(&hub, &backdoor, "acme").await;
        let mut own = filled(&hub, &backdoor, "bolt").await;
        let document = Document::of(&hub).await;
        // Everything is sealed, so that nothing of one's own changes by itself either.
        let settled = format!("audit_logs WHERE org_id = '{}' AND seal_id IS NULL", own.org);
        crate::support::eventually("the seals", async || {
            drop(seal_all(&hub.hub).await);
            (backdoor.count(&settled).await == 0).then_some(())
        })
        .await;
        let values = [("text", "ann".to_owned()), ("text", fresh())];
        let before = everything(&hub, &mut own, &document, &values).await;
        more(&hub, &mut theirs).await;
        drop(seal_all(&hub.hub).await);
        let after = everything(&hub, &mut own, &document, &values).await;
        assert_eq!(before.len(), after.len());
        for ((what, before), (_, after)) in before.iter().zip(&after) {
            let [before, after] = [before, after].map(|pages| flat(pages));
            let differs = before.iter().zip(&after).find(|(before, after)| before != after);
            assert_eq!((before.len(), differs), (after.len(), None), "{what} has changed");
        }
    })
    .await;
}
