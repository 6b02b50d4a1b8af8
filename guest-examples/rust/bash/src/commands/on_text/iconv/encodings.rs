//! Encodings by name.

/// The names that are listed, and what each stands for.
pub(super) const NAMES: [(&str, Encoding); 14] = [
    ("ASCII", Encoding::Ascii),
    ("CP1252", Encoding::Windows1252),
    ("ISO-8859-1", Encoding::Latin1),
    ("ISO-8859-15", Encoding::Latin9),
    ("UCS-2", Encoding::Utf16(Order::Little)),
    ("UCS-2BE", Encoding::Utf16(Order::Big)),
    ("UCS-2LE", Encoding::Utf16(Order::Little)),
    ("UTF-8", Encoding::Utf8),
    ("UTF-16", Encoding::Utf16(Order::Marked)),
    ("UTF-16BE", Encoding::Utf16(Order::Big)),
    ("UTF-16LE", Encoding::Utf16(Order::Little)),
    ("UTF-32", Encoding::Utf32(Order::Marked)),
    ("UTF-32BE", Encoding::Utf32(Order::Big)),
    ("UTF-32LE", Encoding::Utf32(Order::Little)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
    /// A mark at the beginning tells it; without one, it is that of the machine.
    Marked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Ascii,
    Latin1,
    Latin9,
    Windows1252,
    Utf8,
    Utf16(Order),
    Utf32(Order),
}

/// Why bytes are no character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    Illegal,
    Incomplete,
}

/// Characters of windows-1252 from 0x80 to 0x9f; NUL for those that it lacks.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘',
    '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// What ISO 8859-15 has in place of ISO 8859-1.
const LATIN_9: [(u8, char); 8] = [
    (0xa4, '€'),
    (0xa6, 'Š'),
    (0xa8, 'š'),
    (0xb4, 'Ž'),
    (0xb8, 'ž'),
    (0xbc, 'Œ'),
    (0xbd, 'œ'),
    (0xbe, 'Ÿ'),
];

impl Encoding {
    pub(super) fn named(text: &str) -> Option<Self> {
        let name = text.to_ascii_uppercase().replace('_', "-");
        let known = NAMES.iter().find(|(known, _)| *known == name);
        if let Some((_, encoding)) = known {
            return Some(*encoding);
        }
        Some(match &*name {
            "UTF8" => Self::Utf8,
            "US-ASCII" | "ANSI-X3.4-1968" | "646" => Self::Ascii,
            "LATIN1" | "LATIN-1" | "L1" | "ISO8859-1" | "ISO88591" | "CP819" => Self::Latin1,
            "LATIN9" | "LATIN-9" | "ISO8859-15" | "ISO885915" => Self::Latin9,
            "WINDOWS-1252" | "MS-ANSI" => Self::Windows1252,
            "UTF16" | "UNICODE" => Self::Utf16(Order::Marked),
            "UTF16LE" | "UNICODELITTLE" => Self::Utf16(Order::Little),
            "UTF16BE" | "UNICODEBIG" => Self::Utf16(Order::Big),
            "UTF32" => Self::Utf32(Order::Marked),
            "UTF32LE" | "UCS-4LE" => Self::Utf32(Order::Little),
            "UTF32BE" | "UCS-4" | "UCS-4BE" => Self::Utf32(Order::Big),
            _ => return None,
        })
    }

    /// Writes the mark of the order of bytes, if the encoding has one.
    pub(super) fn begin(self, out: &mut Vec<u8>) {
        if matches!(
            self,
            Self::Utf16(Order::Marked) | Self::Utf32(Order::Marked)
        ) {
            self.write('\u{feff}', out);
        }
    }

    /// Writes a character. Says whether the encoding has it.
    pub(super) fn write(self, char: char, out: &mut Vec<u8>) -> bool {
        let code = u32::from(char);
        let byte = match self {
            Self::Utf8 => {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return true;
            }
            Self::Utf16(order) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out.extend(match order {
                        Order::Big => unit.to_be_bytes(),
                        Order::Little | Order::Marked => unit.to_le_bytes(),
                    });
                }
                return true;
            }
            Self::Utf32(order) => {
                out.extend(match order {
                    Order::Big => code.to_be_bytes(),
                    Order::Little | Order::Marked => code.to_le_bytes(),
                });
                return true;
            }
            Self::Ascii => u8::try_from(code).ok().filter(u8::is_ascii),
            Self::Latin1 => u8::try_from(code).ok(),
            Self::Latin9 => {
                let own = LATIN_9.iter().find(|(_, own)| *own == char);
                let is_replaced = |byte: &u8| LATIN_9.iter().any(|(own, _)| own == byte);
                own.map(|(byte, _)| *byte)
                    .or_else(|| u8::try_from(code).ok().filter(|byte| !is_replaced(byte)))
            }
            Self::Windows1252 => {
                let place = WINDOWS_1252
                    .iter()
                    .position(|own| *own == char && char != '\0');
                let plain = u8::try_from(code).ok();
                place
                    .and_then(|place| u8::try_from(place + 0x80).ok())
                    .or(plain.filter(|byte| !(0x80..0xa0).contains(byte)))
            }
        };
        out.extend(byte);
        byte.is_some()
    }

    pub(super) fn reader(self, bytes: &[u8]) -> Reader<'_> {
        let mut reader = Reader {
            encoding: self,
            bytes,
            at: 0,
        };
        let marks: &[(&[u8], Self)] = match self {
            Self::Utf16(Order::Marked) => &[
                (b"\xff\xfe", Self::Utf16(Order::Little)),
                (b"\xfe\xff", Self::Utf16(Order::Big)),
            ],
            Self::Utf32(Order::Marked) => &[
                (b"\xff\xfe\0\0", Self::Utf32(Order::Little)),
                (b"\0\0\xfe\xff", Self::Utf32(Order::Big)),
            ],
            _ => &[],
        };
        if let Some((mark, encoding)) = marks.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            (reader.at, reader.encoding) = (mark.len(), *encoding);
        }
        reader
    }
}

