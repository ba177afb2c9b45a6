//! Policies and settings.

use serde_json::json;
use testkit::on_each_engine;

use super::{Reader, holds, lacks, post};
use crate::reviews::{person, submitted};
use crate::support::{all_items, get, id};

const FORM: [(&str, &str); 11] = [
    ("version", ""),
    ("name", "Production databases"),
    ("task_types", "infrastructure"),
    ("resource_patterns", "database:prod-*"),
    ("risk_threshold", "0"),
    ("when", ""),
    ("min_approvers", "1"),
    ("required_roles", "reviewer"),
    ("reject_on", "any"),
    ("timeout_hours", "4"),
    ("on_timeout", "deny"),
];

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    FORM.into_iter()
        .map(|(name, value)| {
            let changed = changes.iter().find(|(changed, _)| *changed == name);
            (name, changed.map_or(value, |(_, value)| *value))
        })
        .collect()
}

#[tokio::test]
async fn policies_are_made_changed_explained_and_tried() {
    on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let to = admin.taken("/policies", &with(&[])).await;
        let page = admin.page(&to).await;
        holds(&page, &["Production databases", "v1 in force", "1 of reviewer", "Save as v2", "Saved and on record"]);
        let policies = all_items(&hub, &hub.admin_key, "/api/v1/policies").await;
        let made = policies.iter().find(|policy| policy["name"] == "Production databases").unwrap();
        assert_eq!((&made["timeout_seconds"], &made["resource_patterns"]), (&json!(14400), &json!(["database:prod-*"])));
        let path = format!("/policies/{}", id(made));
        for (changes, words) in [
            ([("version", "1"), ("risk_threshold", "many")], "whole number"),
            ([("version", "1"), ("timeout_hours", "soon")], "number of hours"),
            ([("version", "1"), ("when", "not (valid")], "Nothing was saved"),
            ([("version", "7"), ("when", "")], "Somebody changed the policy"),
        ] {
            let answer = admin.fill(&path, &with(&changes)).await;
            assert_eq!(answer.status.as_u16(), 422, "{}", answer.text());
            holds(&answer.text(), &[words]);
        }
        admin.taken(&path, &with(&[("version", "1"), ("min_approvers", "2")])).await;
        assert_eq!(get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await["min_approvers"], 2);
        admin.taken(&path, &with(&[("version", "2"), ("min_approvers", "1")])).await;
        let (ann, rob) = (person(&hub, "ann", &["author"]).await, person(&hub, "rob", &["reviewer"]).await);
        let task = submitted(&hub, &ann).await;
        let member = Reader::of(&hub, &rob).await;
        let page = member.page(&format!("/policies?task={}", id(&task))).await;
        holds(&page, &["Production databases v3", "applies", "Asked: 1 person.", ">Reachable."]);
        lacks(&page, &["name=\"min_approvers\""]);
        let config = json!({"type": "infrastructure", "description": "x", "resources": [{"type": "database", "id": "prod-1", "mode": "exclusive"}]});
        let tried = Reader::of(&hub, &ann).await.fill("/policies/simulate", &[("config", &config.to_string())]).await;
        assert_eq!(tried.status.as_u16(), 200, "{}", tried.text());
        holds(&tried.text(), &["Production databases v3", "Reviewing", "rob"]);
        holds(&tried.text(), &["Not by itself: the organization lets no task pass by itself"]);
        lacks(&tried.text(), &["Not asked:", "auto_approve_low_risk"]);
        // Whom the policy means and does not ask is named, with the reason.
        let sam = person(&hub, "sam", &["author", "reviewer"]).await;
        let own = Reader::of(&hub, &sam).await.fill("/policies/simulate", &[("config", &config.to_string())]).await;
        holds(&own.text(), &["<b>Not asked:</b> sam@default.example, because they had a hand in the task."]);
        let before = all_items(&hub, &ann, "/api/v1/tasks").await.len();
        assert_eq!(before, 1, "nothing was proposed");
        assert_eq!(get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await["active"], true);
        taken_out_of_force(&admin, &member, &path).await;
        assert_eq!(get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await["active"], false);
        let default = policies.iter().find(|policy| policy["is_default"] == true).unwrap();
        let page = admin.page(&format!("/policies/{}/deactivate", id(default))).await;
        holds(&page, &["This cannot be taken out of force"]);
    })
    .await;
}

