//! An event as one line of JSON that nothing in it can break.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::super::event::RuntimeEvent;
use super::super::timestamp::Timestamp;

/// Appends an event and a line feed.
pub(super) fn event(to: &mut Vec<u8>, event: &RuntimeEvent) {
    append(to, event);
}

/// Appends the line that says how many events were lost.
pub(super) fn lost(to: &mut Vec<u8>, count: u64, at: Timestamp) {
    #[derive(Serialize)]
    struct Line {
        r#type: &'static str,
        timestamp: Timestamp,
        count: u64,
    }
    let line = Line {
        r#type: "log.lost",
        timestamp: at,
        count,
    };
    append(to, &line);
}

fn append(to: &mut Vec<u8>, value: &impl Serialize) {
    let before = to.len();
    match value.serialize(&mut Serializer::with_formatter(&mut *to, Escaping)) {
        Ok(()) => to.push(b'\n'),
        // Text, numbers and a Vec to write them to: not reached.
        Err(_) => to.truncate(before),
    }
}

/// Writes as `\u…` what acts on a terminal or an editor instead of being shown: it is the same JSON.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts(*c)) {
            let (plain, from) = rest.split_at(at);
            write!(to, "{plain}\\u{:04x}", u32::from(c))?;
            rest = from.strip_prefix(c).unwrap_or_default();
        }
        to.write_all(rest.as_bytes())
    }
}

/// C0, DEL and C1; line and paragraph separators; marks that reorder text. None is above U+FFFF.
fn acts(c: char) -> bool {
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || reorders || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}
