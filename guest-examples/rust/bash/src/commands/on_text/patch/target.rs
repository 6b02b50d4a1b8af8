//! The file that is patched: where a hunk fits, and what the file is after it.

use crate::commands::call::Failure;
use crate::commands::on_text::diff::hunk::{Hunk, Row};

/// The most comparisons of lines for one file, so that a patch of repeated lines takes no minutes.
const MOST_COMPARISONS: u64 = 200_000_000;

pub(super) struct Target<'a> {
    lines: Vec<&'a [u8]>,
    /// Lines up to here are written, or dropped.
    done: i64,
    /// How far hunks are from where they say that they are.
    pub(super) offset: i64,
    /// How many lines the hunks have added.
    pub(super) added: i64,
    pub(super) out: Vec<u8>,
    ignores_space: bool,
    comparisons: u64,
}

fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl<'a> Target<'a> {
    pub(super) fn new(content: &'a [u8], ignores_space: bool) -> Self {
        Self {
            lines: content.split_inclusive(|byte| *byte == b'\n').collect(),
            done: 0,
            offset: 0,
            added: 0,
            out: Vec::new(),
            ignores_space,
            comparisons: 0,
        }
    }

    /// The first line of a hunk, from 1, as its header says.
    pub(super) fn first(hunk: &Hunk) -> i64 {
        signed(hunk.old) + 1
    }

    /// Finds where a hunk fits if `fuzz` lines of its context may differ: the number of its first line.
    ///
    /// # Errors
    /// There are too many places to compare.
    pub(super) fn locate(&mut self, hunk: &Hunk, fuzz: i64) -> Result<Option<i64>, Failure> {
        let pattern: Vec<&[u8]> = hunk.old_lines().collect();
        let (first, count, length) = (
            Self::first(hunk),
            signed(pattern.len()),
            signed(self.lines.len()),
        );
        let guess = first + self.offset;
        if pattern.is_empty() {
            return Ok(Some(guess));
        }
        let (prefix, suffix) = context(hunk);
        let context = prefix.max(suffix);
        let (mut prefix_fuzz, suffix_fuzz) = (fuzz + prefix - context, fuzz + suffix - context);
        let most = length - (count - suffix_fuzz) + 1;
        let least = self.done + 1;
        let forward = most - guess;
        let mut back = guess - least;
        let farthest = forward.max(back);
        if guess <= back {
            back = guess - 1;
        }
        if prefix_fuzz < 0 && first <= 1 {
            // It fits only the start of the file.
            if suffix_fuzz < 0 && (count != length || prefix < self.done) {
                return Ok(None);
            }
            let offset = 1 - guess;
            let fits = self.done <= prefix
                && offset <= forward
                && self.matches(&pattern, 1, 0, suffix_fuzz)?;
            return Ok(fits.then(|| self.shift(guess, offset)));
        }
        prefix_fuzz = prefix_fuzz.max(0);
        if suffix_fuzz < 0 {
            // It fits only the end of the file.
            let offset = guess - (length - count + 1);
            let fits = offset <= back && self.matches(&pattern, guess - offset, prefix_fuzz, 0)?;
            return Ok(fits.then(|| self.shift(guess, -offset)));
        }
        let mut offset = if forward < 0 {
            guess - most
        } else if back < 0 {
            guess - least
        } else {
            0
        };
        while offset <= farthest {
            if offset <= forward
                && self.matches(&pattern, guess + offset, prefix_fuzz, suffix_fuzz)?
            {
                return Ok(Some(self.shift(guess, offset)));
            }
            if 0 < offset
                && offset <= back
                && self.matches(&pattern, guess - offset, prefix_fuzz, suffix_fuzz)?
            {
                return Ok(Some(self.shift(guess, -offset)));
            }
            offset += 1;
        }
        Ok(None)
    }

    fn shift(&mut self, guess: i64, offset: i64) -> i64 {
        self.offset += offset;
        guess + offset
    }

    fn line(&self, number: i64) -> Option<&'a [u8]> {
        let at = usize::try_from(number - 1).ok()?;
        self.lines.get(at).copied()
    }

    fn matches(
        &mut self,
        pattern: &[&[u8]],
        place: i64,
        prefix_fuzz: i64,
        suffix_fuzz: i64,
    ) -> Result<bool, Failure> {
        let skipped = usize::try_from(prefix_fuzz).unwrap_or(0);
        let end = pattern
            .len()
            .saturating_sub(usize::try_from(suffix_fuzz).unwrap_or(0));
        let compared = pattern.get(skipped..end).unwrap_or_default();
        for (line, number) in compared.iter().zip(place + prefix_fuzz..) {
            self.comparisons += 1;
            if self.comparisons > MOST_COMPARISONS {
                let text = format!(
                    "**** the patch fits in too many places: {MOST_COMPARISONS} comparisons of lines are the most"
                );
                return Err(Failure::new(2, text));
            }
            let Some(own) = self.line(number) else {
                return Ok(false);
            };
            let is_same = own == *line || self.ignores_space && is_similar(line, own);
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the file up to a line. Returns whether that is not written yet.
    fn copy_to(&mut self, end: i64) -> bool {
        if self.done > end {
            return false;
        }
        while self.done < end {
            if let Some(line) = self.line(self.done + 1) {
                self.out.extend_from_slice(line);
            }
            self.done += 1;
        }
        true
    }

    /// Writes a hunk that is at a line. Returns whether it comes after the hunks before.
    pub(super) fn apply(&mut self, hunk: &Hunk, place: i64) -> bool {
        let mut at = place - 1;
        for row in &hunk.rows {
            match *row {
                Row::Same(..) => at += 1,
                Row::Old(_) => {
                    if !self.copy_to(at) {
                        return false;
                    }
                    at += 1;
                    self.done += 1;
                }
                Row::New(line) => {
                    if !self.copy_to(at) {
                        return false;
                    }
                    self.out.extend_from_slice(line);
                }
            }
        }
        let (old, new) = (hunk.old_lines().count(), hunk.new_lines().count());
        self.added += signed(new) - signed(old);
        true
    }

    /// Writes what is left of the file.
    pub(super) fn finish(&mut self) {
        self.copy_to(signed(self.lines.len()));
    }

    /// Whether a hunk and the file at a line end their lines differently.
    pub(super) fn has_other_ends(&self, hunk: &Hunk, place: i64) -> bool {
        let is_crlf = |line: &[u8]| line.ends_with(b"\r\n");
        match (hunk.old_lines().next(), self.line(place)) {
            (Some(line), Some(own)) => is_crlf(line) != is_crlf(own),
            _ => false,
        }
    }
}

/// The lines of context before and after the changes.
pub(super) fn context(hunk: &Hunk) -> (i64, i64) {
    let prefix = hunk.rows.iter().take_while(|row| row.is_same()).count();
    let suffix = hunk
        .rows
        .iter()
        .rev()
        .take_while(|row| row.is_same())
        .count();
    (signed(prefix), signed(suffix))
}

/// Whether two lines differ only in their spaces: those of `line` stand for any.
fn is_similar(line: &[u8], own: &[u8]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut own = own.strip_suffix(b"\n").unwrap_or(own);
    let mut line = line.strip_suffix(b"\n").unwrap_or(line);
    loop {
        if line.first().is_none_or(is_space) {
            let skip = |text: &mut &[u8]| {
                while text.first().is_some_and(is_space) {
                    *text = text.get(1..).unwrap_or_default();
                }
            };
            skip(&mut line);
            if !own.is_empty() {
                if !own.first().is_some_and(is_space) {
                    return false;
                }
                skip(&mut own);
            }
            if own.is_empty() || line.is_empty() {
                return own.len() == line.len();
            }
        } else if own.first() == line.first() {
            own = own.get(1..).unwrap_or_default();
            line = line.get(1..).unwrap_or_default();
        } else {
            return false;
        }
    }
}
