//! What somebody outside wants of a run.

use std::future::poll_fn;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// Signals that would end the program, each as it is passed on.
pub(super) struct Signals(Vec<(Stream, Signal)>);

impl Signals {
    /// From here on they are heard instead of ending the program, which would leave locks and places in line behind.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let kinds = [
            (SignalKind::interrupt(), Signal::INT),
            (SignalKind::terminate(), Signal::TERM),
            (SignalKind::hangup(), Signal::HUP),
            (SignalKind::quit(), Signal::QUIT),
        ];
        let listen = |(kind, passed): (SignalKind, Signal)| Ok((signal(kind)?, passed));
        kinds.into_iter().map(listen).collect::<anyhow::Result<Vec<_>>>().map(Self)
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let came = |(stream, signal): &mut (Stream, Signal)| {
                stream.poll_recv(context).is_ready().then_some(*signal)
            };
            self.0.iter_mut().find_map(came).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
