//! Reading a condition that somebody wrote, where it can do no harm.

use std::time::Duration;

use domain::policies::conditions::{Condition, SOURCE_BYTES_MAX};
use domain::text::BadText;
use tokio::sync::oneshot;

use crate::HubError;

/// The parser calls itself for whatever is nested; this is many times what its deepest limit takes.
const STACK_BYTES: usize = 4 * 1024 * 1024;
const READ_WAIT: Duration = Duration::from_secs(2);

/// Refuses a condition that cannot be read. It is read on a thread of its own, so that one the parser cannot cope with
/// costs that thread and nobody's request.
pub(super) async fn check(source: &str) -> Result<(), HubError> {
    let refused = |detail: String| HubError::field("/when", detail);
    if source.len() > SOURCE_BYTES_MAX {
        return Err(refused(format!("must have 1 to {SOURCE_BYTES_MAX} bytes")));
    }
    let (told, answer) = oneshot::channel::<Result<(), BadText>>();
    let source = source.to_owned();
    let read = move || {
        // Nobody listens any more: it took too long.
        drop(told.send(Condition::new(&source).map(drop)));
    };
    let thread = std::thread::Builder::new().name("condition".into()).stack_size(STACK_BYTES).spawn(read);
    thread.map_err(|_| refused("could not be read just now; try again".into()))?;
    match tokio::time::timeout(READ_WAIT, answer).await {
        Ok(Ok(read)) => read.map_err(|bad| refused(bad.to_string())),
        // The thread panicked, or is still at it.
        Ok(Err(_)) | Err(_) => Err(refused("is too tangled to be read; say it more simply".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_cannot_be_read_is_refused_by_its_field() {
        assert!(check("risk.score > 50").await.is_ok());
        for bad in ["", "risk.score >", &"(".repeat(1024), &"x".repeat(1025), &"!".repeat(1 << 16)] {
            let Err(HubError::Invalid(errors)) = check(bad).await else { panic!("{} bytes", bad.len()) };
            assert_eq!(errors[0].pointer, "/when");
        }
    }
}
