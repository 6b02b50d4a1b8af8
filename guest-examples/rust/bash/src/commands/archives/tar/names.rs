//! Names of members: how they are shown, made safe, stripped and transformed.

use crate::commands::on_text::sed::Replacement;

/// A name as messages and listings have it: without control characters.
pub(super) fn shown(name: &[u8], is_utf8: bool) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                '\x07' => text.push_str("\\a"),
                '\x08' => text.push_str("\\b"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\x0b' => text.push_str("\\v"),
                '\x0c' => text.push_str("\\f"),
                '\r' => text.push_str("\\r"),
                char if char.is_control() || !(is_utf8 || char.is_ascii()) => {
                    let mut buffer = [0; 4];
                    octal(char.encode_utf8(&mut buffer).as_bytes(), &mut text);
                }
                char => text.push(char),
            }
        }
        octal(chunk.invalid(), &mut text);
    }
    text
}

fn octal(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        text.push_str(&format!("\\{byte:03o}"));
    }
}

/// What `\n`, `\t` and the like in a name stand for.
pub(super) fn unquoted(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut name = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            name.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let byte = match chars.next() {
            Some('a') => 7,
            Some('b') => 8,
            Some('f') => 12,
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('v') => 11,
            Some('?') => 127,
            Some('\\') | None => b'\\',
            Some(digit @ '0'..='7') => {
                let mut number = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|char| char.to_digit(8)) else {
                        break;
                    };
                    number = number * 8 + digit;
                    chars.next();
                }
                u8::try_from(number & 0xFF).unwrap_or(0)
            }
            Some(other) => {
                name.push(b'\\');
                name.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        name.push(byte);
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// How many bytes at the beginning of a name lead out of the folder: slashes, and all up to the last `..`.
pub(super) fn unsafe_length(name: &[u8]) -> usize {
    let mut end = 0;
    let mut at = 0;
    while at < name.len() {
        let part = name.get(at..).unwrap_or_default();
        let length = part.iter().position(|byte| *byte == b'/');
        if part.get(..length.unwrap_or(part.len())) == Some(b"..") {
            end = at + 2;
        }
        at += length.map_or(part.len(), |length| length + 1);
    }
    let rest = name.get(end..).unwrap_or_default();
    end + rest.iter().take_while(|byte| **byte == b'/').count()
}

/// Whether a part of a name is `..`.
pub(super) fn has_parent(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|part| part == b"..")
}

/// A name without so many parts at its beginning; empty if it has no more.
pub(super) fn stripped(name: &[u8], parts: usize) -> &[u8] {
    let mut rest = name;
    for _ in 0..parts {
        while let Some(next) = rest.strip_prefix(b"/") {
            rest = next;
        }
        let Some(slash) = rest.iter().position(|byte| *byte == b'/') else {
            return b"";
        };
        rest = rest.get(slash + 1..).unwrap_or_default();
    }
    rest
}

/// What a name is the name of: transformations may leave out some.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Member,
    SymbolicLink,
    HardLink,
}

/// An expression of `--transform`.
pub(super) struct Transformation {
    replacement: Replacement,
    of: [bool; 3],
}