/// It is asked first what no longer applies, and told afterwards what was done.
async fn taken_out_of_force(admin: &Reader<'_>, member: &Reader<'_>, path: &str) {
    let shown = admin.page(&path.replace("/policies/", "/policies?policy=")).await;
    lacks(&shown, &[&format!("action=\"{path}/deactivate\"")]);
    holds(&shown, &[&format!("href=\"{path}/deactivate\"")]);
    let asked = admin.page(&format!("{path}/deactivate")).await;
    holds(
        &asked,
        &[
            "What no longer applies",
            "It asked for 1 of reviewer.",
            "default stands in: 1 of reviewer or admin.",
        ],
    );
    holds(&asked, &[&format!("method=\"post\" action=\"{path}/deactivate\"")]);
    assert_eq!(member.look(&format!("{path}/deactivate")).await.status.as_u16(), 403);
    assert_eq!(member.fill(&format!("{path}/deactivate"), &[]).await.status.as_u16(), 403);
    let to = admin.taken(&format!("{path}/deactivate"), &[]).await;
    let page = admin.page(&to).await;
    holds(&page, &["Taken out of force", "not in force"]);
    lacks(&page, &["Saved and on record"]);
    holds(&admin.page(&format!("{path}/deactivate")).await, &["This cannot be taken out of force"]);
}

/// What is wrong is said at the field, and with what was typed still in it.
#[tokio::test]
async fn what_is_wrong_with_a_policy_is_said_at_its_field() {
    on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        for (field, typed, words) in [
            ("required_roles", "", "Somebody must be able to decide: name a role or a reviewer."),
            ("min_approvers", "0", "Must be 1 to"),
            ("min_approvers", "two", "Must be a whole number."),
            ("risk_threshold", "101", "Must be "),
            ("when", "not (valid", "Is not a CEL expression"),
            ("timeout_hours", "soon", "Must be a number of hours, or nothing."),
            ("on_timeout", "wait", "Must be one of the answers."),
        ] {
            let answer = admin.fill("/policies", &with(&[(field, typed)])).await;
            assert_eq!(answer.status.as_u16(), 422, "{field} {}", answer.text());
            let marked = format!("aria-invalid=\"true\" aria-describedby=\"{field}-bad\"");
            let said = format!("<small class=\"bad\" id=\"{field}-bad\">{words}");
            holds(&answer.text(), &[&marked, &said, "One field is not right. Nothing was saved."]);
            assert_eq!(answer.text().matches("aria-invalid").count(), 1, "{}", answer.text());
        }
    })
    .await;
}

/// The form says all it has a field for, an empty field takes away, and what has no field stays as it is.
#[tokio::test]
async fn every_field_of_a_policy_is_saved_and_the_rest_stays() {
    on_each_engine(async |hub| {
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await["account"]["id"].clone();
        let said = json!({"name": "Databases", "required_roles": ["reviewer"], "reviewers": [me],
            "escalate_to": [[me]], "admins_count": true, "following_counts": true, "allow_service_reviewers": true,
            "auto_approve_if": {"risk_below": 20, "author_has_role": ["author"], "resources_in_scope": ["stage-*"]}});
        let mut expected = post(&hub, &hub.admin_key, "/api/v1/policies", &said).await;
        let path = format!("/policies/{}", id(&expected));
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let typed = [
            ("version", "1"),
            ("name", "Names"),
            ("task_types", "deploy, migration"),
            ("resource_patterns", "dns:*, database:prod-*"),
            ("risk_threshold", "25"),
            ("when", "config.priority > 10"),
            ("min_approvers", "2"),
            ("required_roles", "dba, admin"),
            ("reject_on", "unreachable"),
            ("timeout_hours", "0.5"),
            ("on_timeout", "park"),
        ];
        let emptied = [("version", "2"), ("task_types", ""), ("resource_patterns", ""), ("timeout_hours", "")];
        let whole = json!({"name": "Names", "task_types": ["deploy", "migration"],
            "resource_patterns": ["dns:*", "database:prod-*"], "risk_threshold": 25, "when": "config.priority > 10",
            "min_approvers": 2, "required_roles": ["dba", "admin"], "reject_on": "unreachable",
            "timeout_seconds": 1800, "on_timeout": "park", "version": 2});
        let blank = json!({"name": "Production databases", "task_types": [], "resource_patterns": [],
            "risk_threshold": 0, "when": null, "min_approvers": 1, "required_roles": ["reviewer"],
            "reject_on": "any", "timeout_seconds": null, "on_timeout": "deny", "version": 3});
        for (form, changed) in [(with(&typed), whole), (with(&emptied), blank)] {
            admin.taken(&path, &form).await;
            let now = get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await;
            for (name, value) in changed.as_object().unwrap() {
                expected[name] = value.clone();
            }
            expected["updated_at"] = now["updated_at"].clone();
            assert_eq!(now, expected);
        }
    })
    .await;
}

