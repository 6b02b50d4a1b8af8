//! Splits an output stream into lines as it is written.

use toolhost_contract::text::CUT;

/// The beginning of a line whose end is not written yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// Whether the line is longer than what was kept of it.
    is_cut: bool,
}

impl Lines {
    /// Takes bytes of the stream, and returns the lines that they complete, as one text. Keeps at most
    /// `line_max` bytes of a line that has no end yet.
    pub(super) fn push(&mut self, bytes: &[u8], line_max: usize) -> Option<String> {
        let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.keep(bytes, line_max);
            return None;
        };
        let (complete, rest) = bytes.split_at(last + 1);
        let text = self.end(complete);
        self.keep(rest, line_max);
        Some(text)
    }

    /// Returns the line that has no end.
    pub(super) fn take(&mut self) -> String {
        self.end(&[])
    }

    /// Ends the line that was begun with these bytes.
    fn end(&mut self, bytes: &[u8]) -> String {
        let mut text = std::mem::take(&mut self.begun);
        let mut rest = bytes;
        if std::mem::take(&mut self.is_cut) {
            text.extend_from_slice(CUT.as_bytes());
            let end = bytes.iter().position(|byte| *byte == b'\n');
            rest = end.and_then(|end| bytes.get(end..)).unwrap_or_default();
        }
        text.extend_from_slice(rest);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn keep(&mut self, bytes: &[u8], line_max: usize) {
        let room = line_max.saturating_sub(self.begun.len());
        self.is_cut |= bytes.len() > room;
        self.begun
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_lines_once_they_are_complete() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"on", 80), None);
        assert_eq!(
            lines.push("e\ntwo\n가".as_bytes(), 80).unwrap(),
            "one\ntwo\n"
        );
        // A character in two writes.
        let (begun, ended) = "나".as_bytes().split_at(1);
        assert_eq!(lines.push(begun, 80), None);
        assert_eq!(lines.push(ended, 80), None);
        assert_eq!(lines.take(), "가나");
        assert_eq!(lines.take(), "");
    }

    #[test]
    fn keeps_the_beginning_of_a_line_without_an_end() {
        let mut lines = Lines::default();
        for _ in 0..1_000 {
            assert_eq!(lines.push(&[b'x'; 1_000], 4), None);
        }
        assert!(lines.begun.capacity() < 100);
        assert_eq!(lines.push(b"end\nnext", 4).unwrap(), "xxxx… (cut)\n");
        assert_eq!(lines.take(), "next");
    }
}
