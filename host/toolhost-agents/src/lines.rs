//! Lines of a stream: read up to a limited length, and written.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use toolhost_contract::IpcMessage;

use super::Undelivered;

const QUEUE: usize = 64;

/// Reads lines. A line that is too long is skipped in bounded memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    max: usize,
    line: Line,
}

/// A line without its line feed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The line, or the beginning of one that is too long.
    text: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, max: usize) -> Self {
        Self {
            reader: BufReader::new(reader),
            max,
            line: Line::default(),
        }
    }

    /// Reads the next line; none at the end, or if the stream fails. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let read = match self.reader.fill_buf().await {
                Ok(read) if !read.is_empty() => read,
                // A last line without a line feed is incomplete, and ignored.
                Ok(_) | Err(_) => return None,
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            let free = self.max.saturating_sub(self.line.text.len());
            self.line.too_long |= part.len() > free;
            let kept = part.get(..free.min(part.len())).unwrap_or_default();
            self.line.text.extend_from_slice(kept);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }
}

impl Line {
    /// Parses the line as a message; the error is for a log.
    pub(super) fn parse(&self) -> Result<IpcMessage, String> {
        if self.too_long {
            return Err("the line is too long".to_owned());
        }
        IpcMessage::parse(&self.text).map_err(|error| error.to_string())
    }

    /// Returns the beginning of the line, escaped for a log.
    pub(super) fn excerpt(&self, bytes_max: usize) -> String {
        let beginning = self.text.get(..bytes_max).unwrap_or(&self.text);
        String::from_utf8_lossy(beginning).escape_debug().collect()
    }
}

/// Whether the `count`th line of a process is logged: the first `all`, then those whose number is a power of
/// two, so that a process cannot fill the log.
pub(super) fn is_logged(count: u64, all: u64) -> bool {
    count <= all || count.is_power_of_two()
}

/// Writes messages as lines, in a task. The queue ends with `None`.
#[derive(Debug)]
pub(super) struct LineWriter(mpsc::Sender<Option<String>>);

impl LineWriter {
    /// Starts the task in `tasks`. It ends when nobody reads any more, or after [`close`](Self::close).
    pub(super) fn start(
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (queue, mut lines) = mpsc::channel::<Option<String>>(QUEUE);
        tasks.spawn(async move {
            while let Some(Some(line)) = lines.recv().await {
                let written = writer.write_all(line.as_bytes()).await;
                if written.is_err() || writer.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(queue)
    }

    /// Sends a message; waits while the queue is full.
    pub(super) async fn send(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.0.send(Some(line)).await.map_err(gone)
    }

    /// Sends a message if the queue has room for it.
    pub(super) fn try_send(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.0.try_send(Some(line)).map_err(gone)
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Ends the task after the queued lines.
    pub(super) async fn close(&self) {
        // It fails if the task has ended.
        let _ = self.0.send(None).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_are_logged_at_powers_of_two() {
        let logged: Vec<u64> = (1..100).filter(|n| is_logged(*n, 3)).collect();
        assert_eq!(logged, [1, 2, 3, 4, 8, 16, 32, 64]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
        let line = |text: &str, too_long| {
            let text = text.as_bytes().to_vec();
            Some(Line { text, too_long })
        };
        let text = format!("one\n\n{}\n12345\n123456\ntwo\nhalf", "x".repeat(100_000));
        let mut lines = Lines::new(text.as_bytes(), 5);
        assert_eq!(lines.next().await, line("one", false));
        assert_eq!(lines.next().await, line("", false));
        assert_eq!(lines.next().await, line("xxxxx", true));
        assert_eq!(lines.next().await, line("12345", false));
        assert_eq!(lines.next().await, line("12345", true));
        assert_eq!(lines.next().await, line("two", false));
        assert_eq!(lines.next().await, None);
    }
}