/// What the form has no field for decides too: whoever saves it reads it beside the form, with names, and keeps it.
#[tokio::test]
async fn everything_that_decides_is_said_to_whoever_saves_it() {
    on_each_engine(async |hub| {
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await["account"].clone();
        let (rob, mia) = (person(&hub, "rob", &["reviewer"]).await, hub.member(&hub.admin_key, "mia").await);
        let rob = get(&hub, &rob, "/api/v1/me").await["account"].clone();
        let said = json!({"name": "Mixed", "task_types": ["mixed"], "required_roles": ["dba"], "reviewers": [rob["id"]],
            "admins_count": false, "following_counts": true, "allow_service_reviewers": true,
            "hours": {"time_zone": "Europe/Berlin", "windows": [{"days": ["mon", "fri"], "from": "22:00", "to": "06:00"}]},
            "escalate_to": [[me["id"]], [rob["id"], me["id"]]],
            "auto_approve_if": {"risk_below": 40, "author_has_role": ["author"], "resources_in_scope": ["stage:*"]}});
        let made = post(&hub, &hub.admin_key, "/api/v1/policies", &said).await;
        let path = format!("/policies/{}", id(&made));
        let page = format!("/policies?policy={}", id(&made));
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let name = me["display_name"].as_str().unwrap();
        let levels = format!("<dd>first {name}; then rob@default.example, {name}</dd>");
        let whole = [
            "1 of dba, or by name rob@default.example; can pass unsigned below risk 40",
            "<dt>People who sign, by name</dt><dd>rob@default.example</dd>",
            "<dd>only Mon, Fri 22:00 to 06:00 of the next day, as it is in Europe/Berlin</dd>",
            "<dt>Admins</dt><dd>count only if the policy names them",
            "<dd>counts as one more signature</dd>",
            "<dt>Agents and services</dt><dd>may sign like people</dd>",
            levels.as_str(),
            "below risk 40, if the author holds author and everything it touches is like stage:*.",
            "1 can let tasks pass unsigned",
        ];
        let shown = admin.page(&page).await;
        holds(&shown, &whole);
        holds(&shown, &["kept as it is when you save", "name=\"required_roles\""]);
        let members = Reader::of(&hub, &mia).await.page(&page).await;
        holds(&members, &whole);
        lacks(&members, &["kept as it is"]);
        admin.taken(&path, &with(&[("version", "1"), ("required_roles", "")])).await;
        let kept = get(&hub, &hub.admin_key, &format!("/api/v1{path}")).await;
        for field in ["reviewers", "admins_count", "following_counts", "allow_service_reviewers", "hours",
            "escalate_to", "auto_approve_if"] {
            assert_eq!(kept[field], made[field], "{field}");
        }
        assert_eq!((&kept["version"], &kept["required_roles"]), (&json!(2), &json!([])));
        holds(&admin.page(&page).await, &["1 of rob@default.example; can pass unsigned below risk 40"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_typed_is_held_against_the_past_and_not_saved() {
    on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        admin.taken("/policies", &with(&[])).await;
        let policies = all_items(&hub, &hub.admin_key, "/api/v1/policies").await;
        let made = policies.iter().find(|policy| policy["name"] == "Production databases").unwrap();
        let (ann, _) = (person(&hub, "ann", &["author"]).await, person(&hub, "rob", &["reviewer"]).await);
        let task = submitted(&hub, &ann).await;
        let path = format!("/policies/{}/backtest", id(made));
        let page = admin.page(&format!("/policies?policy={}", id(made))).await;
        holds(&page, &["Backtest 30 days", &format!("formaction=\"{path}#backtest\"")]);
        let tried = admin.fill(&path, &with(&[("version", "1"), ("min_approvers", "2")])).await;
        assert_eq!(tried.status.as_u16(), 200, "{}", tried.text());
        holds(
            &tried.text(),
            &[
                "What v2 would have changed",
                "Last 30 days, 1 task",
                "<td>Would have been unreachable</td><td class=\"right\">0</td><td class=\"right\">1</td>\
                 <td class=\"right warn\">+1</td>",
                "unreachable: 2 of 1 (Production databases)",
                &format!("/tasks/{}", id(&task)),
                "name=\"min_approvers\" type=\"number\" min=\"1\" value=\"2\"",
            ],
        );
        assert_eq!(&get(&hub, &hub.admin_key, &format!("/api/v1/policies/{}", id(made))).await, made);
        // Nobody to ask at all is the same thing, and is called the same.
        let nobody = admin.fill(&path, &with(&[("version", "1"), ("required_roles", "ghosts")])).await;
        let unreachable =
            "<td>Would have been unreachable</td><td class=\"right\">0</td><td class=\"right\">1</td>";
        holds(&nobody.text(), &[unreachable, "unreachable: 1 of 0 (Production databases)"]);
        lacks(&nobody.text(), &["obody to ask"]);
        let same = admin.fill(&path, &with(&[("version", "1")])).await;
        holds(&same.text(), &["No task would have been treated differently."]);
        let wrong = admin.fill(&path, &with(&[("version", "1"), ("when", "not (valid")])).await;
        assert_eq!(wrong.status.as_u16(), 422, "{}", wrong.text());
        holds(&wrong.text(), &["id=\"when-bad\">Is not a CEL expression", "Nothing was saved"]);
        let member = Reader::of(&hub, &ann).await;
        assert_eq!(member.fill(&path, &with(&[])).await.status.as_u16(), 403);
    })
    .await;
}

#[tokio::test]
async fn settings_show_each_what_is_theirs() {
    on_each_engine(async |hub| {
        let mia = hub.member(&hub.admin_key, "mia").await;
        let hook = json!({"url": "https://hooks.example/a", "types": ["task:*"]});
        post(&hub, &hub.admin_key, "/api/v1/webhooks", &hook).await;
        let (admin, member) = (Reader::of(&hub, &hub.admin_key).await, Reader::of(&hub, &mia).await);
        let page = admin.page("/settings").await;
        holds(
            &page,
            &["https://hooks.example/a", "lock:max_ttl", "feature:batch_approvals", "mia", "Working"],
        );
        let hers = member.page("/settings").await;
        holds(
            &hers,
            &[
                "Webhooks are shown to admins",
                "What the organization has set is shown to admins",
                "yours, and those of your agents",
            ],
        );
        lacks(&hers, &["hooks.example", "name=\"value\"", "lock:max_ttl"]);
        let own = get(&hub, &mia, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        let theirs = get(&hub, &hub.admin_key, "/api/v1/me").await["key_id"].as_str().unwrap().to_owned();
        holds(&hers, &[&format!("id=\"key-{own}\"")]);
        lacks(&hers, &[&format!("id=\"key-{theirs}\"")]);
        holds(&page, &[&format!("id=\"key-{own}\""), &format!("id=\"key-{theirs}\"")]);
        let set = |value: &'static str| [("name", "lock:max_ttl"), ("value", value)];
        admin.taken("/settings", &set("7200")).await;
        assert_eq!(get(&hub, &hub.admin_key, "/api/v1/settings").await["lock:max_ttl"], 7200);
        for wrong in ["nope", "-1", "[1]"] {
            let answer = admin.fill("/settings", &set(wrong)).await;
            assert_eq!(answer.status.as_u16(), 422, "{wrong} {}", answer.text());
            let marked = format!("value=\"{wrong}\" placeholder=\"the default\" aria-labelledby=\"set-12-title\" aria-invalid=\"true\"");
            holds(&answer.text(), &["Nothing was saved", &marked, "aria-describedby=\"set-12-bad\""]);
        }
        assert_eq!(member.fill("/settings", &set("60")).await.status.as_u16(), 403);
        assert_eq!(get(&hub, &hub.admin_key, "/api/v1/settings").await["lock:max_ttl"], 7200);
    })
    .await;
}

/// What a setting means stands before what it is called on the wire, and times are said as people say them.
#[tokio::test]
async fn settings_are_said_in_words_and_kept_exactly() {
    on_each_engine(async |hub| {
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let page = admin.page("/settings").await;
        for (title, name, value) in [
            ("Answer within", "approval:default_timeout", "48 h"),
            ("Lock lifetime", "lock:default_ttl", "30 s"),
            ("An approval is good for", "approval:validity", "7 days"),
            ("Risk levels", "risk:thresholds", "25, 50, 75"),
        ] {
            holds(&page, &[&format!(">{title}</b> <code class=\"muted wrap-any\">{name}</code>")]);
            holds(&page, &[&format!("name=\"value\" value=\"{value}\"")]);
        }
        let me = get(&hub, &hub.admin_key, "/api/v1/me").await["account"].clone();
        let me_id = me["id"].as_str().unwrap().to_owned();
        for (name, typed, kept) in [
            ("approval:default_timeout", "1 h 1 min 40 s", json!(3700)),
            ("lock:max_ttl", "7200", json!(7200)),
            ("risk:thresholds", "30, 60, 90", json!([30, 60, 90])),
            ("approval:on_call", me_id.as_str(), json!([me_id])),
        ] {
            admin.taken("/settings", &[("name", name), ("value", typed)]).await;
            assert_eq!(get(&hub, &hub.admin_key, "/api/v1/settings").await[name], kept, "{typed}");
        }
        let page = admin.page("/settings").await;
        holds(&page, &["value=\"1 h 1 min 40 s\"", "value=\"2 h\"", "value=\"30, 60, 90\""]);
        let on_call = page.split("Who is told at every escalation.").nth(1).unwrap();
        assert!(on_call.split("</small>").next().unwrap().contains("class=\"who\""), "{page}");
    })
    .await;
}
