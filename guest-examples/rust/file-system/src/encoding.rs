//! Text as the bytes of a file, and back: exactly, or not at all.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, EncoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use toolhost_guest::ToolError;

use crate::{base64, failure};

/// How the bytes of a file become text.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Codec {
    Utf8,
    Base64,
    /// An encoding of WHATWG's list but UTF-8.
    Other(&'static Encoding),
}

/// Where bytes are not text in their encoding.
#[derive(Debug, PartialEq)]
pub(crate) struct Invalid {
    pub(crate) at: usize,
}

/// Whether bytes may end within a character.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Whole,
    Cut,
}

impl Codec {
    /// Parses a label of WHATWG's Encoding Standard, or `base64`. Default UTF-8.
    pub(crate) fn new(label: Option<&str>) -> Result<Self, ToolError> {
        let Some(label) = label else {
            return Ok(Self::Utf8);
        };
        if label.trim().eq_ignore_ascii_case("base64") {
            return Ok(Self::Base64);
        }
        match Encoding::for_label_no_replacement(label.as_bytes()) {
            Some(encoding) if encoding == UTF_8 => Ok(Self::Utf8),
            Some(encoding) => Ok(Self::Other(encoding)),
            None => Err(failure::unknown_encoding(label)),
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Utf8 => "utf-8".into(),
            Self::Base64 => "base64".into(),
            Self::Other(encoding) => encoding.name().to_ascii_lowercase(),
        }
    }

    pub(crate) fn is_utf16(self) -> bool {
        self == Self::Other(UTF_16LE) || self == Self::Other(UTF_16BE)
    }

    /// Returns whether text can begin at a byte only if all before it was read.
    pub(crate) fn has_state(self) -> bool {
        self == Self::Other(ISO_2022_JP)
    }

    /// Returns the text, and how many bytes it is of: fewer than given only where they end within a
    /// character and may.
    pub(crate) fn decode(self, bytes: &[u8], end: End) -> Result<(String, usize), Invalid> {
        match self {
            Self::Base64 => Ok((base64::encode(bytes), bytes.len())),
            Self::Other(encoding) => decode(encoding, bytes, end),
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Ok((text.to_owned(), bytes.len())),
                Err(error) => {
                    let at = error.valid_up_to();
                    let valid = bytes.get(..at).and_then(|it| std::str::from_utf8(it).ok());
                    // Without a length, the text ends within a character, and is not invalid.
                    match valid.filter(|_| end == End::Cut && error.error_len().is_none()) {
                        Some(text) => Ok((text.to_owned(), at)),
                        None => Err(Invalid { at }),
                    }
                }
            },
        }
    }

    /// Returns the bytes of a text for a file.
    pub(crate) fn encode(self, text: &str, path: &str) -> Result<Vec<u8>, ToolError> {
        match self {
            Self::Utf8 => Ok(text.into()),
            Self::Base64 => base64::decode(text).map_err(failure::not_base64),
            // encoding_rs has no encoder of it.
            Self::Other(encoding) if encoding == UTF_16LE => {
                Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
            }
            Self::Other(encoding) if encoding == UTF_16BE => {
                Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect())
            }
            Self::Other(encoding) => encode(encoding, text)
                .map_err(|char| failure::not_encodable(path, char, &self.name())),
        }
    }
}

fn decode(encoding: &'static Encoding, bytes: &[u8], end: End) -> Result<(String, usize), Invalid> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
    let mut text = String::with_capacity(room.unwrap_or(bytes.len()));
    let (result, read) = decoder.decode_to_string_without_replacement(bytes, &mut text, false);
    let rejected = |result, read: usize| match result {
        DecoderResult::InputEmpty => None,
        DecoderResult::OutputFull => Some(read),
        DecoderResult::Malformed(bad, after) => {
            Some(read.saturating_sub(usize::from(bad) + usize::from(after)))
        }
    };
    if let Some(at) = rejected(result, read) {
        return Err(Invalid { at });
    }
    text.reserve(8);
    let (result, _) = decoder.decode_to_string_without_replacement(&[], &mut text, true);
    match (rejected(result, bytes.len()), end) {
        (None, _) => Ok((text, bytes.len())),
        (Some(at), End::Cut) => Ok((text, at)),
        (Some(at), End::Whole) => Err(Invalid { at }),
    }
}

/// Returns the bytes, or the first character that the encoding does not have.
fn encode(encoding: &'static Encoding, text: &str) -> Result<Vec<u8>, char> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(room.unwrap_or(rest.len()).max(16));
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        match result {
            EncoderResult::InputEmpty => return Ok(bytes),
            EncoderResult::Unmappable(char) => return Err(char),
            EncoderResult::OutputFull => rest = rest.get(read..).unwrap_or_default(),
        }
    }
}

