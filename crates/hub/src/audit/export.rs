//! A chain as NDJSON that proves itself offline.

use domain::Timestamp;
use domain::audit::Chain;
use domain::audit::export::ExportWriter;
use domain::audit::seal::SEAL_LEAVES_MAX;
use domain::permissions::Capability;
use records::audit::{checks, seals};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{Caller, Hub, HubError};

const SEALS_AT_ONCE: i64 = 16;
const ROWS_AT_ONCE: i64 = 500;
/// Pages made ahead of a slow reader.
const PAGES_AHEAD: usize = 2;

/// Pieces of the export, as they are made; the reader's speed sets the pace.
pub type Pieces = mpsc::Receiver<Result<String, HubError>>;

/// Starts exporting the caller's organization's chain.
pub fn export(hub: &Hub, caller: &Caller) -> Result<Pieces, HubError> {
    caller.require(Capability::AuditVerify)?;
    let chain = Chain::Organization(caller.credential.organization.id);
    let (sender, pieces) = mpsc::channel(PAGES_AHEAD);
    let hub = hub.clone();
    hub.lifecycle.clone().spawn(async move {
        if let Err(Ended::Failed(error)) = write(&hub, chain, &sender).await {
            // The reader sees an export without its last line, which does not verify.
            drop(sender.send(Err(error)).await);
        }
    });
    Ok(pieces)
}

enum Ended {
    /// Nobody reads any more.
    Unread,
    Failed(HubError),
}

impl<E: Into<HubError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

type Sender = mpsc::Sender<Result<String, HubError>>;

async fn give(hub: &Hub, sender: &Sender, page: String) -> Result<(), Ended> {
    tokio::select! {
        sent = sender.send(Ok(page)) => sent.map_err(|_| Ended::Unread),
        // A slow reader must not keep the hub from stopping.
        () = hub.lifecycle.stopping() => Err(Ended::Unread),
    }
}

async fn write(hub: &Hub, chain: Chain, sender: &Sender) -> Result<(), Ended> {
    let keys = hub.config.keys.verifying_keys();
    let (mut writer, header) = ExportWriter::start(chain, hub.clock.now(), &keys);
    give(hub, sender, header).await?;
    let mut after = 0;
    loop {
        let page = seals::seals_up(&hub.records, chain, after, SEALS_AT_ONCE).await?;
        let Some(last) = page.last() else { break };
        after = i64::try_from(last.number).unwrap_or(i64::MAX);
        for seal in &page {
            let rows = checks::rows_of_seal(&hub.records, chain, seal.id, SEAL_LEAVES_MAX as i64 + 1).await?;
            let mut text = writer.seal(seal);
            rows.iter().for_each(|row| text.push_str(&writer.row(row, Some(seal.number))));
            give(hub, sender, text).await?;
        }
    }
    let mut place = (Timestamp::from_micros(0), Uuid::nil());
    loop {
        let rows = checks::unsealed_rows(&hub.records, chain, place, ROWS_AT_ONCE).await?;
        let Some(last) = rows.last() else { break };
        place = (last.columns.created_at.unwrap_or(place.0), last.id);
        give(hub, sender, rows.iter().map(|row| writer.row(row, None)).collect()).await?;
    }
    give(hub, sender, writer.end()).await
}
