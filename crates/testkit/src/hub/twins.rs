//! Further hubs over the records of one, as further servers would be.

use ::hub::Hub;
use records::Db;

use super::{SCHEMA, TestHub, assemble, serve};

impl TestHub {
    /// Another hub over the same PostgreSQL, as a second server would be. Its background work runs.
    pub async fn twin(&self) -> Hub {
        let twin = self.idle_twin().await;
        twin.start();
        twin
    }

    /// Another hub over the same PostgreSQL that does nothing by itself.
    pub async fn idle_twin(&self) -> Hub {
        let url = self.database_url.as_deref().expect("only PostgreSQL can be shared");
        let records = Db::open_postgres(url, SCHEMA).expect("a pool");
        assemble(records, &self.setup, self.data.path(), &self.clock).await
    }

    /// Serves a twin too; where.
    pub async fn serve(&self, twin: &Hub) -> String {
        format!("http://{}", serve(twin, &self.setup, "127.0.0.1:0").await)
    }
}
