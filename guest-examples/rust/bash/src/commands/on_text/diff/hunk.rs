//! Changes with the lines around them: what `diff` prints and `patch` reads, applies and rejects.

use std::borrow::Cow;

use super::changes::Change;
use super::lines::Compared;
use super::pen::{Pen, Tint};

/// A line with its end; the last of a file may have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::on_text) enum Row<'a> {
    /// In both files, where spaces may differ.
    Same(&'a [u8], &'a [u8]),
    Old(&'a [u8]),
    New(&'a [u8]),
}

impl<'a> Row<'a> {
    pub(in crate::commands::on_text) fn old(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Same(line, _) | Self::Old(line) => Some(line),
            Self::New(_) => None,
        }
    }

    pub(in crate::commands::on_text) fn new(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Same(_, line) | Self::New(line) => Some(line),
            Self::Old(_) => None,
        }
    }

    pub(in crate::commands::on_text) fn is_same(&self) -> bool {
        matches!(self, Self::Same(..))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands::on_text) struct Hunk<'a> {
    /// Lines of the old file before the hunk.
    pub(in crate::commands::on_text) old: usize,
    pub(in crate::commands::on_text) new: usize,
    /// In a run of changes the old lines are first.
    pub(in crate::commands::on_text) rows: Vec<Row<'a>>,
    /// The line that names the function, after a space.
    pub(in crate::commands::on_text) function: Cow<'a, [u8]>,
}

impl<'a> Hunk<'a> {
    pub(in crate::commands::on_text) fn new(old: usize, new: usize, rows: Vec<Row<'a>>) -> Self {
        let mut hunk = Self {
            old,
            new,
            rows,
            function: Cow::Borrowed(b""),
        };
        hunk.order();
        hunk
    }

    pub(in crate::commands::on_text) fn old_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        self.rows.iter().filter_map(Row::old)
    }

    pub(in crate::commands::on_text) fn new_lines(&self) -> impl Iterator<Item = &'a [u8]> {
        self.rows.iter().filter_map(Row::new)
    }

    /// The hunk that leads from the new file to the old one.
    pub(in crate::commands::on_text) fn reversed(&self) -> Self {
        let rows = self.rows.iter().map(|row| match *row {
            Row::Same(old, new) => Row::Same(new, old),
            Row::Old(line) => Row::New(line),
            Row::New(line) => Row::Old(line),
        });
        let mut hunk = Self::new(self.new, self.old, rows.collect());
        hunk.function.clone_from(&self.function);
        hunk
    }

    /// Puts the old lines of each run of changes before the new ones.
    fn order(&mut self) {
        let runs = self
            .rows
            .chunk_by_mut(|one, next| !one.is_same() && !next.is_same());
        for run in runs {
            run.sort_by_key(|row| matches!(row, Row::New(_)));
        }
    }

    pub(in crate::commands::on_text) fn print_unified(&self, out: &mut Vec<u8>, pen: &Pen) {
        let range = |before: usize, count: usize| match count {
            0 => format!("{before},0"),
            1 => (before + 1).to_string(),
            count => format!("{},{count}", before + 1),
        };
        let (old, new) = (
            range(self.old, self.old_lines().count()),
            range(self.new, self.new_lines().count()),
        );
        pen.tinted(out, Tint::Place, format!("@@ -{old} +{new} @@").as_bytes());
        out.extend_from_slice(&self.function);
        out.push(b'\n');
        for row in &self.rows {
            match *row {
                Row::Same(line, _) => pen.row(out, " ", Tint::None, line),
                Row::Old(line) => pen.row(out, "-", Tint::Old, line),
                Row::New(line) => pen.row(out, "+", Tint::New, line),
            }
        }
    }

    pub(in crate::commands::on_text) fn print_context(
        &self,
        out: &mut Vec<u8>,
        pen: &Pen,
        halves: &Halves,
    ) {
        out.extend_from_slice(b"***************");
        out.extend_from_slice(&self.function);
        out.push(b'\n');
        let [stars, dashes] = halves.ends;
        let old: [Half; 3] = ["*** ", stars, "- "];
        let new: [Half; 3] = ["--- ", dashes, "+ "];
        self.print_half(out, pen, halves, old, (self.old, Tint::Old), Row::old);
        self.print_half(out, pen, halves, new, (self.new, Tint::New), Row::new);
    }

    fn print_half(
        &self,
        out: &mut Vec<u8>,
        pen: &Pen,
        halves: &Halves,
        [start, end, sign]: [Half; 3],
        (before, tint): (usize, Tint),
        line: fn(&Row<'a>) -> Option<&'a [u8]>,
    ) {
        let count = self.rows.iter().filter_map(line).count();
        let range = match count {
            0 if halves.has_unchanged => "0".to_owned(),
            0 | 1 => (before + count).to_string(),
            count => format!("{},{}", before + 1, before + count),
        };
        pen.tinted(out, Tint::Place, format!("{start}{range}{end}").as_bytes());
        out.push(b'\n');
        let is_changed = |row: &Row<'a>| !row.is_same() && line(row).is_some();
        if !halves.has_unchanged && !self.rows.iter().any(is_changed) {
            return;
        }
        let runs = self
            .rows
            .chunk_by(|one, next| one.is_same() == next.is_same());
        for run in runs {
            let is_both = run.iter().any(is_changed) && run.iter().any(|row| line(row).is_none());
            let sign = match run.first() {
                Some(Row::Same(..)) => "  ",
                _ if is_both && halves.marks_both => "! ",
                _ => sign,
            };
            for line in run.iter().filter_map(line) {
                pen.row(out, sign, tint, line);
            }
        }
    }
}

