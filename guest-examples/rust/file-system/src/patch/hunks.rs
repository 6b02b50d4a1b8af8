//! Finds the places of hunks in the lines of a file: exactly, or not at all.

use serde::Serialize;

use super::format::{Hunk, Kind};
use crate::nearest::nearest;
use crate::replace::quote;

/// Places that are listed, and looked for.
const LISTED_MAX: usize = 10;

/// Where a hunk was applied.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Place {
    /// Number of its first line in the file before the patch, from 1.
    pub(crate) line: usize,
    /// Lines between there and where the patch says, if that is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<i64>,
}

/// Why a hunk has no place.
#[derive(Debug, PartialEq)]
pub(crate) struct Miss {
    /// Its index.
    pub(crate) hunk: usize,
    pub(crate) is_ambiguous: bool,
    pub(crate) reason: String,
}

/// Applies hunks in their order, each behind the one before it.
pub(crate) fn apply<'a>(
    lines: &[&'a str],
    hunks: &'a [Hunk],
) -> Result<(Vec<&'a str>, Vec<Place>), Miss> {
    let mut result: Vec<&str> = Vec::with_capacity(lines.len());
    let mut places = Vec::with_capacity(hunks.len());
    let mut copied = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let place = Search {
            lines,
            hunk,
            from: copied,
        }
        .place();
        let at = place.map_err(|(is_ambiguous, reason)| Miss {
            hunk: index,
            is_ambiguous,
            reason,
        })?;
        result.extend(lines.get(copied..at).unwrap_or_default());
        copied = at;
        for line in &hunk.lines {
            match line.kind {
                Kind::Context => {
                    result.extend(lines.get(copied));
                    copied += 1;
                }
                Kind::Remove => copied += 1,
                Kind::Add => result.push(line.text.as_str()),
            }
        }
        let said = hunk.hint.map_or(at, |hint| hint.saturating_sub(1));
        places.push(Place {
            line: at + 1,
            offset: (said != at).then_some(at as i64 - said as i64),
        });
    }
    result.extend(lines.get(copied..).unwrap_or_default());
    Ok((result, places))
}

/// The search for one hunk.
struct Search<'a> {
    lines: &'a [&'a str],
    hunk: &'a Hunk,
    /// Index of the first line that it may have.
    from: usize,
}

/// Whether there are several places, and what is wrong.
type Reason = (bool, String);

