//! What stands before the hunks of one file: its names, its kind of patch.

use super::kind::Kind;
use super::reader::{Reader, Wrapping};
use super::{hunks, names};
use crate::commands::dates::{self, Moment, Zone};

/// Index of what belongs to a side.
pub(super) const OLD: usize = 0;
pub(super) const NEW: usize = 1;
/// The name of `Index:`.
pub(super) const INDEX: usize = 2;

/// What a header says of one of the two files.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// What follows the name.
    pub(super) stamp: String,
    /// Whether the time of the file is that of the epoch, which stands for a file that is missing.
    pub(super) is_epoch: bool,
    /// 0: it exists; 1: perhaps not, or it is empty; 2: it does not.
    pub(super) missing: u8,
    /// Of git, with the bits of the kind of file.
    pub(super) mode: u32,
    pub(super) is_renamed: bool,
    pub(super) is_copied: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) names: [Option<String>; 3],
    pub(super) sides: [Side; 2],
    pub(super) is_git: bool,
    /// The number of the line at which the hunks begin, from 0.
    pub(super) start: usize,
    pub(super) wrapping: Wrapping,
}

impl Header {
    pub(super) fn renames(&self) -> bool {
        self.sides.iter().any(|side| side.is_renamed)
    }

    pub(super) fn copies(&self) -> bool {
        self.sides.iter().any(|side| side.is_copied)
    }
}

/// How headers are read.
pub(super) struct Rules {
    /// Whether the operand names the file, so that no header has to.
    pub(super) has_name: bool,
    /// The kind that an option says.
    pub(super) kind: Option<Kind>,
    /// How many parts of names are dropped; all folders without a number.
    pub(super) strip: Option<usize>,
    pub(super) zone: Zone,
}

struct Scan<'r> {
    rules: &'r Rules,
    names: [Option<String>; 3],
    sides: [Side; 2],
    is_git: bool,
    wrapping: Wrapping,
}

impl Scan<'_> {
    /// Reads the name and the time after `--- ` and the like.
    fn name(&mut self, text: &[u8], slot: usize) {
        let strip = self.rules.strip;
        let (name, rest) = names::in_header(text);
        let side = Side {
            stamp: String::from_utf8_lossy(rest.trim_ascii_end()).into_owned(),
            is_epoch: name.as_deref() == Some("/dev/null") || is_epoch(rest, &self.rules.zone),
            ..Side::default()
        };
        if let Some(slot) = self.names.get_mut(slot) {
            let name = name.filter(|name| name != "/dev/null");
            *slot = name.and_then(|name| names::stripped(&name, strip));
        }
        if let Some(slot) = self.sides.get_mut(slot) {
            slot.stamp = side.stamp;
            slot.is_epoch = side.is_epoch;
        }
    }

    /// Reads a line of a header of git, and returns whether it is one.
    fn git(&mut self, line: &[u8]) -> bool {
        let [old, new] = &mut self.sides;
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(rest) = after("index ") {
            return index_of_git(rest, old, new);
        } else if let Some(mode) = after("old mode ") {
            old.mode = mode_of(mode);
        } else if let Some(mode) = after("new mode ") {
            new.mode = mode_of(mode);
        } else if let Some(mode) = after("deleted file mode ") {
            old.mode = mode_of(mode);
            new.missing = 2;
        } else if let Some(mode) = after("new file mode ") {
            new.mode = mode_of(mode);
            old.missing = 2;
        } else if after("rename from ").is_some() {
            old.is_renamed = true;
        } else if after("rename to ").is_some() {
            new.is_renamed = true;
        } else if after("copy from ").is_some() {
            old.is_copied = true;
        } else if after("copy to ").is_some() {
            new.is_copied = true;
        } else {
            return false;
        }
        true
    }

    fn finish(self, kind: Kind, start: usize) -> Header {
        let Self {
            names,
            sides,
            is_git,
            wrapping,
            ..
        } = self;
        Header {
            kind,
            names,
            sides,
            is_git,
            start,
            wrapping,
        }
    }

    /// Notes which of the files are missing, from `0` in the place of a range.
    fn notes_missing(&mut self, side: usize, range: &[u8]) {
        let is_zero = range.first() == Some(&b'0') && !range.get(1).is_some_and(u8::is_ascii_digit);
        if let (Some(side), true) = (self.sides.get_mut(side), is_zero) {
            side.missing = 1 + u8::from(side.is_epoch);
        }
    }
}

