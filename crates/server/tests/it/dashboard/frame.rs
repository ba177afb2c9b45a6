//! What stands around every page, and its files.

use testkit::on_each_engine;

use super::{desk, leads, small};
use crate::support::{expect, send};

#[tokio::test]
async fn every_page_says_what_waits_and_how_current_it_is() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let empty = desk.page("/").await;
        assert!(!empty.contains("id=\"count-inbox\""), "{empty}");
        desk.submitted(small("One")).await;
        desk.submitted(small("Two")).await;
        for path in ["/", "/account"] {
            let page = desk.page(path).await;
            assert!(page.contains("id=\"count-inbox\">2<"), "{page}");
            assert!(page.contains("id=\"count-tasks\">2<"), "{page}");
            assert!(page.contains("<small>"), "{page}");
        }
        let page = desk.page("/").await;
        assert!(page.contains("data-live=\"inbox\""), "{page}");
        let seq: i64 = super::attribute(&page, "data-seq").unwrap().parse().unwrap();
        let events = expect(hub.admin("GET", "/api/v1/events?limit=1000"), 200).await.json();
        assert!(seq > 0 && seq <= events["last_seq"].as_i64().unwrap(), "{seq}");
    })
    .await;
}

#[tokio::test]
async fn the_theme_is_the_browsers_and_needs_no_script() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        // The login's browser says `theme=dark`.
        assert!(desk.page("/").await.contains("<html lang=\"en\" data-theme=\"dark\">"));
        let form = |theme: &str, next: &str| {
            vec![("theme".to_owned(), theme.to_owned()), ("next".to_owned(), next.to_owned())]
        };
        let set = desk.post("/account/theme", &form("light", "/tasks")).await;
        assert_eq!(leads(&set), "/tasks");
        assert!(set.header("set-cookie").unwrap().starts_with("theme=light; Path=/;"), "{set:?}");
        let unset = desk.post("/account/theme", &form("system", "//evil.example")).await;
        assert_eq!(leads(&unset), "/");
        assert!(unset.header("set-cookie").unwrap().starts_with("theme=; "), "{unset:?}");
        assert_eq!(desk.post("/account/theme", &form("\"><script>", "/")).await.status.as_u16(), 422);
        let odd = hub.request("GET", "/").header("cookie", format!("theme=x\"y; cs={}", desk.bob.token));
        assert!(expect(odd, 200).await.text().contains("<html lang=\"en\">"));
    })
    .await;
}

/// Before a login, and where something went wrong.
#[tokio::test]
async fn pages_without_a_frame_have_the_theme_too() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let bob = format!("cs={}", desk.bob.token);
        for (path, status, who) in [
            ("/login", 200, bob.as_str()),
            ("/login/once", 404, &bob),
            ("/login/nowhere", 404, &bob),
            ("/login/device", 200, &bob),
            ("/nowhere", 404, "cs=css_nope"),
            ("/tasks/nowhere/at/all", 404, "cs="),
        ] {
            for (theme, word) in [("; theme=dark", " data-theme=\"dark\""), ("; theme=x\"y", ""), ("", "")] {
                let request = hub.request("GET", path).header("accept", "text/html");
                let page = expect(request.header("cookie", format!("{who}{theme}")), status).await.text();
                assert!(page.contains(&format!("<html lang=\"en\"{word}>")), "{path}{theme}: {page}");
                assert!(page.contains("class=\"gate\"") && !page.contains("id=\"nav\""), "{path}: {page}");
                assert!(!page.contains("openapi.json"), "that is for programs: {page}");
            }
        }
    })
    .await;
}

