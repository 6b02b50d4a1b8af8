//! Two texts side by side: `diff -y`.

use super::lines::Compared;

/// Columns between the halves.
const GUTTER: usize = 3;

#[derive(Clone, Copy)]
pub(super) struct Side {
    half: usize,
    second: usize,
    tab: usize,
    expands_tabs: bool,
    left_only: bool,
    hides_common: bool,
}

impl Side {
    pub(super) fn new(
        width: usize,
        tab: usize,
        expands_tabs: bool,
        left_only: bool,
        hides_common: bool,
    ) -> Self {
        let stop = if expands_tabs { 1 } else { tab };
        let offset = (width + stop + GUTTER) / (2 * stop) * stop;
        let half = offset
            .saturating_sub(GUTTER)
            .min(width.saturating_sub(offset));
        let second = if half > 0 { offset } else { width };
        Self {
            half,
            second,
            tab,
            expands_tabs,
            left_only,
            hides_common,
        }
    }

    pub(super) fn print(&self, out: &mut Vec<u8>, compared: &Compared) {
        let (mut x, mut y) = (0, 0);
        for change in compared.counted() {
            self.common(out, compared, (x, y), (change.from, change.other_from));
            let (left, right) = (compared.deleted(change), compared.inserted(change));
            for index in 0..left.len().max(right.len()) {
                let (one, other) = (left.get(index).copied(), right.get(index).copied());
                let separator = match (one, other) {
                    (Some(_), Some(_)) => b'|',
                    (Some(_), None) => b'<',
                    _ => b'>',
                };
                self.line(out, one, separator, other);
            }
            (x, y) = (change.to, change.other_to);
        }
        let end = (compared.one.len(), compared.other.len());
        self.common(out, compared, (x, y), end);
    }

    /// Writes lines that are not changed, or whose changes are ignored.
    fn common(
        &self,
        out: &mut Vec<u8>,
        compared: &Compared,
        from: (usize, usize),
        to: (usize, usize),
    ) {
        if self.hides_common {
            return;
        }
        let left = compared.one.get(from.0..to.0).unwrap_or_default();
        let right = compared.other.get(from.1..to.1).unwrap_or_default();
        for index in 0..left.len().max(right.len()) {
            match (left.get(index), right.get(index)) {
                (Some(one), Some(_)) if self.left_only => self.line(out, Some(one), b'(', None),
                (Some(one), Some(other)) => self.line(out, Some(one), b' ', Some(other)),
                (Some(one), None) => self.line(out, Some(one), b'(', None),
                (None, other) => self.line(out, None, b')', other.copied()),
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
            while (from / self.tab + 1) * self.tab <= to {
                out.push(b'\t');
                from = (from / self.tab + 1) * self.tab;
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
                let spaces = self.tab - read % self.tab;
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
