//! The socket of an open page: it says that something has changed, and where the log is.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::socket::{Said, Socket};
use testkit::{TestHub, on_each_engine};

use super::{SILENCE, TYPES, begun, happen, polled};
use crate::support::{Login, PASSWORD, enrolled, expect, log_in};

/// Whoever has logged out is told within this.
const LOGGED_OUT_WITHIN: Duration = Duration::from_secs(1);

async fn open(hub: &TestHub, login: &Login, query: &str) -> Socket {
    let (cookie, origin) = (format!("cs={}", login.token), hub.url());
    let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    let socket = Socket::open(&origin, &format!("/live{query}"), &headers).await;
    socket.unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// How far the log goes, as the socket says when something has changed.
async fn changed(socket: &mut Socket) -> i64 {
    loop {
        let Said::Json(said) = socket.next().await else { panic!("no change") };
        assert_eq!(said["type"], "heartbeat", "a page gets no events: {said}");
        if said["message"] == "changed" {
            return said["last_seq"].as_i64().unwrap();
        }
    }
}

/// Whether it says nothing of a change.
async fn is_quiet(socket: &mut Socket) -> bool {
    tokio::time::timeout(SILENCE, changed(socket)).await.is_err()
}

async fn caught_up(socket: &mut Socket, seq: i64) {
    while changed(socket).await < seq {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_told_of_every_change_and_goes_on_where_it_broke_off() {
    on_each_engine(async |hub| {
        let login = log_in(&hub, &enrolled(&hub, "ann").await).await;
        let types = format!("?types={TYPES}");
        let mut socket = open(&hub, &login, &types).await;
        let start = begun(&mut socket).await;
        happen(&hub, &hub.admin_key, 3).await;
        let happened = polled(&hub, &hub.admin_key, start, 3).await;
        caught_up(&mut socket, *happened.last().unwrap()).await;
        assert!(is_quiet(&mut socket).await, "nothing twice");
        socket.close().await;

        // Nothing has happened to a page that comes back at once; what happens while it is away, it is told.
        let last = *happened.last().unwrap();
        let mut socket = open(&hub, &login, &format!("{types}&since={last}")).await;
        begun(&mut socket).await;
        assert!(is_quiet(&mut socket).await, "a page that is fresh is told that it is not");
        socket.close().await;
        happen(&hub, &hub.admin_key, 2).await;
        let missed = polled(&hub, &hub.admin_key, last, 2).await;
        let mut socket = open(&hub, &login, &format!("{types}&since={last}")).await;
        begun(&mut socket).await;
        assert!(changed(&mut socket).await >= missed[1], "one word for all that was missed");
        assert!(is_quiet(&mut socket).await);
    })
    .await;
}

#[tokio::test]
async fn a_page_is_told_of_nothing_it_does_not_show_and_of_no_other_tenant() {
    on_each_engine(async |hub| {
        let login = log_in(&hub, &enrolled(&hub, "ann").await).await;
        let theirs = hub.tenant("other").await;
        let body = json!({"email": "bob@other.example", "display_name": "bob", "password": PASSWORD});
        expect(hub.request("POST", "/api/v1/accounts").bearer_auth(&theirs).json(&body), 201).await;
        let bob = log_in(&hub, "bob@other.example").await;
        let mut ours = open(&hub, &login, &format!("?types={TYPES}")).await;
        let mut tasks = open(&hub, &login, "?types=task:*").await;
        let mut others = open(&hub, &bob, &format!("?types={TYPES}")).await;
        for socket in [&mut ours, &mut tasks, &mut others] {
            begun(socket).await;
        }
        happen(&hub, &theirs, 1).await;
        changed(&mut others).await;
        assert!(is_quiet(&mut ours).await && is_quiet(&mut tasks).await);
        happen(&hub, &hub.admin_key, 1).await;
        changed(&mut ours).await;
        assert!(is_quiet(&mut others).await && is_quiet(&mut tasks).await);
    })
    .await;
}

#[tokio::test]
async fn only_a_login_on_a_page_of_the_hub_opens_it() {
    on_each_engine(async |hub| {
        let login = log_in(&hub, &enrolled(&hub, "ann").await).await;
        let (cookie, bearer) = (format!("cs={}", login.token), format!("Bearer {}", hub.admin_key));
        let (cookie, bearer) = (("cookie", cookie.as_str()), ("authorization", bearer.as_str()));
        let (ours, near) = (hub.url(), format!("{}.evil.example", hub.url()));
        let cases: [(&[(&str, &str)], u16); 8] = [
            (&[cookie, ("origin", &ours)], 101),
            (&[cookie], 403),
            (&[cookie, ("origin", "https://evil.example")], 403),
            (&[cookie, ("origin", &near)], 403),
            (&[cookie, ("origin", "null")], 403),
            (&[("origin", &ours)], 303),
            (&[], 303),
            (&[bearer, ("origin", &ours)], 409),
        ];
        for (headers, expected) in cases {
            match Socket::open(&ours, "/live?types=task:*", headers).await {
                Ok(_) => assert_eq!(expected, 101, "{headers:?}"),
                Err(refused) => assert_eq!(refused.status, expected, "{headers:?}"),
            }
        }
        // A number from another log, and words that are none.
        for query in ["?since=999999999", "?since=-1", "?since=x", "?types=nonsense", "?token=x"] {
            let headers = [cookie, ("origin", ours.as_str())];
            let refused = Socket::open(&ours, &format!("/live{query}"), &headers).await.err().unwrap();
            assert_eq!((refused.status, refused.problem), (422, Value::Null), "a page says what is wrong");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logging_out_closes_it_within_a_second() {
    on_each_engine(async |hub| {
        let email = enrolled(&hub, "ann").await;
        let (leaving, staying) = (log_in(&hub, &email).await, log_in(&hub, &email).await);
        let mut closed = open(&hub, &leaving, "?types=task:*").await;
        let mut open = open(&hub, &staying, "?types=task:*").await;
        begun(&mut closed).await;
        begun(&mut open).await;
        expect(leaving.on(hub.request("POST", "/account/logout").form(&[] as &[(&str, &str); 0])), 303).await;
        let told = Instant::now();
        assert_eq!(closed.next().await, Said::Closed(4401, "UNAUTHENTICATED".into()));
        assert!(told.elapsed() < LOGGED_OUT_WITHIN, "{:?}", told.elapsed());
        assert!(is_quiet(&mut open).await, "the other login goes on");
    })
    .await;
}
