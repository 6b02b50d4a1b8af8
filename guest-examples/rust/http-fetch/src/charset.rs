//! The charset of a body, as browsers determine it.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::media_type::MediaType;

/// How far into a page its charset may be named, in bytes.
const HEAD: usize = 1024;

/// A body that is text.
pub(crate) struct Text {
    pub(crate) text: String,
    /// The name of the charset, in lower case.
    pub(crate) charset: String,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

/// Returns the text of a body; none if it is not text. The end of a truncated body may be within a
/// character.
pub(crate) fn decode(bytes: &[u8], kind: &MediaType, truncated: bool) -> Option<Text> {
    let may_be_text = kind.is_text() || kind.is_absent() || kind.charset().is_some();
    if may_be_text && let Some((encoding, length)) = Encoding::for_bom(bytes) {
        let bytes = bytes.get(length..).unwrap_or_default();
        return Some(text(encoding, bytes, truncated, Vec::new()));
    }
    let mut notes = Vec::new();
    let label = kind.charset().map(str::to_owned);
    if let Some(label) = label.or_else(|| label_within(bytes, kind)) {
        match Encoding::for_label_no_replacement(label.as_bytes()) {
            Some(encoding) => return Some(text(encoding, bytes, truncated, notes)),
            None => notes.push(format!("the charset `{label}` is unknown")),
        }
    }
    let has_nul = bytes.contains(&0);
    if !has_nul && is_utf8(bytes, truncated) {
        return Some(text(UTF_8, bytes, truncated, notes));
    }
    if has_nul || !kind.is_text() {
        return None;
    }
    if kind.is_plain_text() {
        notes.push("no charset is named, and it is not UTF-8: read as windows-1252".to_owned());
        return Some(text(WINDOWS_1252, bytes, truncated, notes));
    }
    Some(text(UTF_8, bytes, truncated, notes))
}

fn text(
    encoding: &'static Encoding,
    bytes: &[u8],
    truncated: bool,
    mut notes: Vec<String>,
) -> Text {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or_default());
    let (_, _, is_lossy) = decoder.decode_to_string(bytes, &mut text, !truncated);
    text.shrink_to_fit();
    let charset = encoding.name().to_ascii_lowercase();
    if is_lossy {
        let count = text
            .chars()
            .filter(|char| *char == char::REPLACEMENT_CHARACTER);
        notes.push(format!(
            "{} characters are not valid {charset} and were replaced by U+FFFD",
            count.count()
        ));
    }
    Text {
        text,
        charset,
        notes,
    }
}

fn is_utf8(bytes: &[u8], truncated: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => truncated && error.error_len().is_none(),
    }
}

/// Returns the charset that a page or an XML document names in its first bytes.
fn label_within(bytes: &[u8], kind: &MediaType) -> Option<String> {
    let head = bytes.get(..HEAD.min(bytes.len())).unwrap_or_default();
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let head = head.to_ascii_lowercase();
    let label = if kind.is_html() || (kind.is_absent() && is_page(&head)) {
        let mut tags = head.split("<meta").skip(1);
        tags.find_map(|tag| value(tag.split('>').next()?, "charset"))
    } else if (kind.is_xml() || kind.is_absent()) && head.starts_with("<?xml") {
        value(head.split("?>").next()?, "encoding")
    } else {
        None
    }?;
    // Bytes in which this could be read are not UTF-16.
    let is_utf_16 = Encoding::for_label(label.as_bytes())
        .is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE);
    Some(if is_utf_16 { "utf-8".to_owned() } else { label })
}

/// Whether a text begins as an HTML page.
pub(crate) fn is_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Returns the value behind `name =` in a tag, with or without quotes.
fn value(tag: &str, name: &str) -> Option<String> {
    let after = tag.split(name).nth(1)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let end: &[char] = match value.chars().next()? {
        '"' => &['"'],
        '\'' => &['\''],
        _ => &[' ', ';', '"', '\'', '/', '\t', '\n', '\r'],
    };
    let value = value.trim_start_matches(['"', '\'']);
    let value = value.split(end).next()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
