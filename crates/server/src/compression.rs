//! Answers made smaller for those who say that they can read them so.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, HeaderValue, VARY};
use futures_util::TryFutureExt as _;
use tower::Service;
use tower_http::CompressionLevel;
use tower_http::compression::predicate::{And, NotForContentType, Predicate, SizeAbove};
use tower_http::compression::{Compression, CompressionLayer};

use crate::frame::Answering;

/// Answers smaller than this are not worth compressing.
const COMPRESSED_FROM_BYTES: u64 = 1024;
/// A page is made for one reader and read once: what its compression costs is paid each time.
const COMPRESSED_HOW: CompressionLevel = CompressionLevel::Fastest;

type Worth = And<SizeAbove, NotForContentType>;

/// Which answers are worth it. A stream that is compressed waits until there is enough to compress.
fn worth() -> Worth {
    SizeAbove::new(COMPRESSED_FROM_BYTES).and(NotForContentType::SSE)
}

/// A service whose answers are compressed where it is asked for. Most programs do not ask, and get them as they are.
#[derive(Clone)]
pub(crate) struct Compressed<S> {
    plain: S,
    compressing: Compression<S, Worth>,
}

impl<S: Clone> Compressed<S> {
    pub(crate) fn new(plain: S) -> Self {
        use tower::Layer as _;
        let compressing = CompressionLayer::new()
            .gzip(true)
            .quality(COMPRESSED_HOW)
            .compress_when(worth())
            .layer(plain.clone());
        Self { plain, compressing }
    }
}

impl<S> Service<Request> for Compressed<S>
where
    S: Service<Request, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.plain.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Answering {
        match request.headers().contains_key(ACCEPT_ENCODING) {
            true => Box::pin(self.compressing.call(request).map_ok(|response| response.map(Body::new))),
            false => Box::pin(self.plain.call(request)),
        }
    }
}

/// Says of an answer that goes out as it is that others may get it otherwise: whoever keeps it for them must know.
pub(crate) fn mark_varying(response: &mut Response<Body>) {
    let headers = response.headers();
    if !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_RANGE)
        && worth().should_compress(response)
    {
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}
