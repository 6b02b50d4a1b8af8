//! The lines of a patch.

use std::borrow::Cow;

/// Reads a patch by lines. Lines that begin with `#` are comments.
pub(super) struct Reader<'a> {
    lines: Vec<&'a [u8]>,
    /// The number of the next line, from 0.
    pub(super) at: usize,
    /// Whether the last line was asked for, and has no end.
    pub(super) is_torn: bool,
}

/// How the lines of hunks differ from those of a patch by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrapping {
    /// Columns before each line.
    pub(super) indent: usize,
    /// Whether lines end with CR and LF, of which the first belongs to the message, not to the files.
    pub(super) strips_return: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            lines: text.split_inclusive(|byte| *byte == b'\n').collect(),
            at: 0,
            is_torn: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.lines.len()
    }

    /// The next line with its end.
    pub(super) fn line(&mut self) -> Option<Cow<'a, [u8]>> {
        self.unwrapped(Wrapping::default())
    }

    pub(super) fn unwrapped(&mut self, wrapping: Wrapping) -> Option<Cow<'a, [u8]>> {
        loop {
            let mut line = *self.lines.get(self.at)?;
            if !line.ends_with(b"\n") {
                // As GNU's patch does, which then takes lines of context for chopped off.
                self.at = self.lines.len();
                self.is_torn = true;
                return None;
            }
            self.at += 1;
            let mut columns = 0;
            while columns < wrapping.indent {
                match line.split_first() {
                    Some((b' ' | b'X', rest)) => {
                        columns += 1;
                        line = rest;
                    }
                    Some((b'\t', rest)) => {
                        columns = (columns + 8) & !7;
                        line = rest;
                    }
                    _ => break,
                }
            }
            if line.starts_with(b"#") {
                continue;
            }
            if wrapping.strips_return
                && let Some(content) = line.strip_suffix(b"\r\n")
            {
                return Some(Cow::Owned([content, b"\n"].concat()));
            }
            return Some(Cow::Borrowed(line));
        }
    }

    /// Whether the next line says that the one before it has no end; it is read then.
    pub(super) fn takes_no_end(&mut self) -> bool {
        let mut next = self.lines.get(self.at).copied().unwrap_or_default();
        while let Some((b' ' | b'X' | b'\t', rest)) = next.split_first() {
            next = rest;
        }
        let is = next.starts_with(b"\\");
        self.at += usize::from(is);
        is
    }
}