/// Finds the next patch, from the reader's place on. `None` if there is none.
pub(super) fn read(reader: &mut Reader, rules: &Rules) -> Option<Header> {
    let mut scan = Scan {
        rules,
        names: Default::default(),
        sides: Default::default(),
        is_git: false,
        wrapping: Wrapping::default(),
    };
    let is_plain = matches!(rules.kind, Some(Kind::Ed | Kind::Normal));
    let mut needs_header = !rules.has_name && !is_plain;
    let is = |kinds: &[Kind]| rules.kind.is_none_or(|kind| kinds.contains(&kind));
    let (mut has_extended, mut first_command) = (false, None);
    let (mut is_command, mut is_stars, mut indent, mut this_line) = (false, false, 0, reader.at);
    loop {
        let (previous_line, was_command, was_stars, last_indent) =
            (this_line, is_command, is_stars, indent);
        let before = reader.at;
        let Some(line) = reader.line() else {
            if let Some((at, true)) = first_command {
                return Some(scan.finish(Kind::Ed, at));
            }
            return has_extended.then(|| scan.finish(Kind::Unified, before));
        };
        this_line = reader.at - 1;
        let (text, columns) = without_indent(&line);
        indent = columns;
        let strips_return = line.ends_with(b"\r\n");
        is_command = is_normal_command(text);
        let letter = is_ed_command(text);
        if !needs_header && first_command.is_none() && (is_command || letter) {
            first_command = Some((this_line, letter));
            scan.wrapping = Wrapping {
                indent,
                strips_return,
            };
        }
        let after = |prefix: &str| text.strip_prefix(prefix.as_bytes());
        if let (false, Some(name)) = (was_stars, after("*** ")) {
            scan.name(name, OLD);
            needs_header = false;
        } else if let Some(name) = after("+++ ") {
            // As in a context diff, where the new name follows `---`; swapped at the first hunk.
            scan.name(name, OLD);
            needs_header = false;
            scan.wrapping.strips_return = strips_return;
        } else if let Some(name) = after("Index:") {
            scan.name(name, INDEX);
            needs_header = false;
            scan.wrapping.strips_return = strips_return;
        } else if let Some(pair) = after("diff --git ") {
            if has_extended {
                return Some(scan.finish(Kind::Unified, this_line));
            }
            let [old, new] = names::of_git(pair, rules.strip);
            let [old_slot, new_slot, _] = &mut scan.names;
            (*old_slot, *new_slot) = (old, new);
            scan.is_git = true;
            needs_header = false;
        } else if scan.is_git && text.starts_with(b"GIT binary patch") {
            return Some(scan.finish(Kind::GitBinary, this_line));
        } else if scan.is_git && scan.git(text.trim_ascii_end()) {
            has_extended = true;
        } else {
            let mut quoted = text;
            while let Some(rest) = quoted.strip_prefix(b"- ") {
                quoted = rest;
            }
            if let Some(name) = quoted.strip_prefix(b"--- ") {
                scan.name(name, NEW);
                needs_header = false;
                scan.wrapping.strips_return = strips_return;
            }
        }
        if needs_header {
            continue;
        }
        if is(&[Kind::Ed])
            && let (Some((at, _)), b".\n") = (first_command, text)
        {
            return Some(scan.finish(Kind::Ed, at));
        }
        if let (true, Some(ranges)) = (is(&[Kind::Unified]), after("@@ -")) {
            let [old, new] = &mut scan.sides;
            std::mem::swap(&mut old.stamp, &mut new.stamp);
            std::mem::swap(&mut old.is_epoch, &mut new.is_epoch);
            scan.names.swap(OLD, NEW);
            scan.notes_missing(OLD, ranges);
            let new = ranges.iter().position(|byte| *byte == b' ');
            let new = ranges
                .get(new.unwrap_or(ranges.len())..)
                .unwrap_or_default();
            if let Some(range) = new.trim_ascii_start().strip_prefix(b"+") {
                scan.notes_missing(NEW, range);
            }
            scan.wrapping.indent = indent;
            return Some(scan.finish(Kind::Unified, this_line));
        }
        is_stars = text.starts_with(b"********");
        if let (true, true, Some(range)) = (
            is(&[Kind::Context, Kind::NewContext]) && was_stars,
            last_indent == indent,
            after("*** "),
        ) {
            scan.notes_missing(OLD, range);
            scan.wrapping = Wrapping {
                indent,
                strips_return,
            };
            let kind = if text.trim_ascii_end().ends_with(b"*") {
                Kind::NewContext
            } else {
                Kind::Context
            };
            // The file is removed if its first hunk leaves nothing.
            let saved = (reader.at, reader.is_torn);
            reader.at = previous_line;
            if let Ok(Some(hunk)) = hunks::read(reader, kind, scan.wrapping)
                && hunk.new == 0
                && hunk.new_lines().next().is_none()
                && let Some(side) = scan.sides.get_mut(NEW)
            {
                side.missing = 1 + u8::from(side.is_epoch);
            }
            (reader.at, reader.is_torn) = saved;
            return Some(scan.finish(kind, previous_line));
        }
        if is(&[Kind::Normal])
            && was_command
            && (text.starts_with(b"< ") || text.starts_with(b"> "))
        {
            scan.wrapping.indent = indent;
            return Some(scan.finish(Kind::Normal, previous_line));
        }
    }
}

