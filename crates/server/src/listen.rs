//! Accepting connections: bounded, timed, and ended in good order.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hub::Hub;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::Service;

use crate::connection::Connection;
use crate::{Peer, telemetry};

/// A connection may be silent this long between requests, and a request's headers may take this long.
const HEADERS_WITHIN: Duration = Duration::from_secs(60);
/// How long requests in flight may take to end once the hub stops.
const DRAINED_WITHIN: Duration = Duration::from_secs(20);
/// When the process has no file left for a connection, another moment may have one.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Serves until the hub stops, then lets requests in flight end.
pub async fn serve(listener: TcpListener, router: Router, hub: &Hub, connections_max: usize) {
    let graceful = GracefulShutdown::new();
    let free = Arc::new(Semaphore::new(connections_max));
    let lifecycle = hub.lifecycle.clone();
    hub.lifecycle.spawn(async move { telemetry::tidy(&lifecycle).await });
    loop {
        let accepted = tokio::select! {
            () = hub.lifecycle.stopping() => break,
            accepted = accept(&listener, &free) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let router = router.clone();
        let connection = Connection::new(permit);
        let ended = connection.clone();
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(connection.clone());
            // It is always ready.
            router.clone().call(request.map(Body::new))
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
        let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let watched = graceful.watch(served.into_owned());
        hub.lifecycle.spawn_connection(async move {
            tokio::select! {
                end = watched => if let Err(error) = end {
                    tracing::debug!("a connection ended badly: {error}");
                },
                () = ended.is_cut() => {}
            }
        });
    }
    drop(listener);
    let drained = async {
        graceful.shutdown().await;
        // Sockets have left their connections, and say goodbye by themselves.
        hub.lifecycle.without_sockets().await;
    };
    if tokio::time::timeout(DRAINED_WITHIN, drained).await.is_err() {
        tracing::warn!("some requests did not end within {} s and were cut off", DRAINED_WITHIN.as_secs());
    }
}

type Accepted = (TcpStream, Peer, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, free: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = Arc::clone(free).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => {
            // Small answers must not wait for an acknowledgement of the last one.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!("a connection cannot be set to no delay: {error}");
            }
            Some((stream, Peer(address), permit))
        }
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            None
        }
    }
}
