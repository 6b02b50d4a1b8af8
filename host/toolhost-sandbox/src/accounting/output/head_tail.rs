//! The beginning and the end of an output stream.

use std::collections::VecDeque;

use toolhost_contract::text::left_out;

/// Keeps the first and the last bytes of a stream, half of the capacity each.
#[derive(Debug)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl HeadTail {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: capacity / 2,
            total: 0,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half - self.head.len();
        let (to_head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(to_head);
        let (_, kept) = rest.split_at(rest.len().saturating_sub(self.half));
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
    }

    /// The bytes of the stream, including those that were not kept.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the kept text, with a mark where bytes were left out.
    pub(crate) fn text(&self) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let mut bytes = self.head.clone();
        if self.total > kept {
            let missing = self.total - kept;
            bytes.extend_from_slice(left_out(missing).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use toolhost_contract::text::{cuts, printable};

    use super::*;

    #[test]
    fn keeps_the_head_and_the_tail_of_a_stream() {
        let mut kept = HeadTail::new(8);
        kept.write(b"abc");
        assert_eq!(kept.text(), "abc");
        kept.write(b"defgh");
        assert_eq!(kept.text(), "abcdefgh");
        kept.write(b"ijklmnop");
        assert_eq!(kept.text(), "abcd\n… 8 bytes left out …\nmnop");
        let around = |text: &str| -> Vec<String> {
            let mark = |at: Range<usize>| {
                let (before, after) = (text.get(..at.start), text.get(at.end..));
                format!("{}|{}", before.unwrap(), after.unwrap())
            };
            cuts(text).into_iter().map(mark).collect()
        };
        assert_eq!(around(&kept.text()), ["abcd|mnop"]);
        let reason = printable(&format!("{}x", kept.text()), 39);
        assert_eq!(
            around(&reason),
            ["abcd\\u{a}… 8 bytes left out …\\u{a}m|", "abcd|m… (cut)"]
        );
        assert_eq!(around("… bytes left out"), [""; 0]);
        assert_eq!(kept.total(), 16);
    }
}