fn without_indent(line: &[u8]) -> (&[u8], usize) {
    let (mut text, mut columns) = (line, 0);
    loop {
        match text.split_first() {
            Some((b'\t', rest)) => {
                columns = (columns + 8) & !7;
                text = rest;
            }
            Some((b' ' | b'X', rest)) => {
                columns += 1;
                text = rest;
            }
            _ => return (text, columns),
        }
    }
}

/// Returns what follows numbers and commas.
fn after_range(text: &[u8]) -> &[u8] {
    let is_range = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
    let end = text.iter().position(|byte| !is_range(byte));
    text.get(end.unwrap_or(text.len())..).unwrap_or_default()
}

/// Whether a line is `1,2c3`.
fn is_normal_command(text: &[u8]) -> bool {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    match after_range(text).split_first() {
        Some((b'a' | b'c' | b'd', rest)) => after_range(rest).trim_ascii().is_empty(),
        _ => false,
    }
}

/// Whether a line is a command of a script for `ed`, as diff writes them.
fn is_ed_command(text: &[u8]) -> bool {
    let rest = after_range(text);
    let has_range = text.first().is_some_and(u8::is_ascii_digit);
    match rest.trim_ascii_end() {
        b"a" | b"c" | b"d" | b"i" => has_range,
        b"s/.//" => true,
        _ => false,
    }
}

/// Reads `1234567..89abcde 100644`, and returns whether it is that.
fn index_of_git(rest: &[u8], old: &mut Side, new: &mut Side) -> bool {
    let text = String::from_utf8_lossy(rest);
    let mut words = text.split_ascii_whitespace();
    let Some((one, other)) = words.next().and_then(|word| word.split_once("..")) else {
        return false;
    };
    let is_hash =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash(one) || !is_hash(other) {
        return false;
    }
    let missing = |hash: &str| {
        if hash.bytes().all(|byte| byte == b'0') {
            2
        } else if EMPTY_BLOB.starts_with(&hash.to_ascii_lowercase()) {
            1
        } else {
            0
        }
    };
    (old.missing, new.missing) = (missing(one), missing(other));
    if let Some(mode) = words.next() {
        let mode = mode_of(mode.as_bytes());
        (old.mode, new.mode) = (mode, mode);
    }
    true
}

/// The name that git has for the content of an empty file.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// Reads a mode of git. 0 if it is none.
fn mode_of(text: &[u8]) -> u32 {
    let text = str::from_utf8(text.trim_ascii()).unwrap_or_default();
    u32::from_str_radix(text, 8).unwrap_or(0)
}

/// Whether a time is the epoch in some time zone.
fn is_epoch(stamp: &[u8], zone: &Zone) -> bool {
    let text = String::from_utf8_lossy(stamp);
    let text = text.trim();
    if !["1969", "1970"].iter().any(|year| text.contains(year)) {
        return false;
    }
    let moment = dates::read(
        text,
        Moment {
            seconds: 0,
            nanos: 0,
        },
        zone,
    );
    moment.is_some_and(|moment| (-25 * 3600 + 1..26 * 3600).contains(&moment.seconds))
}
