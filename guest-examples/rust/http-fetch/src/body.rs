//! The body of a response, as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most bytes that a body may take in the result's JSON, below the 1 MiB of a result.
const MAX_JSON_BYTES: usize = 900_000;

/// A body in the output of the tool.
pub(crate) struct BodyText {
    pub(crate) text: String,
    pub(crate) base64: bool,
    pub(crate) truncated: bool,
}

/// Returns text unchanged, and other bytes as base64.
pub(crate) fn to_text(mut bytes: Vec<u8>, mut truncated: bool, max_bytes: usize) -> BodyText {
    if bytes.len() > max_bytes {
        bytes.truncate(max_bytes);
        truncated = true;
    }
    if let Err(error) = std::str::from_utf8(&bytes)
        // Text that is truncated within a character is still text.
        && truncated
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        Ok(text) => return binary(text.as_bytes(), truncated),
        Err(error) => return binary(error.as_bytes(), truncated),
    };
    let mut json_bytes = 0;
    let end = text.char_indices().find_map(|(at, char)| {
        json_bytes += in_json(char);
        (json_bytes > MAX_JSON_BYTES).then_some(at)
    });
    if let Some(end) = end {
        text.truncate(end);
        truncated = true;
    }
    BodyText {
        text,
        base64: false,
        truncated,
    }
}

fn binary(bytes: &[u8], truncated: bool) -> BodyText {
    BodyText {
        text: STANDARD.encode(bytes),
        base64: true,
        truncated,
    }
}

/// Returns the bytes of a character in JSON.
fn in_json(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        char if char.is_control() => 6,
        char => char.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::to_text;

    #[test]
    fn text_stays_text_and_the_rest_is_base64() {
        let text = to_text("héllo".into(), false, 100);
        assert_eq!(
            (text.text.as_str(), text.base64, text.truncated),
            ("héllo", false, false)
        );
        let cut = to_text("héllo".into(), false, 2);
        assert_eq!(
            (cut.text.as_str(), cut.base64, cut.truncated),
            ("h", false, true)
        );
        let binary = to_text(vec![0xff, 0, 1], false, 100);
        assert_eq!((binary.text.as_str(), binary.base64), ("/wAB", true));
        let escaped = to_text(vec![1; 500_000], false, 500_000);
        assert!(escaped.truncated && escaped.text.len() == 150_000);
    }
}
