//! Delegations, as people make, change and end them on their page.

use serde_json::{Value, json};
use testkit::on_each_engine;

use super::{Reader, holds, lacks};
use crate::delegations::somebody;
use crate::support::{all_items, get, id};

const FORM: [(&str, &str); 8] = [
    ("version", ""),
    ("delegate_to", ""),
    ("kind", "transfer"),
    ("task_types", ""),
    ("resource_patterns", ""),
    ("risk_above", ""),
    ("starts_at", ""),
    ("expires_at", ""),
];

fn with<'a>(changes: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    let asked = |(name, value): (&'static str, &'static str)| {
        let changed = changes.iter().find(|(changed, _)| *changed == name);
        (name, changed.map_or(value, |(_, value)| *value))
    };
    let more = changes.iter().filter(|(name, _)| !FORM.iter().any(|(known, _)| known == name));
    FORM.into_iter().map(asked).chain(more.copied()).collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn people_delegate_change_it_and_end_it() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["reviewer"]).await;
        let rob = somebody(&hub, "rob", &["reviewer"]).await;
        let mia = somebody(&hub, "mia", &["author"]).await;
        let (own, other) = (Reader::of(&hub, &ann.key).await, Reader::of(&hub, &rob.key).await);
        let page = own.page("/delegations?new=1").await;
        holds(&page, &["Have somebody decide for you", word(&rob.id), "Nobody decides for another"]);
        lacks(&page, &[&format!("<option value=\"{}\"", word(&mia.id)), &format!("<option value=\"{}\"", word(&ann.id))]);

        let leave = with(&[
            ("delegate_to", word(&rob.id)),
            ("task_types", "deploy, migration"),
            ("resource_patterns", "dns:*"),
            ("risk_above", "50"),
            ("starts_at", "2031-03-18T15:30"),
            ("expires_at", "2031-03-25T08:00"),
            ("cascade", "on"),
        ]);
        let to = own.taken("/delegations", &leave).await;
        let page = own.page(&to).await;
        holds(
            &page,
            &[
                "Made and on record",
                "type <code>deploy</code> or <code>migration</code>, only <code>dns:*</code>, risk above <code>50</code>, may pass on",
                "begins 18 Mar 2031, 15:30 UTC",
                "to come",
                "decides instead",
            ],
        );
        let made = all_items(&hub, &ann.key, "/api/v1/delegations").await.remove(0);
        assert_eq!((&made["owner_id"], &made["delegate_to"], &made["cascade"]), (&ann.id, &rob.id, &json!(true)));
        assert_eq!(made["conditions"], json!({"task_types": ["deploy", "migration"], "resource_patterns": ["dns:*"], "risk_above": 50}));
        assert_eq!(made["expires_at"], "2031-03-25T08:00:00.000000Z");

        let path = format!("/delegations/{}", id(&made));
        let page = own.page(&format!("/delegations?change={}", id(&made))).await;
        holds(
            &page,
            &[
                "Change your delegation",
                "value=\"2031-03-18T15:30\"",
                "value=\"deploy, migration\"",
                "name=\"cascade\" checked",
            ],
        );
        own.taken(&path, &with(&[("version", "1"), ("delegate_to", word(&rob.id)), ("kind", "follow")])).await;
        let changed = get(&hub, &ann.key, &format!("/api/v1{path}")).await;
        assert_eq!((&changed["kind"], &changed["starts_at"], &changed["cascade"]), (&json!("follow"), &Value::Null, &json!(false)));
        assert_eq!(changed["conditions"], json!({}));
        holds(&own.page("/delegations").await, &["goes before", "everything", "no end", "in force"]);

        let seen = other.page("/delegations").await;
        lacks(&seen, &[&format!("{path}/end"), "?change="]);
        lacks(&other.page(&format!("/delegations?change={}", id(&made))).await, &["Change your delegation"]);
        for (path, form) in [(path.clone(), with(&[("version", "2"), ("delegate_to", word(&rob.id))])), (format!("{path}/end"), Vec::new())] {
            let refused = other.fill(&path, &form).await;
            assert_eq!(refused.status.as_u16(), 403, "{}", refused.text());
        }
        let admin = Reader::of(&hub, &hub.admin_key).await;
        holds(&admin.page("/delegations").await, &[&format!("{path}/end")]);
        own.taken(&format!("{path}/end"), &[]).await;
        holds(&own.page("/delegations").await, &["Nobody decides for another"]);
        holds(&own.page("/delegations?view=mine").await, &["ended"]);
        assert_eq!(get(&hub, &ann.key, &format!("/api/v1{path}")).await["active"], false);
    })
    .await;
}

