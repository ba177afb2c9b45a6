//! What a program writes, on its way to the hub.

use std::io::Read;
use std::process::{ChildStderr, ChildStdout};
use std::time::Duration;

use client::{ClientError, OutputWriter};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::process_group::GRACE;

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;
/// What is sent at once at most; letters that cannot be read grow threefold.
const SENT_BYTES: usize = 64 * 1024;
/// Pieces that wait while the hub is slow; then the program does.
const PIECES_AHEAD: usize = 16;
/// What is written within this time goes together.
const GATHER: Duration = Duration::from_millis(200);
const RETRY_PAUSE: Duration = Duration::from_secs(1);

const _: () = assert!((SENT_BYTES + READ_BYTES) * 3 <= wire::executions::APPEND_BYTES_MAX);

/// The output of a running program.
pub(super) struct Output {
    sending: JoinSet<()>,
}

impl Output {
    pub(super) fn of(writer: OutputWriter, out: Option<ChildStdout>, err: Option<ChildStderr>) -> Self {
        let (give, pieces) = mpsc::channel(PIECES_AHEAD);
        if let Some(out) = out {
            let give = give.clone();
            tokio::task::spawn_blocking(move || read(out, &give));
        }
        if let Some(err) = err {
            tokio::task::spawn_blocking(move || read(err, &give));
        }
        let mut sending = JoinSet::new();
        sending.spawn(send(pieces, writer));
        Self { sending }
    }

    /// Until all of it is sent. What a program left running behind it writes is not waited for.
    pub(super) async fn finish(&mut self) {
        drop(tokio::time::timeout(GRACE, self.sending.join_next()).await);
        self.sending.abort_all();
    }
}

/// Gives on what is written until the pipe ends, or nobody wants it.
fn read(mut pipe: impl Read, give: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        if give.blocking_send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

async fn send(mut pieces: mpsc::Receiver<Vec<u8>>, mut writer: OutputWriter) {
    let mut text = Text::default();
    while let Some(piece) = pieces.recv().await {
        text.push(&piece);
        tokio::time::sleep(GATHER).await;
        while text.ready.len() < SENT_BYTES
            && let Ok(more) = pieces.try_recv()
        {
            text.push(&more);
        }
        if !write(&mut writer, &std::mem::take(&mut text.ready)).await {
            return;
        }
    }
    write(&mut writer, &text.end()).await;
}

/// Sends it until the hub has it. Whether more will be taken: not when it is too much, or the attempt is over.
async fn write(writer: &mut OutputWriter, text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    loop {
        match writer.write(text).await {
            Ok(()) => return true,
            Err(error @ ClientError::Problem(_)) if !error.passes() => return false,
            Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
        }
    }
}

/// Bytes as text. A letter that is cut in two waits for its other half; what is none, and NUL, which JSON does not
/// carry here, becomes a mark.
#[derive(Default)]
struct Text {
    ready: String,
    cut: Vec<u8>,
}

impl Text {
    fn push(&mut self, bytes: &[u8]) {
        self.cut.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.cut);
        for chunk in bytes.utf8_chunks() {
            self.ready.extend(
                chunk.valid().chars().map(|c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c }),
            );
            let is_last = chunk.invalid().as_ptr_range().end == bytes.as_ptr_range().end;
            if is_last && is_beginning(chunk.invalid()) {
                self.cut = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                self.ready.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// What is left; the second half of a letter will not come any more.
    fn end(mut self) -> String {
        if !self.cut.is_empty() {
            self.ready.push(char::REPLACEMENT_CHARACTER);
        }
        self.ready
    }
}

/// Whether bytes that are no letter could become one.
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in_pieces(bytes: &[u8], size: usize) -> String {
        let mut text = Text::default();
        bytes.chunks(size).for_each(|piece| text.push(piece));
        text.end()
    }

    #[test]
    fn letters_survive_being_cut() {
        let whole = "naïve ☃ 𝄞 end";
        for size in 1..9 {
            assert_eq!(read_in_pieces(whole.as_bytes(), size), whole, "{size}");
        }
    }

    #[test]
    fn what_is_no_text_is_marked() {
        for size in 1..5 {
            assert_eq!(read_in_pieces(b"a\xffb\0c\xe2\x98", size), "a\u{fffd}b\u{fffd}c\u{fffd}", "{size}");
        }
        assert_eq!(read_in_pieces(b"\xe2(", 1), "\u{fffd}(");
        assert_eq!(read_in_pieces(b"", 1), "");
    }
}
