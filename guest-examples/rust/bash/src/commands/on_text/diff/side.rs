//! Two texts side by side: `diff -y`.

use super::changes::Change;
use super::lines::Compared;

/// Columns between the halves.
const GUTTER: usize = 3;
const TAB: usize = 8;

#[derive(Clone, Copy)]
pub(super) struct Side {
    half: usize,
    second: usize,
    expands_tabs: bool,
    left_only: bool,
    hides_common: bool,
}

impl Side {
    pub(super) fn new(
        width: usize,
        expands_tabs: bool,
        left_only: bool,
        hides_common: bool,
    ) -> Self {
        let tab = if expands_tabs { 1 } else { TAB };
        let offset = (width + tab + GUTTER) / (2 * tab) * tab;
        let half = offset
            .saturating_sub(GUTTER)
            .min(width.saturating_sub(offset));
        let second = if half > 0 { offset } else { width };
        Self {
            half,
            second,
            expands_tabs,
            left_only,
            hides_common,
        }
    }

    pub(super) fn print(&self, out: &mut Vec<u8>, compared: &Compared) {
        let (mut x, mut y) = (0, 0);
        for change in &compared.changes {
            self.common(out, compared, (x, y), change.from);
            let Change {
                from,
                to,
                other_from,
                other_to,
            } = *change;
            let left = compared.one.get(from..to).unwrap_or_default();
            let right = compared.other.get(other_from..other_to).unwrap_or_default();
            for index in 0..left.len().max(right.len()) {
                let (one, other) = (left.get(index).copied(), right.get(index).copied());
                let separator = match (one, other) {
                    (Some(_), Some(_)) => b'|',
                    (Some(_), None) => b'<',
                    _ => b'>',
                };
                self.line(out, one, separator, other);
            }
            (x, y) = (to, other_to);
        }
        self.common(out, compared, (x, y), compared.one.len());
    }

    fn common(&self, out: &mut Vec<u8>, compared: &Compared, from: (usize, usize), to: usize) {
        if self.hides_common {
            return;
        }
        let left = compared.one.get(from.0..to).unwrap_or_default();
        let right = compared.other.iter().skip(from.1);
        for (one, other) in left.iter().zip(right) {
            if self.left_only {
                self.line(out, Some(one), b'(', None);
            } else {
                self.line(out, Some(one), b' ', Some(other));
            }
        }
    }

    fn line(&self, out: &mut Vec<u8>, left: Option<&[u8]>, separator: u8, right: Option<&[u8]>) {
        let mut column = 0;
        let mut has_end = false;
        if let Some(left) = left {
            has_end |= left.ends_with(b"\n");
            column = self.half_line(out, left, 0);
        }
        if separator != b' ' {
            column = self.tab_to(out, column, (self.half + self.second - 1) / 2) + 1;
            let other_end = right.is_some_and(|right| right.ends_with(b"\n"));
            out.push(match separator {
                b'|' if has_end && !other_end => b'/',
                b'|' if !has_end && other_end => b'\\',
                separator => separator,
            });
        }
        if let Some(right) = right {
            has_end |= right.ends_with(b"\n");
            if !right.starts_with(b"\n") {
                column = self.tab_to(out, column, self.second);
                self.half_line(out, right, column);
            }
        }
        if has_end {
            out.push(b'\n');
        }
    }

    fn tab_to(&self, out: &mut Vec<u8>, mut from: usize, to: usize) -> usize {
        if !self.expands_tabs {
            while (from / TAB + 1) * TAB <= to {
                out.push(b'\t');
                from = (from / TAB + 1) * TAB;
            }
        }
        out.extend(std::iter::repeat_n(b' ', to.saturating_sub(from)));
        to
    }

    /// Writes as much of a line as a half holds, and returns the column after it.
    fn half_line(&self, out: &mut Vec<u8>, line: &[u8], indent: usize) -> usize {
        let (mut read, mut written) = (0, 0);
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let text = String::from_utf8_lossy(content);
        for char in text.chars() {
            if char == '\t' {
                let spaces = TAB - read % TAB;
                if read == written {
                    let stop = (written + spaces).min(self.half);
                    if self.expands_tabs {
                        out.extend(std::iter::repeat_n(b' ', stop - written));
                        written = stop;
                    } else if written + spaces < self.half {
                        written += spaces;
                        out.push(b'\t');
                    }
                }
                read += spaces;
                continue;
            }
            let width = usize::try_from(crate::commands::on_text::width::width(char)).unwrap_or(1);
            read += width;
            if read <= self.half {
                written = read;
                out.extend(char.to_string().bytes());
            }
        }
        indent + written
    }
}
