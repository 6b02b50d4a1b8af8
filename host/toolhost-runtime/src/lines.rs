//! Lines of a stream, read up to a limited length.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a line for which [`LineMemory`] is not asked.
const SMALL_LINE_BYTES: usize = 64 << 10;

/// Reads lines. A line that is too long is skipped in bounded memory.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    max: usize,
    memory: Option<LineMemory>,
    line: Line,
}

/// Memory that several readers share for their long lines.
#[derive(Debug, Clone)]
pub struct LineMemory {
    /// The shared memory.
    pub permits: Arc<Semaphore>,
    /// Permits that a line of more than 64 KiB takes, until it is dropped.
    pub for_each: u32,
}

/// A line without its line feed.
#[derive(Debug, Default)]
pub struct Line {
    /// The line, or the beginning of one that is too long.
    text: Vec<u8>,
    too_long: bool,
    memory: Option<OwnedSemaphorePermit>,
}

/// A line exceeds the limit of its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line is too long")]
pub struct LineTooLong;

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `max` bytes.
    pub fn new(reader: R, max: usize) -> Self {
        Self {
            reader: BufReader::new(reader),
            max,
            memory: None,
            line: Line::default(),
        }
    }

    /// Waits for shared memory before it reads more than 64 KiB of a line.
    #[must_use]
    pub fn with_memory(mut self, memory: LineMemory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Reads the next line; none at the end, or if the stream fails. A last line without a line feed is
    /// incomplete, and ignored. Cancel safe.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            let read = match self.reader.fill_buf().await {
                Ok(read) if !read.is_empty() => read,
                Ok(_) | Err(_) => return None,
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(read.len());
            if let Some(memory) = &self.memory {
                self.line.take_memory(memory, length).await;
            }
            let part = self.reader.buffer().get(..length).unwrap_or_default();
            let free = self.max.saturating_sub(self.line.text.len());
            self.line.too_long |= part.len() > free;
            let start = part.get(..free.min(part.len())).unwrap_or_default();
            self.line.text.extend_from_slice(start);
            self.reader.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    /// Returns whether the beginning of a line was read, and not yet its end.
    pub fn is_within_line(&self) -> bool {
        !self.line.text.is_empty() || self.line.too_long
    }
}

impl Line {
    /// Returns the bytes of the line.
    ///
    /// # Errors
    /// [`LineTooLong`] if it exceeds the limit of its reader.
    pub fn text(&self) -> Result<&[u8], LineTooLong> {
        if self.too_long {
            Err(LineTooLong)
        } else {
            Ok(&self.text)
        }
    }

    /// Returns the line, or the beginning of one that is too long.
    pub fn beginning(&self) -> &[u8] {
        &self.text
    }

    /// Takes the memory of a long line, if `more` bytes make it one. Cancel safe.
    async fn take_memory(&mut self, memory: &LineMemory, more: usize) {
        if self.memory.is_none() && self.text.len().saturating_add(more) > SMALL_LINE_BYTES {
            let permits = Arc::clone(&memory.permits);
            // It fails only if the semaphore is closed.
            self.memory = permits.acquire_many_owned(memory.for_each).await.ok();
        }
    }

    /// Returns the beginning of the line, escaped for a log.
    pub fn excerpt(&self, bytes_max: usize) -> String {
        let beginning = self.text.get(..bytes_max).unwrap_or(&self.text);
        String::from_utf8_lossy(beginning).escape_debug().collect()
    }
}

/// Whether the `count`th line of a process is logged: the first `all`, then those whose number is a power of
/// two, so that a process cannot fill the log.
pub fn is_logged(count: u64, all: u64) -> bool {
    count <= all || count.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_are_logged_at_powers_of_two() {
        let logged: Vec<u64> = (1..100).filter(|n| is_logged(*n, 3)).collect();
        assert_eq!(logged, [1, 2, 3, 4, 8, 16, 32, 64]);
    }

    /// The next line: its beginning, and whether it is too long.
    async fn next(lines: &mut Lines<&[u8]>) -> Option<(String, bool)> {
        let line = lines.next().await?;
        Some((String::from_utf8(line.text).unwrap(), line.too_long))
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
        let line = |text: &str, too_long| Some((text.to_owned(), too_long));
        let text = format!("one\n\n{}\n12345\n123456\ntwo\nhalf", "x".repeat(100_000));
        let mut lines = Lines::new(text.as_bytes(), 5);
        assert_eq!(next(&mut lines).await, line("one", false));
        assert_eq!(next(&mut lines).await, line("", false));
        assert_eq!(next(&mut lines).await, line("xxxxx", true));
        assert_eq!(next(&mut lines).await, line("12345", false));
        assert_eq!(next(&mut lines).await, line("12345", true));
        assert_eq!(next(&mut lines).await, line("two", false));
        assert!(!lines.is_within_line());
        assert_eq!(next(&mut lines).await, None);
        assert!(lines.is_within_line());
    }

    #[tokio::test]
    async fn a_long_line_waits_for_the_memory_that_readers_share() {
        let permits = Arc::new(Semaphore::new(3));
        let memory = LineMemory {
            permits: Arc::clone(&permits),
            for_each: 2,
        };
        let text = format!("short\n{0}\n{0}\n", "x".repeat(SMALL_LINE_BYTES + 1));
        let mut lines = Lines::new(text.as_bytes(), usize::MAX).with_memory(memory);
        lines.next().await.unwrap();
        assert_eq!(permits.available_permits(), 3);
        let long = lines.next().await.unwrap();
        assert_eq!(permits.available_permits(), 1);
        let mut waiting = Box::pin(lines.next());
        tokio::select! {
            biased;
            _ = waiting.as_mut() => panic!("the line was read without memory for it"),
            () = tokio::task::yield_now() => {}
        }
        drop(long);
        assert_eq!(
            waiting.await.unwrap().text().unwrap().len(),
            SMALL_LINE_BYTES + 1
        );
        assert_eq!(permits.available_permits(), 3);
    }
}