/// The characters of bytes, each with its place.
pub(super) struct Reader<'a> {
    encoding: Encoding,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    pub(super) fn next(&mut self) -> Option<(usize, Result<char, Malformed>)> {
        let place = self.at;
        let rest = self.bytes.get(place..)?;
        let first = *rest.first()?;
        let (length, read) = match self.encoding {
            Encoding::Ascii if first.is_ascii() => (1, Ok(char::from(first))),
            Encoding::Ascii => (1, Err(Malformed::Illegal)),
            Encoding::Latin1 => (1, Ok(char::from(first))),
            Encoding::Latin9 => {
                let own = LATIN_9.iter().find(|(byte, _)| *byte == first);
                (1, Ok(own.map_or(char::from(first), |(_, own)| *own)))
            }
            Encoding::Windows1252 => {
                let place = usize::from(first).checked_sub(0x80);
                match place.and_then(|place| WINDOWS_1252.get(place)) {
                    Some('\0') => (1, Err(Malformed::Illegal)),
                    Some(own) => (1, Ok(*own)),
                    None => (1, Ok(char::from(first))),
                }
            }
            Encoding::Utf8 => utf8(rest),
            Encoding::Utf16(order) => utf16(rest, order),
            Encoding::Utf32(order) => match rest.first_chunk::<4>() {
                Some(bytes) => {
                    let code = match order {
                        Order::Big => u32::from_be_bytes(*bytes),
                        Order::Little | Order::Marked => u32::from_le_bytes(*bytes),
                    };
                    (4, char::from_u32(code).ok_or(Malformed::Illegal))
                }
                None => (rest.len(), Err(Malformed::Incomplete)),
            },
        };
        self.at += length;
        Some((place, read))
    }
}

fn utf8(rest: &[u8]) -> (usize, Result<char, Malformed>) {
    let start = rest.get(..rest.len().min(4)).unwrap_or(rest);
    let (valid, error) = match std::str::from_utf8(start) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = start.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
        }
    };
    match (valid.chars().next(), error) {
        (Some(char), _) => (char.len_utf8(), Ok(char)),
        (None, Some(error)) if error.error_len().is_none() => {
            (rest.len(), Err(Malformed::Incomplete))
        }
        (None, _) => (1, Err(Malformed::Illegal)),
    }
}

fn utf16(rest: &[u8], order: Order) -> (usize, Result<char, Malformed>) {
    let unit = |at: usize| {
        let bytes = rest.get(at..at + 2)?.first_chunk::<2>()?;
        Some(match order {
            Order::Big => u16::from_be_bytes(*bytes),
            Order::Little | Order::Marked => u16::from_le_bytes(*bytes),
        })
    };
    let Some(first) = unit(0) else {
        return (rest.len(), Err(Malformed::Incomplete));
    };
    let is_pair = (0xd800..0xdc00).contains(&first);
    let second = if is_pair { unit(2) } else { None };
    if is_pair && second.is_none() {
        return (rest.len(), Err(Malformed::Incomplete));
    }
    let units = std::iter::once(first).chain(second);
    match char::decode_utf16(units).next() {
        Some(Ok(char)) => (char.len_utf16() * 2, Ok(char)),
        _ => (2, Err(Malformed::Illegal)),
    }
}

/// What stands for a character where an encoding lacks it, in ASCII, as the C library has it.
pub(super) fn replacement(char: char) -> Option<&'static str> {
    Some(match char {
        'À'..='Å' => "A",
        'Æ' => "AE",
        'Ç' => "C",
        'È'..='Ë' => "E",
        'Ì'..='Ï' => "I",
        'Ñ' => "N",
        'Ò'..='Ö' | 'Ø' => "O",
        'Ù'..='Ü' => "U",
        'Ý' => "Y",
        'ß' => "ss",
        'à'..='å' => "a",
        'æ' => "ae",
        'ç' => "c",
        'è'..='ë' => "e",
        'ì'..='ï' => "i",
        'ñ' => "n",
        'ò'..='ö' | 'ø' => "o",
        'ù'..='ü' => "u",
        'ý' | 'ÿ' => "y",
        'Œ' => "OE",
        'œ' => "oe",
        'Š' => "S",
        'š' => "s",
        'Ž' => "Z",
        'ž' => "z",
        '€' => "EUR",
        '‘' | '’' => "'",
        '‚' => ",",
        '“' | '”' => "\"",
        '„' => ",,",
        '«' => "<<",
        '»' => ">>",
        '‹' => "<",
        '›' => ">",
        '…' => "...",
        '–' | '‐' | '‑' => "-",
        '—' => "--",
        '\u{a0}' => " ",
        '\u{ad}' => "-",
        '©' => "(C)",
        '®' => "(R)",
        '™' => "(TM)",
        '•' => "o",
        '¼' => " 1/4 ",
        '½' => " 1/2 ",
        '¾' => " 3/4 ",
        '×' => "x",
        _ => return None,
    })
}
