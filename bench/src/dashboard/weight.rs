//! How much goes over the wire until the first page is there, with everything it refers to.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{closing, fetched};
use crate::figures::{Bar, Figure, Row};
use crate::http::{Request, Target};
use crate::progress;
use crate::review::team::Bearer;

const KILOBYTES_MAX: f64 = 60.0;
/// As browsers ask.
const COMPRESSED: &str = "accept-encoding: gzip\r\n";
/// How a page names what belongs to it.
const REFERENCES: [&str; 3] = ["href=\"/assets/", "src=\"/assets/", "url(/assets/"];

pub(super) async fn measure(hub: Target, login: &Bearer) -> Result<Vec<Row>> {
    progress("  what the first page weighs");
    let plain = fetched(hub, &Request::get("/", &closing(login))).await?;
    let assets = referred(&String::from_utf8_lossy(&plain));
    anyhow::ensure!(assets.iter().any(|path| path.contains(".css")), "no stylesheet among {assets:?}");
    let as_browser = closing(&format!("{login}{COMPRESSED}"));
    let page = fetched(hub, &Request::get("/", &as_browser)).await?.len();
    let mut all = page;
    for path in &assets {
        all += fetched(hub, &Request::get(path, &as_browser)).await?.len();
    }
    let kilobytes = |bytes: usize| Figure::of([bytes as f64 / 1e3]);
    Ok(vec![
        Row::new(
            format!("inbox and the {} files it refers to, heads too: kB", assets.len()),
            kilobytes(all),
            1,
        )
        .with_bar(Bar::AtMost(KILOBYTES_MAX)),
        Row::new("of these the page itself: kB", kilobytes(page), 1),
    ])
}

/// The paths of a page's parts; a part of one file, after `#`, is that file.
fn referred(page: &str) -> BTreeSet<String> {
    let of = |mark: &'static str| {
        page.match_indices(mark).map(move |(at, _)| {
            let path = &page[at + mark.len() - "/assets/".len()..];
            path.split(['"', ')', '#']).next().unwrap_or_default().to_owned()
        })
    };
    REFERENCES.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_parts() {
        let page = "<link href=\"/assets/a.css\"><use href=\"/assets/i.svg#x\"><use href=\"/assets/i.svg#y\">\
                    <script src=\"/assets/a.js\"></script><a href=\"/tasks\">";
        let found: Vec<String> = referred(page).into_iter().collect();
        assert_eq!(found, ["/assets/a.css", "/assets/a.js", "/assets/i.svg"]);
    }
}
