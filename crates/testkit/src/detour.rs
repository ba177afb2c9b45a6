//! A port that leads to another one, which can be exchanged: what a failover does to an address.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

const LOOPBACK: &str = "127.0.0.1";

/// The port. It closes with this.
pub struct Detour {
    port: u16,
    leads_to: watch::Sender<u16>,
    _door: JoinSet<()>,
}

impl Detour {
    /// Leads to a port of this machine.
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.expect("a free port");
        let own = listener.local_addr().expect("its address").port();
        let leads_to = watch::Sender::new(port);
        let mut door = JoinSet::new();
        door.spawn(keep_open(listener, leads_to.subscribe()));
        Self { port: own, leads_to, _door: door }
    }

    /// Where it is.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Leads to another port from now on; whoever is connected is cut off.
    pub fn lead_to(&self, port: u16) {
        self.leads_to.send_replace(port);
    }
}

async fn keep_open(listener: TcpListener, leads_to: watch::Receiver<u16>) {
    let mut guests = JoinSet::new();
    while let Ok((guest, _)) = listener.accept().await {
        guests.spawn(lead(guest, leads_to.clone()));
    }
}

async fn lead(mut guest: TcpStream, mut leads_to: watch::Receiver<u16>) {
    let port = *leads_to.borrow_and_update();
    // Whoever is not let in is told by the end of its own connection.
    let Ok(mut server) = TcpStream::connect((LOOPBACK, port)).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut guest, &mut server) => {}
        _ = leads_to.changed() => {}
    }
}
