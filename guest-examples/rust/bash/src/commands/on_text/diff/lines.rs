//! Which lines of two texts are the same.

use std::collections::HashMap;

use super::changes::{Change, changes};
use crate::commands::call::Failure;
use crate::commands::on_text::pattern::{Pattern, Reading, Syntax};
use crate::commands::options::Line;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Counts,
    /// Not its amount.
    Change,
    Ignored,
}

pub(in crate::commands::on_text) struct Comparison {
    folds: bool,
    space: Space,
    ignores_trailing: bool,
    expands_tabs: bool,
    strips_return: bool,
    ignores_blank_lines: bool,
    ignored: Option<Pattern>,
}

pub(in crate::commands::on_text) struct Compared<'a> {
    pub(in crate::commands::on_text) one: Vec<&'a [u8]>,
    pub(in crate::commands::on_text) other: Vec<&'a [u8]>,
    pub(in crate::commands::on_text) changes: Vec<Change>,
}

impl<'a> Compared<'a> {
    /// The changes that no option ignores.
    pub(in crate::commands::on_text) fn counted(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.changes.iter().filter(|change| !change.is_ignored)
    }

    pub(in crate::commands::on_text) fn deleted(&self, change: &Change) -> &[&'a [u8]] {
        self.one.get(change.from..change.to).unwrap_or_default()
    }

    pub(in crate::commands::on_text) fn inserted(&self, change: &Change) -> &[&'a [u8]] {
        let range = change.other_from..change.other_to;
        self.other.get(range).unwrap_or_default()
    }
}

impl Comparison {
    pub(in crate::commands::on_text) fn read(line: &Line) -> Result<Self, Failure> {
        let patterns: Vec<String> = line
            .values("ignore-matching-lines")
            .map(str::to_owned)
            .collect();
        let ignored = if patterns.is_empty() {
            None
        } else {
            let pattern = Pattern::new(patterns, Reading::new(Syntax::Basic, true));
            Some(pattern.map_err(|text| Failure::new(2, text))?)
        };
        Ok(Self {
            folds: line.has("ignore-case"),
            space: if line.has("ignore-all-space") {
                Space::Ignored
            } else if line.has("ignore-space-change") {
                Space::Change
            } else {
                Space::Counts
            },
            ignores_trailing: line.has("ignore-trailing-space"),
            expands_tabs: line.has("ignore-tab-expansion"),
            strips_return: line.has("strip-trailing-cr"),
            ignores_blank_lines: line.has("ignore-blank-lines"),
            ignored,
        })
    }

    fn is_exact(&self) -> bool {
        self.space == Space::Counts
            && !(self.folds || self.ignores_trailing || self.expands_tabs || self.strips_return)
    }

    pub(in crate::commands::on_text) fn compare<'a>(
        &self,
        one: &'a [u8],
        other: &'a [u8],
        context: usize,
    ) -> Result<Compared<'a>, Failure> {
        let lines = |text: &'a [u8]| -> Vec<&'a [u8]> {
            text.split_inclusive(|byte| *byte == b'\n').collect()
        };
        let (one, other) = (lines(one), lines(other));
        let mut classes: HashMap<std::borrow::Cow<'a, [u8]>, usize> = HashMap::new();
        let mut class_of = |line: &'a [u8]| {
            let key = if self.is_exact() {
                line.into()
            } else {
                self.key(line).into()
            };
            let next = classes.len();
            *classes.entry(key).or_insert(next)
        };
        // As in GNU's diff, runs of changes do not move into what the files begin and end with, but for the context.
        let same = |(one, other): &(&&[u8], &&[u8])| one == other;
        let prefix = one.iter().zip(&other).take_while(same).count();
        let prefix = prefix.saturating_sub(context);
        let (left, right) = (
            one.get(prefix..).unwrap_or_default(),
            other.get(prefix..).unwrap_or_default(),
        );
        let suffix = left.iter().rev().zip(right.iter().rev());
        let suffix = suffix.take_while(same).count().saturating_sub(context);
        let left = left.get(..left.len() - suffix).unwrap_or_default();
        let right = right.get(..right.len() - suffix).unwrap_or_default();
        let left: Vec<usize> = left.iter().map(|line| class_of(line)).collect();
        let right: Vec<usize> = right.iter().map(|line| class_of(line)).collect();
        let mut changes = changes(&left, &right);
        for change in &mut changes {
            change.from += prefix;
            change.to += prefix;
            change.other_from += prefix;
            change.other_to += prefix;
        }
        if self.ignores_blank_lines || self.ignored.is_some() {
            for change in &mut changes {
                let deleted = one.get(change.from..change.to).unwrap_or_default();
                let inserted = other
                    .get(change.other_from..change.other_to)
                    .unwrap_or_default();
                change.is_ignored = true;
                for line in deleted.iter().chain(inserted) {
                    change.is_ignored = change.is_ignored && self.is_ignored(line)?;
                }
            }
        }
        Ok(Compared {
            one,
            other,
            changes,
        })
    }

    fn is_ignored(&self, line: &[u8]) -> Result<bool, Failure> {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let content = content
            .strip_suffix(b"\r")
            .filter(|_| self.strips_return)
            .unwrap_or(content);
        let is_blank = content.is_empty()
            || content.trim_ascii().is_empty()
                && (self.space != Space::Counts || self.ignores_trailing);
        if self.ignores_blank_lines && is_blank {
            return Ok(true);
        }
        let Some(pattern) = &self.ignored else {
            return Ok(false);
        };
        let wrong = |text| Failure::new(2, text);
        let matcher = pattern.matcher(content).map_err(wrong)?;
        Ok(matcher.start(content, 0).map_err(wrong)?.is_some())
    }

    /// What two lines have in common that count as the same.
    fn key(&self, line: &[u8]) -> Vec<u8> {
        let (mut content, mut has_end) = match line.strip_suffix(b"\n") {
            Some(content) => (content, true),
            None => (line, false),
        };
        if self.strips_return {
            content = content.strip_suffix(b"\r").unwrap_or(content);
        }
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let ignores_end = self.space != Space::Counts || self.ignores_trailing;
        if ignores_end {
            while let Some((last, start)) = content.split_last()
                && is_space(*last)
            {
                content = start;
            }
            has_end = true;
        }
        let (mut key, mut column) = (Vec::new(), 0_usize);
        for byte in content.iter().copied() {
            let byte = if self.folds {
                byte.to_ascii_lowercase()
            } else {
                byte
            };
            match self.space {
                Space::Ignored if is_space(byte) => {}
                Space::Change if is_space(byte) => {
                    if key.last() != Some(&b' ') {
                        key.push(b' ');
                    }
                }
                _ if self.expands_tabs && byte == b'\t' => {
                    let width = 8 - column % 8;
                    key.extend(std::iter::repeat_n(b' ', width));
                    column += width;
                }
                _ => {
                    key.push(byte);
                    column += 1;
                }
            }
        }
        if has_end {
            key.push(b'\n');
        }
        key
    }
}