/// Returns the name of the encoding that bytes may have, or `None` if they are no text.
pub(crate) fn guess(bytes: &[u8]) -> Option<String> {
    let name = |encoding: &'static Encoding| Some(encoding.name().to_ascii_lowercase());
    if let Some(encoding) = byte_order_mark(bytes) {
        return name(encoding);
    }
    let zeros = |offset| {
        bytes
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|it| **it == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    if even + odd > 0 {
        return match bytes.len() / 4 {
            least if odd > least && even * 4 <= odd => name(UTF_16LE),
            least if even > least && odd * 4 <= even => name(UTF_16BE),
            _ => None,
        };
    }
    let controls = bytes
        .iter()
        .filter(|it| matches!(it, 0..=8 | 14..=26 | 28..=31));
    if controls.count() * 20 > bytes.len() {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    name(detector.guess(None, Utf8Detection::Deny))
}

/// Refuses to read UTF-16 in the order that its mark contradicts: it would become other text.
pub(crate) fn refuse_other_byte_order(
    path: &str,
    codec: Codec,
    bytes: &[u8],
) -> Result<(), ToolError> {
    match byte_order_mark(bytes) {
        Some(encoding) if codec.is_utf16() && codec != Codec::Other(encoding) => {
            Err(failure::not_text(path, codec, 0, bytes, 0))
        }
        _ => Ok(()),
    }
}

/// Returns the UTF-16 whose byte order mark the bytes begin with.
fn byte_order_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Codec, End, Invalid, guess};

    #[test]
    fn text_survives_in_each_encoding_or_is_refused_with_its_place() {
        for (label, text) in [
            ("utf-8", "né가\u{feff}"),
            ("latin1", "café €"),
            ("utf-16le", "\u{feff}né\u{1f600}"),
            ("UTF-16BE", "né\u{1f600}"),
            ("shift_jis", "日本語テスト"),
            ("euc-kr", "한글 text"),
            ("gb18030", "汉字\u{1f600}"),
            ("iso-2022-jp", "日本 a"),
        ] {
            let codec = Codec::new(Some(label)).unwrap();
            let bytes = codec.encode(text, "a").unwrap();
            let length = bytes.len();
            let decoded = codec.decode(&bytes, End::Whole);
            assert_eq!(decoded, Ok((text.to_owned(), length)), "{label}");
        }
        let latin = Codec::new(Some("latin1")).unwrap();
        assert!(latin.encode("가", "a").unwrap_err().message.contains('가'));
        assert!(Codec::new(Some("klingon")).is_err());
        let utf8 = Codec::new(None).unwrap();
        assert_eq!(utf8.decode(b"caf\xe9 x", End::Cut), Err(Invalid { at: 3 }));
        let japanese = Codec::new(Some("sjis")).unwrap();
        assert_eq!(
            japanese.decode(b"ab\x81\x20", End::Whole),
            Err(Invalid { at: 2 })
        );
    }

    #[test]
    fn bytes_that_end_within_a_character_are_used_up_to_it() {
        for (label, bytes, text) in [
            ("utf-8", &"가나".as_bytes()[..4], "가"),
            ("utf-16le", b"a\0b".as_slice(), "a"),
            ("utf-16le", b"a\0\x3d\xd8", "a"),
            ("sjis", b"\x93\xfa\x96", "日"),
        ] {
            let codec = Codec::new(Some(label)).unwrap();
            let whole = codec.decode(bytes, End::Whole);
            let (cut, used) = codec.decode(bytes, End::Cut).unwrap();
            assert_eq!(cut, text, "{label}");
            assert_eq!(whole, Err(Invalid { at: used }), "{label}");
        }
    }

    #[test]
    fn the_likely_encoding_is_named_and_binary_files_have_none() {
        let korean = Codec::new(Some("euc-kr")).unwrap();
        let korean = korean.encode("안녕하세요 여러분, 반갑습니다", "a").unwrap();
        for (bytes, expected) in [
            (b"caf\xe9 au lait".as_slice(), Some("windows-1252")),
            (&korean, Some("euc-kr")),
            (b"\xff\xfea\0", Some("utf-16le")),
            (b"\0a\0b\0c\0d\xd8\0", Some("utf-16be")),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\xff", None),
            (b"\x01\x02\x03\x04\xff", None),
        ] {
            assert_eq!(guess(bytes).as_deref(), expected, "{bytes:?}");
        }
    }
}
