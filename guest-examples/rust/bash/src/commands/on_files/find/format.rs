//! `-printf` and `-ls`.

use std::io;
use std::time::SystemTime;

use bashkit::FileType;

use super::super::modes::letters;
use super::super::names::{escape_of, folder};
use super::super::sizes::allocated;
use super::super::stat::{USER, USER_ID};
use super::entry::Entry;
use super::expression::Time;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{self, Moment, Zone};

/// Files whose time is within half a year have the time of the day in `-ls`.
const RECENT_SECONDS: u64 = 31_556_952 / 2;

/// # Errors
/// A format ends in `%`.
pub(super) fn check(format: &str) -> Result<(), Failure> {
    let percents = format.len() - format.trim_end_matches('%').len();
    if percents % 2 == 1 {
        return Err(Failure::new(1, "error: % at end of format string"));
    }
    Ok(())
}

/// What a walk writes with.
pub(super) struct Printer {
    pub(super) zone: Zone,
    pub(super) now: SystemTime,
}

impl Printer {
    /// Writes an entry by a format.
    pub(super) fn format(
        &self,
        format: &str,
        entry: &Entry,
        call: &mut Call,
    ) -> io::Result<String> {
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find(['%', '\\']) {
            let (plain, special) = rest.split_at(at);
            text.push_str(plain);
            let after = special.get(1..).unwrap_or_default();
            if special.starts_with('\\') {
                match after.chars().next() {
                    Some('c') => return Ok(text),
                    Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '0'..='7') => {
                        let (char, length) = escape_of(after);
                        text.push(char);
                        rest = after.get(length..).unwrap_or_default();
                    }
                    other => {
                        if let Some(other) = other {
                            call.complain(format_args!("warning: unrecognized escape `\\{other}'"));
                        }
                        text.push('\\');
                        rest = after;
                    }
                }
                continue;
            }
            rest = self.directive(after, entry, call, &mut text)?;
        }
        text.push_str(rest);
        Ok(text)
    }

    /// Writes the directive whose `%` is read; returns what follows it.
    fn directive<'f>(
        &self,
        format: &'f str,
        entry: &Entry,
        call: &mut Call,
        text: &mut String,
    ) -> io::Result<&'f str> {
        let digits = |text: &str| {
            text.find(|char: char| !char.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let flags = format
            .find(|char| !"-+ #0".contains(char))
            .unwrap_or(format.len());
        let (flags, rest) = format.split_at(flags);
        let (width, mut rest) = rest.split_at(digits(rest));
        let mut precision = usize::MAX;
        if let Some(after) = rest.strip_prefix('.') {
            let (number, after) = after.split_at(digits(after));
            precision = number.parse().unwrap_or(0);
            rest = after;
        }
        let mut chars = rest.chars();
        let letter = chars.next();
        let time = match letter {
            Some('A' | 'C' | 'T') => chars.next(),
            _ => None,
        };
        let value = match (letter, time) {
            (Some('%'), _) => Some("%".to_owned()),
            (Some(letter), Some(kind)) => self.time(letter, kind, entry, call)?,
            (Some(letter), None) => self.value(letter, flags.contains('#'), entry, call)?,
            (None, _) => None,
        };
        let after = chars.as_str();
        let Some(value) = value else {
            // It is written as it is.
            let length = format.len() - after.len();
            let directive = format.get(..length).unwrap_or_default();
            call.complain(format_args!(
                "warning: unrecognized format directive `%{directive}'"
            ));
            text.push('%');
            text.push_str(directive);
            return Ok(after);
        };
        let is_number = matches!(
            letter,
            Some('m' | 's' | 'd' | 'i' | 'n' | 'k' | 'b' | 'G' | 'U' | 'D')
        );
        let value: String = if is_number {
            value
        } else {
            value.chars().take(precision).collect()
        };
        let width = width.parse().unwrap_or(0).min(4096);
        text.push_str(&if flags.contains('-') {
            format!("{value:<width$}")
        } else if flags.contains('0') && letter == Some('m') {
            format!("{value:0>width$}")
        } else {
            format!("{value:>width$}")
        });
        Ok(after)
    }

    fn value(
        &self,
        letter: char,
        is_alternate: bool,
        entry: &Entry,
        call: &Call,
    ) -> io::Result<Option<String>> {
        let root = entry.shown.get(..entry.root).unwrap_or_default();
        Ok(Some(match letter {
            'a' => self.long(Time::Accessed, entry, call)?,
            'c' => self.long(Time::Changed, entry, call)?,
            't' => self.long(Time::Modified, entry, call)?,
            'b' => (blocks(entry, call)? * 2).to_string(),
            'k' => blocks(entry, call)?.to_string(),
            'd' => entry.depth.to_string(),
            'D' => entry.status(call)?.device.to_string(),
            'f' => last(&entry.shown).to_owned(),
            'F' => "workdir".to_owned(),
            'g' | 'u' => USER.to_owned(),
            'G' | 'U' => USER_ID.to_string(),
            'h' => match &*entry.shown {
                "/" => String::new(),
                shown => match folder(shown) {
                    "/" => String::new(),
                    folder => folder.to_owned(),
                },
            },
            'H' => root.to_owned(),
            'i' => entry.status(call)?.inode.to_string(),
            'l' => entry.link_target(call).unwrap_or_default(),
            'm' => {
                let mode = entry.metadata(call)?.mode & 0o7777;
                if is_alternate {
                    format!("{mode:04o}")
                } else {
                    format!("{mode:o}")
                }
            }
            'M' => permissions(entry, call)?,
            'n' => entry.status(call)?.links.to_string(),
            'p' => entry.shown.clone(),
            'P' => {
                let below = entry.shown.get(entry.root..).unwrap_or_default();
                below.strip_prefix('/').unwrap_or(below).to_owned()
            }
            's' => entry.size(call)?.to_string(),
            'S' => sparseness(entry, call)?,
            'y' => kind(entry.kind).to_string(),
            'Y' => match entry.other_kind(call) {
                FileType::Symlink if entry.kind.is_symlink() => "N".to_owned(),
                _ if entry.follows => kind(entry.kind).to_string(),
                other => kind(other).to_string(),
            },
            _ => return Ok(None),
        }))
    }

    /// `Tue Jan  2 03:04:05.0000000000 2024`
    fn long(&self, time: Time, entry: &Entry, call: &Call) -> io::Result<String> {
        let moment = time.of(entry, call)?.into();
        let format = "%a %b %e %H:%M:%S.%N0 %Y";
        Ok(dates::format(format, moment, &self.zone))
    }

    fn time(
        &self,
        letter: char,
        kind: char,
        entry: &Entry,
        call: &Call,
    ) -> io::Result<Option<String>> {
        let time = match letter {
            'A' => Time::Accessed,
            'C' => Time::Changed,
            _ => Time::Modified,
        };
        let moment: Moment = time.of(entry, call)?.into();
        let format = match kind {
            '@' => "%s.%N0",
            '+' => "%Y-%m-%d+%H:%M:%S.%N0",
            'T' | 'X' => "%H:%M:%S.%N0",
            'S' => "%S.%N0",
            kind if "aAbBcCdDeFgGhHIjklmMnprRstuUVwWxyYzZ".contains(kind) => {
                return Ok(Some(dates::format(&format!("%{kind}"), moment, &self.zone)));
            }
            _ => return Ok(None),
        };
        Ok(Some(dates::format(format, moment, &self.zone)))
    }

    /// Writes an entry as `ls -dils` does.
    pub(super) fn list(&self, entry: &Entry, call: &Call) -> io::Result<String> {
        let (metadata, status) = (entry.metadata(call)?, entry.status(call)?);
        let age = self.now.duration_since(metadata.modified);
        let is_recent = age.is_ok_and(|age| age.as_secs() < RECENT_SECONDS);
        let format = if is_recent {
            "%b %e %H:%M"
        } else {
            "%b %e  %Y"
        };
        let date = dates::format(format, metadata.modified.into(), &self.zone);
        let mut text = format!(
            "{:>9} {:>6} {} {:>3} {USER:<8} {USER:<8} {:>8} {date} {}",
            status.inode,
            blocks(entry, call)?,
            permissions(entry, call)?,
            status.links,
            entry.size(call)?,
            entry.shown,
        );
        if let Some(target) = entry.link_target(call) {
            text.push_str(" -> ");
            text.push_str(&target);
        }
        text.push('\n');
        Ok(text)
    }
}

