//! Sending several statements before the first answer is awaited.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio_postgres::Error;

/// A statement on its way; what it returns does not matter, only whether it failed.
pub(super) type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Polls all in their order until all are done, so that they reach the server in that order.
///
/// All answers are evaluated: the first error is the cause, the later ones only say that the transaction is
/// aborted, and COMMIT then answers ROLLBACK without an error of its own. (`try_join_all` keeps the order only
/// for up to 30 futures.)
///
/// An error that is not the server's means that the statement may never have reached it: then nothing behind it
/// is sent, or a COMMIT would keep the unit without that statement.
pub(super) async fn in_order<T>(
    mut sent: Vec<Sent<'_>>,
    last: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut results: Vec<Option<Result<(), Error>>> = sent.iter().map(|_| None).collect();
    let mut last = pin!(last);
    let mut last_result = None;
    poll_fn(|context| {
        let mut pending = false;
        for (future, result) in sent.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(Err(error)) if error.as_db_error().is_none() => {
                        return Poll::Ready(Err(error));
                    }
                    Poll::Ready(answer) => *result = Some(answer),
                    Poll::Pending => pending = true,
                }
            }
        }
        if last_result.is_none() {
            match last.as_mut().poll(context) {
                Poll::Ready(answer) => last_result = Some(answer),
                Poll::Pending => pending = true,
            }
        }
        match (pending, last_result.take()) {
            (false, Some(answer)) => {
                let failed = results.iter_mut().find_map(|result| match result.take() {
                    Some(Err(error)) => Some(error),
                    _ => None,
                });
                Poll::Ready(failed.map_or(answer, Err))
            }
            (_, answer) => {
                last_result = answer;
                Poll::Pending
            }
        }
    })
    .await
}