impl Search<'_> {
    fn place(&self) -> Result<usize, Reason> {
        let old = self.hunk.old();
        let from = self.after_anchors()?;
        let has_anchors = !self.hunk.anchors.is_empty();
        if old.is_empty() {
            return match self.lines.len() {
                0 => Ok(0),
                _ if has_anchors => Ok(from),
                end if self.hunk.is_at_end => Ok(end),
                _ => Err((
                    false,
                    "it only adds lines, and no line of context says where".into(),
                )),
            };
        }
        let places: Vec<_> = places(self.lines, &old, from).collect();
        if self.hunk.is_at_end {
            let end = self.lines.len().checked_sub(old.len());
            return match (places.last(), end) {
                (Some(last), Some(end)) if *last == end => Ok(end),
                (Some(last), _) => Err((
                    false,
                    format!(
                        "its lines are at line {}, but not at the end of the file",
                        last + 1
                    ),
                )),
                (None, _) => Err((false, self.miss(&old, from))),
            };
        }
        let said = self.hunk.hint.and_then(|hint| hint.checked_sub(1));
        match (said.filter(|said| places.contains(said)), places.as_slice()) {
            (Some(said), _) => Ok(said),
            (None, []) => Err((false, self.miss(&old, from))),
            (None, [place]) => Ok(*place),
            // An anchor says which: the next after it.
            (None, [first, ..]) if has_anchors && said.is_none() => Ok(*first),
            (None, several) => Err((
                true,
                format!(
                    "its lines are at {} places: lines {}",
                    several.len(),
                    numbers(several)
                ),
            )),
        }
    }

    /// Returns the index behind the anchors, each of which must be there once.
    fn after_anchors(&self) -> Result<usize, Reason> {
        let mut from = self.from;
        for anchor in &self.hunk.anchors {
            let find = |same: fn(&str, &str) -> bool| -> Vec<usize> {
                let here = self.lines.iter().enumerate().skip(from);
                here.filter(|(_, line)| same(line, anchor))
                    .map(|(at, _)| at)
                    .collect()
            };
            let mut found = find(|line, anchor| line == anchor);
            if found.is_empty() {
                found = find(|line, anchor| line.trim() == anchor.trim());
            }
            from = match found.as_slice() {
                [at] => at + 1,
                [] => {
                    let nearest = nearest(self.lines, &[anchor]).map_or(String::new(), |it| {
                        let line = self.lines.get(it.at).copied().unwrap_or_default();
                        format!("; the nearest is line {}: {}", it.at + 1, quote(line))
                    });
                    let place = if from == 0 {
                        String::new()
                    } else {
                        format!(" behind line {from}")
                    };
                    return Err((
                        false,
                        format!(
                            "no line of the file{place} is `@@` {}{nearest}",
                            quote(anchor)
                        ),
                    ));
                }
                several => {
                    let numbers = numbers(several);
                    return Err((
                        true,
                        format!(
                            "`@@` {} is at {} places: lines {numbers}",
                            quote(anchor),
                            several.len()
                        ),
                    ));
                }
            };
        }
        Ok(from)
    }

    /// Returns what is known of a place that is not there.
    fn miss(&self, old: &[&str], from: usize) -> String {
        if let Some(at) = places(self.lines, old, 0).next() {
            return format!(
                "its lines are at line {}, before line {}, where the search began",
                at + 1,
                from + 1
            );
        }
        let new = self.hunk.new_lines();
        if let Some(at) = places(self.lines, &new, 0)
            .next()
            .filter(|_| !new.is_empty())
        {
            return format!("what it would make is at line {} already", at + 1);
        }
        // A line that is the same counts more than one that is so but for white space.
        let likeness = |(line, old): (&&str, &&str)| {
            if line.trim().is_empty() {
                0
            } else if line == old {
                4
            } else if line.split_whitespace().eq(old.split_whitespace()) {
                3
            } else {
                0
            }
        };
        let score = |at: usize| -> usize {
            let here = self.lines.iter().skip(at);
            here.zip(old).map(likeness).sum()
        };
        let places = (0..self.lines.len()).rev().map(|at| (score(at), at));
        let at = match places.max_by_key(|it| it.0) {
            Some((score, at)) if score > 0 => Some(at),
            _ => nearest(self.lines, old).map(|it| it.at),
        };
        let Some(at) = at else {
            return "nothing in the file is like its lines".into();
        };
        let mut here = self
            .lines
            .iter()
            .copied()
            .skip(at)
            .chain(std::iter::repeat(""));
        let differs = old.iter().enumerate().find_map(|(index, old)| {
            let line = here.next().unwrap_or_default();
            (line != *old).then_some((index, line, *old))
        });
        let (index, line, old) = differs.unwrap_or_default();
        let number = at + index + 1;
        if number > self.lines.len() {
            return format!(
                "the nearest place is line {}, but the file ends before {}",
                at + 1,
                quote(old)
            );
        }
        format!(
            "the nearest place is line {}, but line {number} of the file is {} and the patch has {}",
            at + 1,
            quote(line),
            quote(old)
        )
    }
}

fn places<'a>(
    lines: &'a [&str],
    wanted: &'a [&str],
    from: usize,
) -> impl Iterator<Item = usize> + 'a {
    let windows = lines
        .get(from..)
        .unwrap_or_default()
        .windows(wanted.len().max(1));
    let found = windows
        .enumerate()
        .filter(move |(_, window)| *window == wanted);
    found.map(move |(at, _)| from + at)
}

fn numbers(places: &[usize]) -> String {
    let shown: Vec<_> = places
        .iter()
        .take(LISTED_MAX)
        .map(|at| (at + 1).to_string())
        .collect();
    let more = if places.len() > LISTED_MAX {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}