impl Transformation {
    /// Reads `s/PATTERN/TEXT/FLAGS`; several are separated by `;`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn read(text: &str, all: &mut Vec<Self>) -> Result<(), String> {
        let mut rest = text;
        let mut of = [true; 3];
        loop {
            if let Some(flags) = rest.strip_prefix("flags=") {
                let (flags, after) = flags.split_once(';').unwrap_or((flags, ""));
                set_scope(flags, &mut of);
                rest = after;
            } else {
                rest = Self::read_one(rest, of, all)?;
            }
            match rest.strip_prefix(';') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(()),
                None => {}
            }
        }
    }

    fn read_one<'t>(
        text: &'t str,
        mut of: [bool; 3],
        all: &mut Vec<Self>,
    ) -> Result<&'t str, String> {
        let invalid = || "Invalid transform expression".to_owned();
        let body = text.strip_prefix('s').ok_or_else(invalid)?;
        let delimiter = body.chars().next().ok_or_else(invalid)?;
        let body = body.get(delimiter.len_utf8()..).unwrap_or_default();
        let (pattern, body) = part(body, delimiter).ok_or_else(invalid)?;
        let (replacement, body) = part(body, delimiter).ok_or_else(invalid)?;
        let end = body.find(';').unwrap_or(body.len());
        let (flags, rest) = body.split_at(end);
        set_scope(flags, &mut of);
        let flags: String = flags
            .chars()
            .filter(|flag| !"rRsShH".contains(*flag))
            .collect();
        all.push(Self {
            replacement: Replacement::new(&pattern, &replacement, &flags)?,
            of,
        });
        Ok(rest)
    }

    fn holds_for(&self, of: Of) -> bool {
        let [members, symbolic, hard] = self.of;
        match of {
            Of::Member => members,
            Of::SymbolicLink => symbolic,
            Of::HardLink => hard,
        }
    }
}

fn set_scope(flags: &str, [members, symbolic, hard]: &mut [bool; 3]) {
    for flag in flags.chars() {
        match flag {
            'r' | 'R' => *members = flag == 'r',
            's' | 'S' => *symbolic = flag == 's',
            'h' | 'H' => *hard = flag == 'h',
            _ => {}
        }
    }
}

/// What is before the next delimiter without a backslash, and what follows it.
fn part(text: &str, delimiter: char) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == delimiter {
            return Some((part, chars.as_str()));
        }
        if char != '\\' {
            part.push(char);
            continue;
        }
        match chars.next() {
            Some(next) if next == delimiter => part.push(next),
            Some(next) => part.extend(['\\', next]),
            None => part.push('\\'),
        }
    }
    None
}

/// What the transformations make of a name.
///
/// # Errors
/// A pattern is too large.
pub(super) fn transformed(all: &[Transformation], name: &[u8], of: Of) -> Result<Vec<u8>, String> {
    let mut name = name.to_vec();
    for transformation in all.iter().filter(|one| one.holds_for(of)) {
        if let Some(changed) = transformation.replacement.apply(&name)? {
            name = changed;
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::{has_parent, shown, stripped, unquoted, unsafe_length};

    #[test]
    fn what_leads_out_of_the_folder_is_cut_off() {
        for (name, rest) in [
            ("a/b", "a/b"),
            ("/a", "a"),
            ("//a", "a"),
            ("../a", "a"),
            ("a/../b", "b"),
            ("a/..", ""),
            ("..", ""),
            ("...", "..."),
            ("..a/b", "..a/b"),
            ("/../../etc/passwd", "etc/passwd"),
        ] {
            let cut = unsafe_length(name.as_bytes());
            assert_eq!(name.get(cut..), Some(rest), "{name}");
        }
        assert!(has_parent(b"a/../b") && has_parent(b"..") && !has_parent(b"a..b/..c"));
    }

    #[test]
    fn parts_are_stripped() {
        for (name, parts, rest) in [
            ("a/b/c", 1, "b/c"),
            ("a/b/c", 3, ""),
            ("a/", 1, ""),
            ("//a//b", 1, "/b"),
            ("a", 1, ""),
        ] {
            assert_eq!(stripped(name.as_bytes(), parts), rest.as_bytes(), "{name}");
        }
    }

    #[test]
    fn names_are_shown_without_control_characters() {
        assert_eq!(shown(b"a\nb\\\x01\xff", true), "a\\nb\\\\\\001\\377");
        assert_eq!(shown("ü".as_bytes(), true), "ü");
        assert_eq!(shown("ü".as_bytes(), false), "\\303\\274");
        assert_eq!(unquoted(r"a\nb\\\101\q"), "a\nb\\A\\q");
    }
}