/// What somebody else has said is not ended by one click; one's own is.
#[tokio::test]
async fn ending_anothers_asks_first_and_says_what_comes_of_it() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["reviewer"]).await;
        let rob = somebody(&hub, "rob", &["reviewer"]).await;
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let (own, other) = (Reader::of(&hub, &ann.key).await, Reader::of(&hub, &rob.key).await);
        let transfer = ["goes back to ann", "answered in their place counts no more"];
        let follow = ["no longer recorded as following", "has not answered waits for them"];
        for (kind, said, unsaid) in [("transfer", transfer, follow), ("follow", follow, transfer)] {
            let path =
                format!("/delegations/{}", id(&ann.delegates(&hub, &rob, json!({"kind": kind})).await));
            let ending = format!("{path}/end");
            let rows = admin.page("/delegations").await;
            holds(&rows, &[&format!("<a class=\"btn btn-sm btn-danger\" href=\"{ending}\"")]);
            lacks(&rows, &[&format!("action=\"{ending}\"")]);
            holds(&own.page("/delegations").await, &[&format!("action=\"{ending}\"")]);
            let asks = admin.page(&ending).await;
            holds(&asks, &["End the delegation of ann", &format!("method=\"post\" action=\"{ending}\"")]);
            holds(&asks, &said);
            lacks(&asks, &unsaid);
            let is_active = async || get(&hub, &ann.key, &format!("/api/v1{path}")).await["active"].clone();
            assert_eq!(is_active().await, true, "asking ends nothing");
            let not_theirs = other.page(&ending).await;
            holds(&not_theirs, &["This cannot be ended"]);
            lacks(&not_theirs, &["<form class=\"card-body"]);
            let to = admin.taken(&ending, &[]).await;
            holds(&admin.page(&to).await, &["Ended and on record"]);
            assert_eq!(is_active().await, false);
            holds(&admin.page(&ending).await, &["This cannot be ended"]);
        }
    })
    .await;
}

#[tokio::test]
async fn yours_are_those_you_made_and_not_those_that_name_you() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["reviewer"]).await;
        let rob = somebody(&hub, "rob", &["reviewer"]).await;
        let row = format!("id=\"row-{}\"", id(&ann.delegates(&hub, &rob, json!({})).await));
        let (own, other) = (Reader::of(&hub, &ann.key).await, Reader::of(&hub, &rob.key).await);
        holds(&own.page("/delegations?view=mine").await, &[&row]);
        lacks(&other.page("/delegations?view=mine").await, &[&row]);
        holds(&other.page("/delegations").await, &[&row]);
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_said_where_it_was_typed_and_nothing_is_saved() {
    on_each_engine(async |hub| {
        let ann = somebody(&hub, "ann", &["reviewer"]).await;
        let rob = somebody(&hub, "rob", &["reviewer"]).await;
        let mia = somebody(&hub, "mia", &["author"]).await;
        let own = Reader::of(&hub, &ann.key).await;
        let long = "x".repeat(300);
        let to_rob = ("delegate_to", word(&rob.id));
        for (changes, words) in [
            (vec![], "id=\"delegate_to-bad\">Say who decides."),
            (vec![("delegate_to", word(&mia.id))], "id=\"delegate_to-bad\">Must be an active person"),
            (vec![("delegate_to", word(&ann.id))], "id=\"delegate_to-bad\">Nobody stands in for themselves."),
            (vec![to_rob, ("risk_above", "much")], "id=\"risk_above-bad\">Must be a whole number."),
            (vec![to_rob, ("resource_patterns", "a:b, no colon")], "id=\"resource_patterns-bad\">Number 2"),
            (vec![to_rob, ("expires_at", "2020-01-01T00:00")], "id=\"expires_at-bad\">Must lie ahead."),
            (
                vec![to_rob, ("starts_at", "whenever")],
                "id=\"starts_at-bad\">Must be a date and a time of day.",
            ),
            (vec![to_rob, ("kind", "follow"), ("cascade", "on")], "id=\"cascade-bad\">Following ends with"),
            (vec![to_rob, ("kind", "both")], "id=\"kind-bad\">Is neither of the two."),
            (vec![to_rob, ("task_types", &long)], "id=\"task_types-bad\">Number 1"),
        ] {
            let answer = own.fill("/delegations", &with(&changes)).await;
            assert_eq!(answer.status.as_u16(), 422, "{changes:?} {}", answer.text());
            holds(&answer.text(), &[words, "Nothing was saved."]);
        }
        assert_eq!(all_items(&hub, &ann.key, "/api/v1/delegations").await, Vec::<Value>::new());

        let made = ann
            .delegates(&hub, &rob, json!({"starts_at": "2031-01-01T00:00:00.123456Z", "cascade": true}))
            .await;
        let path = format!("/delegations/{}", id(&made));
        let stale = own.fill(&path, &with(&[("version", "7"), to_rob])).await;
        assert_eq!(stale.status.as_u16(), 422, "{}", stale.text());
        holds(&stale.text(), &["It was changed elsewhere meanwhile"]);
        let circle = Reader::of(&hub, &rob.key).await;
        let answer =
            circle.fill("/delegations", &with(&[("delegate_to", word(&ann.id)), ("cascade", "on")])).await;
        assert_eq!(answer.status.as_u16(), 422, "{}", answer.text());
        holds(&answer.text(), &["in a circle"]);
        // Whoever leaves a time alone does not round it.
        own.taken(
            &path,
            &with(&[("version", "1"), to_rob, ("starts_at", "2031-01-01T00:00"), ("risk_above", "9")]),
        )
        .await;
        let after = get(&hub, &ann.key, &format!("/api/v1{path}")).await;
        assert_eq!((&after["starts_at"], &after["version"]), (&made["starts_at"], &json!(2)));
    })
    .await;
}