/// The last part of a name with the slash at its end.
fn last(shown: &str) -> &str {
    let trimmed = shown.trim_end_matches('/');
    match trimmed.rfind('/') {
        Some(at) => shown.get(at + 1..).unwrap_or(shown),
        None => shown,
    }
}

/// Blocks of 1 KiB.
fn blocks(entry: &Entry, call: &Call) -> io::Result<u64> {
    if entry.kind.is_symlink() {
        return Ok(0);
    }
    Ok(allocated(entry.size(call)?) / 1024)
}

fn sparseness(entry: &Entry, call: &Call) -> io::Result<String> {
    let size = entry.size(call)?;
    if size == 0 {
        return Ok("1".to_owned());
    }
    #[expect(clippy::cast_precision_loss, reason = "six digits are shown")]
    let ratio = (blocks(entry, call)? * 1024) as f64 / size as f64;
    Ok(six_digits(ratio))
}

/// As `%g` of C.
fn six_digits(value: f64) -> String {
    let before = format!("{value:.0}").len();
    let after = if value < 1.0 {
        6
    } else {
        6_usize.saturating_sub(before)
    };
    let text = format!("{value:.after$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

const fn kind(kind: FileType) -> char {
    match kind {
        FileType::File => 'f',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
    }
}

fn permissions(entry: &Entry, call: &Call) -> io::Result<String> {
    let kind = match entry.kind {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::File | FileType::Fifo => '-',
    };
    Ok(format!("{kind}{}", letters(entry.metadata(call)?.mode)))
}
