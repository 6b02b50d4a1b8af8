//! Lines of a stream, of limited length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Reads lines. A line that is too long is skipped in bounded memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    max: usize,
    line: Vec<u8>,
    too_long: bool,
}

/// A line without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// The beginning of a line that exceeds the limit.
    TooLong(Vec<u8>),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, max: usize) -> Self {
        Self {
            reader: BufReader::new(reader),
            max,
            line: Vec::new(),
            too_long: false,
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
            let free = self.max.saturating_sub(self.line.len());
            self.too_long |= part.len() > free;
            let kept = part.get(..free.min(part.len())).unwrap_or_default();
            self.line.extend_from_slice(kept);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let too_long = std::mem::take(&mut self.too_long);
                return Some(if too_long {
                    Line::TooLong(line)
                } else {
                    Line::Whole(line)
                });
            }
        }
    }
}

/// Whether the `count`th line of a process is logged: the first `all`, then those whose number is a power of
/// two, so that a process cannot fill the log.
pub(super) fn is_logged(count: u64, all: u64) -> bool {
    count <= all || count.is_power_of_two()
}

/// Returns the beginning of a text, escaped for a log.
pub(super) fn excerpt(text: &[u8], bytes_max: usize) -> String {
    let beginning = text.get(..bytes_max.min(text.len())).unwrap_or_default();
    String::from_utf8_lossy(beginning).escape_debug().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ever_fewer_lines_are_logged() {
        let logged: Vec<u64> = (1..100).filter(|n| is_logged(*n, 3)).collect();
        assert_eq!(logged, [1, 2, 3, 4, 8, 16, 32, 64]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
        let whole = |text: &str| Some(Line::Whole(text.as_bytes().to_vec()));
        let text = format!("one\n\n{}\n12345\n123456\ntwo\nhalf", "x".repeat(100_000));
        let mut lines = Lines::new(text.as_bytes(), 5);
        assert_eq!(lines.next().await, whole("one"));
        assert_eq!(lines.next().await, whole(""));
        assert_eq!(lines.next().await, Some(Line::TooLong(b"xxxxx".to_vec())));
        assert_eq!(lines.next().await, whole("12345"));
        assert_eq!(lines.next().await, Some(Line::TooLong(b"12345".to_vec())));
        assert_eq!(lines.next().await, whole("two"));
        assert_eq!(lines.next().await, None);
    }
}
