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
        for (path, status) in [
            ("/login", 200),
            ("/login/once", 404),
            ("/login/device", 200),
            ("/tasks/nope", 404),
            ("/nowhere", 404),
            ("/tasks/nowhere/at/all", 404),
        ] {
            for (theme, word) in [("; theme=dark", " data-theme=\"dark\""), ("; theme=x\"y", ""), ("", "")] {
                let request = hub.request("GET", path).header("accept", "text/html");
                let page = expect(request.header("cookie", format!("{bob}{theme}")), status).await.text();
                assert!(page.contains(&format!("<html lang=\"en\"{word}>")), "{path}{theme}: {page}");
                assert!(page.contains("class=\"gate\""), "{path}: {page}");
                assert!(!page.contains("openapi.json"), "that is for programs: {page}");
            }
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
