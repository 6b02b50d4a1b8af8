//! JSON of bounded length.

use std::io::{self, Write};

use serde::Serialize;
use toolhost_contract::text::CUT;

/// Most bytes of the arguments or the output of a call.
pub(super) const TEXT_MAX: usize = 16 << 10;

/// Takes bytes until there is no room.
struct Bounded {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = TEXT_MAX - self.bytes.len();
        self.bytes.extend(bytes.iter().take(room));
        if bytes.len() <= room {
            return Ok(bytes.len());
        }
        // Ends the serialization.
        self.is_cut = true;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the JSON of a value: at most [`TEXT_MAX`] bytes of it, and then a mark that the rest is missing. Takes no
/// longer than writing these bytes.
pub(super) fn bounded_json(value: &impl Serialize) -> String {
    let mut out = Bounded {
        bytes: Vec::with_capacity(128),
        is_cut: false,
    };
    // Fails where the text is cut; serializing JSON does not fail otherwise.
    let _ = serde_json::to_writer(&mut out, value);
    let mut text = String::from_utf8(out.bytes).unwrap_or_else(|error| {
        // Cut within a character.
        let whole = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(whole);
        String::from_utf8(bytes).unwrap_or_default()
    });
    if out.is_cut {
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_json_is_cut_between_characters_and_marked() {
        assert_eq!(bounded_json(&json!({"a": [1, "가"]})), r#"{"a":[1,"가"]}"#);
        for ahead in 0..3 {
            let value = json!([" ".repeat(ahead), "가".repeat(TEXT_MAX)]);
            let text = bounded_json(&value);
            let kept = text.strip_suffix(CUT).unwrap();
            assert!(kept.ends_with('가') && (TEXT_MAX - 2..=TEXT_MAX).contains(&kept.len()));
        }
        let fits = "a".repeat(TEXT_MAX - 2);
        assert_eq!(bounded_json(&fits), format!("\"{fits}\""));
    }
}
