//! What people are told, as scripts meet it: the page about it.

use crate::support::{Home, Kind, assert_page_is_true, mint};

/// The page about notifications says what works: its commands are run as they stand there.
#[tokio::test]
async fn the_page_about_notifications_is_true() {
    let home = Home::on(Kind::Sqlite);
    let served = home.serve().await;
    let made = ["account", "create", "ann@example.org", "--name", "Ann", "--role", "author"];
    home.as_admin(&served, &made).done();
    let first = home.as_admin(&served, &["key", "mint", "first", "--account", "ann@example.org"]).done();
    // What an admin minted counts as that admin, who then is not asked.
    let own = mint(&served.client(first.trim()), "own").await;
    let given = [("HUB", served.url.as_str()), ("KEY", served.admin_key()), ("AUTHOR", own.secret.as_str())];
    assert_page_is_true("notifications.md", 9, &given);
    served.stop();
}
