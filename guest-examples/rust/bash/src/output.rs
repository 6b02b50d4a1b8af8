//! The result of a run, with bounded output.

use serde::Serialize;

/// The most bytes that are kept of stdout, and of stderr: even if each becomes `\u0001` in
/// JSON, both are below the 1 MiB that the host lets a result have.
const KEPT: usize = 64 << 10;

/// How many of them are from the beginning.
const HEAD: usize = 48 << 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: i32,
    /// Whether the run reached its time limit; `exitCode` is then 124, as of `timeout`.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) timed_out: bool,
    /// Whether parts of stdout or stderr are left out; a note marks the place.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) truncated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A stream of bytes of which the beginning and the end are kept.
#[derive(Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: usize,
}

impl Kept {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = HEAD - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        let most = KEPT - HEAD;
        // Twice as much before it is cut, so that many short pieces are not moved each time.
        if self.tail.len() > 2 * most {
            self.cut(most);
        }
    }

    fn cut(&mut self, most: usize) {
        let surplus = self.tail.len().saturating_sub(most);
        self.tail.drain(..surplus);
        self.left_out += surplus;
    }

    /// The text, and whether something is left out.
    pub(crate) fn into_text(mut self) -> (String, bool) {
        self.cut(KEPT - HEAD);
        if self.left_out == 0 {
            self.head.append(&mut self.tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), false);
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        let text = format!(
            "{head}\n[… {} bytes left out: write to a file, then read parts of it …]\n{tail}",
            self.left_out
        );
        (text, true)
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD, KEPT, Kept};

    #[test]
    fn keeps_the_beginning_and_the_end() {
        let mut kept = Kept::default();
        kept.push(b"short");
        assert_eq!(kept.into_text(), ("short".to_owned(), false));

        let mut kept = Kept::default();
        for _ in 0..KEPT {
            kept.push(b"ab");
        }
        kept.push(b"end");
        let (text, truncated) = kept.into_text();
        assert!(truncated && text.ends_with("end") && text.starts_with("abab"));
        let left_out = 2 * KEPT + 3 - KEPT;
        assert!(text.contains(&format!("{left_out} bytes left out")));
        assert!(text.len() < KEPT + 100 && text.len() > HEAD);
    }
}