/// Whoever is logged in keeps the way on, whatever went wrong.
#[tokio::test]
async fn what_went_wrong_is_said_within_the_frame() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        desk.submitted(small("One")).await;
        for (method, path, status, section) in [
            ("GET", "/tasks?state=NOPE", 422, "/tasks"),
            ("GET", "/tasks?nope=1", 422, "/tasks"),
            ("GET", "/agents?label=%FF", 422, "/agents"),
            ("GET", "/tasks/nope", 404, "/tasks"),
            ("GET", "/tasks/nowhere/at/all", 404, "/tasks"),
            ("GET", "/policies/simulate", 405, "/policies"),
            ("GET", "/nowhere", 404, ""),
            ("POST", "/account/switch", 415, ""),
        ] {
            let request = hub.request(method, path).header("accept", "text/html");
            let answer = expect(desk.bob.on(request), status).await;
            let page = answer.text();
            for part in ["data-theme=\"dark\"", "id=\"nav\"", "id=\"me-menu\"", "id=\"count-inbox\">1<"] {
                assert!(page.contains(part), "{method} {path}: no {part} in {page}");
            }
            let request_id = answer.header("x-request-id").unwrap();
            assert!(page.contains(&format!("request <code>{request_id}</code>")), "{path}: {page}");
            let extra = if section == "/policies" { " class=\"extra\"" } else { "" };
            let is_marked = page.contains(&format!("href=\"{section}\"{extra} aria-current=\"page\""));
            assert_eq!(is_marked, !section.is_empty(), "{path}: {page}");
            assert!(!page.contains("class=\"gate\"") && !page.contains("openapi.json"), "{path}: {page}");
        }
        let page = expect(desk.bob.on(hub.request("GET", "/tasks?state=NOPE")), 422).await.text();
        assert!(page.contains("<a class=\"btn btn-sm\" href=\"/tasks\">"), "{page}");
        let page = expect(desk.bob.on(hub.request("GET", "/policies/simulate")), 405).await.text();
        assert!(page.contains("href=\"/policies\">To the page with the form"), "{page}");
        let page = expect(desk.bob.on(hub.request("GET", "/?open=zz")), 422).await.text();
        assert!(page.contains("Open is not an id; it may have been cut off."), "{page}");
        let page = expect(desk.bob.on(hub.request("GET", "/locks/release")), 422).await.text();
        assert!(page.contains("Key is missing from this address."), "{page}");
        assert!(page.contains("href=\"/locks\">To the page with the form"), "{page}");
        let key = format!("/agents/{}/key", desk.bob.id);
        let page = expect(desk.bob.on(hub.request("GET", &key)), 405).await.text();
        assert!(page.contains("A key is shown once") && page.contains("Only a form leads here"), "{page}");
        assert!(page.contains(&format!("href=\"/agents?agent={}\">To the agent", desk.bob.id)), "{page}");
        assert!(page.contains(&format!("name=\"next\" value=\"/agents?agent={}\"", desk.bob.id)), "{page}");
        // Where only a form may be sent to, nothing leads back.
        let page = expect(desk.bob.on(hub.request("POST", "/account/switch")), 415).await.text();
        assert!(page.contains("name=\"next\" value=\"/account\""), "{page}");
    })
    .await;
}

/// A key is no login, and programs are answered as programs.
#[tokio::test]
async fn who_is_not_logged_in_gets_the_plain_page() {
    on_each_engine(async |hub| {
        let desk = desk(&hub).await;
        let page = expect(hub.admin("GET", "/nowhere").header("accept", "text/html"), 404).await.text();
        assert!(page.contains("class=\"gate\""), "{page}");
        for path in ["/nowhere", "/api/v1/nowhere", "/api/v1/tasks?state=NOPE"] {
            let answer = send(desk.bob.on(hub.request("GET", path))).await;
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn files_are_kept_for_ever_by_their_version_and_asked_about_without_it() {
    on_each_engine(async |hub| {
        let page = expect(hub.request("GET", "/login"), 200).await.text();
        let rest = page.split_once("href=\"/assets/app.css?v=").unwrap().1;
        let version = rest.split('"').next().unwrap();
        for name in ["app.css", "tokens.css", "icons.svg", "icon.svg"] {
            let file = expect(hub.request("GET", &format!("/assets/{name}?v={version}")), 200).await;
            assert!(file.header("cache-control").unwrap().contains("immutable"), "{name}");
        }
        for path in ["/assets/app.css", "/assets/app.css?v=0"] {
            let file = expect(hub.request("GET", path), 200).await;
            assert_eq!(file.header("cache-control"), Some("no-cache"));
            let tag = file.header("etag").unwrap().to_owned();
            let again = send(hub.request("GET", path).header("if-none-match", tag)).await;
            assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
        }
        let page = hub.request("GET", "/").header("cookie", "cs=css_nope");
        assert_eq!(send(page).await.status.as_u16(), 303);
    })
    .await;
}
