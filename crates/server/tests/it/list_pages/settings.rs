//! Settings: whoever belongs here.

use testkit::on_each_engine;

use super::{Reader, holds, lacks};

/// The accounts of the page; who has a key is named elsewhere on it too.
async fn accounts(reader: &Reader<'_>, path: &str) -> String {
    let page = reader.page(path).await;
    let accounts = page.split("id=\"accounts\"").nth(1).unwrap();
    accounts.split("id=\"api-keys\"").next().unwrap().to_owned()
}

/// However many accounts there are, each is found on the page.
#[tokio::test]
async fn accounts_are_paged_and_searched() {
    on_each_engine(async |hub| {
        for number in 10..40 {
            hub.member(&hub.admin_key, &format!("worker{number}")).await;
        }
        let admin = Reader::of(&hub, &hub.admin_key).await;
        let first = accounts(&admin, "/settings").await;
        lacks(&first, &["worker39@", "GET /api/v1/accounts"]);
        let more = first.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
        let to = more.split('"').next().unwrap().replace("&#38;", "&").replace("#accounts", "");
        let second = accounts(&admin, &to).await;
        holds(&second, &["worker39@", "href=\"/settings#accounts\">"]);
        lacks(&second, &["worker10@", "rel=\"next\""]);
        let found = accounts(&admin, "/settings?who=worker39").await;
        holds(&found, &["worker39@", "value=\"worker39\"", ">Everybody</a>"]);
        lacks(&found, &["worker38@"]);
        holds(&admin.page("/settings?who=nobody").await, &["Nobody here is called that."]);
        assert_eq!(admin.look("/settings?cursor=nonsense").await.status.as_u16(), 422);
    })
    .await;
}