type Half = &'static str;

/// How the halves of a hunk in context format are written.
pub(in crate::commands::on_text) struct Halves {
    /// What follows the ranges.
    pub(in crate::commands::on_text) ends: [Half; 2],
    /// Whether a half is written in which nothing is changed.
    pub(in crate::commands::on_text) has_unchanged: bool,
    /// Whether a run that is in both halves has signs of its own.
    pub(in crate::commands::on_text) marks_both: bool,
}

impl Halves {
    /// As `diff` writes them.
    pub(in crate::commands::on_text) const OF_DIFF: Self = Self {
        ends: [" ****", " ----"],
        has_unchanged: false,
        marks_both: true,
    };
}

/// Changes that share their context. Those that are ignored are in a hunk only near others.
pub(super) fn hunks<'a>(
    compared: &'a Compared<'a>,
    context: usize,
) -> impl Iterator<Item = Hunk<'a>> {
    let near = move |one: &Change, next: &Change| {
        let most = if next.is_ignored {
            context
        } else {
            context.saturating_mul(2).saturating_add(1)
        };
        next.from - one.to < most
    };
    let groups = compared.changes.chunk_by(near);
    groups.filter_map(move |changes| {
        let (first, last) = (changes.first()?, changes.last()?);
        if changes.iter().all(|change| change.is_ignored) {
            return None;
        }
        let before = context.min(first.from).min(first.other_from);
        let mut rows = Vec::new();
        let (mut old, mut new) = (first.from - before, first.other_from - before);
        let same = |rows: &mut Vec<Row<'a>>, old: &mut usize, new: &mut usize, end: usize| {
            while *old < end
                && let (Some(one), Some(other)) = (compared.one.get(*old), compared.other.get(*new))
            {
                rows.push(Row::Same(one, other));
                *old += 1;
                *new += 1;
            }
        };
        for change in changes {
            same(&mut rows, &mut old, &mut new, change.from);
            let deleted = compared.one.get(change.from..change.to);
            rows.extend(
                deleted
                    .unwrap_or_default()
                    .iter()
                    .map(|line| Row::Old(line)),
            );
            let inserted = compared.other.get(change.other_from..change.other_to);
            rows.extend(
                inserted
                    .unwrap_or_default()
                    .iter()
                    .map(|line| Row::New(line)),
            );
            (old, new) = (change.to, change.other_to);
        }
        let end = last.to.saturating_add(context).min(compared.one.len());
        same(&mut rows, &mut old, &mut new, end);
        Some(Hunk {
            old: first.from - before,
            new: first.other_from - before,
            rows,
            function: Cow::Borrowed(b""),
        })
    })
}
