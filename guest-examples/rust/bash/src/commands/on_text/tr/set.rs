//! A set of bytes: `a-z`, `[:alpha:]`, `[x*3]`, `\n`.

pub(super) enum Item {
    Range(u8, u8),
    Class(&'static str),
    /// As often as written, or (0) as often as needed.
    Repeat(u8, usize),
}

pub(super) struct Set {
    pub(super) items: Vec<Item>,
}

const CLASSES: [&str; 12] = [
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "xdigit",
];

fn is_in(class: &str, byte: u8) -> bool {
    match class {
        "alnum" => byte.is_ascii_alphanumeric(),
        "alpha" => byte.is_ascii_alphabetic(),
        "blank" => matches!(byte, b' ' | b'\t'),
        "cntrl" => byte.is_ascii_control(),
        "digit" => byte.is_ascii_digit(),
        "graph" => byte.is_ascii_graphic(),
        "lower" => byte.is_ascii_lowercase(),
        "print" => byte.is_ascii_graphic() || byte == b' ',
        "punct" => byte.is_ascii_punctuation(),
        "space" => matches!(byte, b' ' | b'\t'..=b'\r'),
        "upper" => byte.is_ascii_uppercase(),
        _ => byte.is_ascii_hexdigit(),
    }
}

impl Item {
    /// Its bytes; `needed` is how often one repeats that has no number.
    pub(super) fn bytes(&self, needed: usize) -> Vec<u8> {
        match self {
            Self::Range(from, to) => (*from..=*to).collect(),
            Self::Class(class) => (0..=255).filter(|byte| is_in(class, *byte)).collect(),
            Self::Repeat(byte, 0) => vec![*byte; needed],
            Self::Repeat(byte, times) => vec![*byte; *times],
        }
    }
}

impl Set {
    pub(super) fn read(text: &str, quote: impl Fn(&str) -> String) -> Result<Self, String> {
        // A byte, and whether a backslash stood before it.
        let (mut bytes, mut rest) = (Vec::new(), text.bytes().peekable());
        while let Some(byte) = rest.next() {
            if byte != b'\\' {
                bytes.push((byte, false));
                continue;
            }
            let Some(next) = rest.next() else {
                bytes.push((b'\\', false));
                break;
            };
            let byte = match next {
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'0'..=b'7' => {
                    let mut value = u32::from(next - b'0');
                    for _ in 0..2 {
                        let Some(digit) = rest.peek().filter(|byte| (b'0'..=b'7').contains(byte))
                        else {
                            break;
                        };
                        let larger = value * 8 + u32::from(digit - b'0');
                        if larger > 255 {
                            break;
                        }
                        value = larger;
                        rest.next();
                    }
                    u8::try_from(value).unwrap_or(0)
                }
                other => other,
            };
            bytes.push((byte, true));
        }
        let mut items = Vec::new();
        let mut at = 0;
        while let Some((byte, escaped)) = bytes.get(at).copied() {
            let tail = bytes.get(at..).unwrap_or_default();
            if byte == b'['
                && !escaped
                && let Some((item, used)) = bracket(tail, &quote)?
            {
                items.push(item);
                at += used;
                continue;
            }
            if let [_, (b'-', false), (to, _), ..] = tail {
                if *to < byte {
                    let shown = String::from_utf8_lossy(&[byte, b'-', *to]).into_owned();
                    return Err(format!(
                        "range-endpoints of '{shown}' are in reverse collating sequence order"
                    ));
                }
                items.push(Item::Range(byte, *to));
                at += 3;
                continue;
            }
            items.push(Item::Range(byte, byte));
            at += 1;
        }
        Ok(Self { items })
    }

    /// Its bytes in order, or all others.
    pub(super) fn members(&self, complement: bool) -> Vec<u8> {
        let members = self.expanded(0);
        if complement {
            return (0..=255).filter(|byte| !members.contains(byte)).collect();
        }
        members
    }

    /// Its bytes in order; an item without a number fills up to a length.
    pub(super) fn expanded(&self, length: usize) -> Vec<u8> {
        let sizes = self.items.iter().map(|item| item.bytes(0).len());
        let needed = length.saturating_sub(sizes.sum());
        self.items
            .iter()
            .flat_map(|item| item.bytes(needed))
            .collect()
    }
}

/// Reads `[:class:]`, `[=x=]` or `[x*n]`, and says how many bytes that is.
fn bracket(
    tail: &[(u8, bool)],
    quote: impl Fn(&str) -> String,
) -> Result<Option<(Item, usize)>, String> {
    let text: Vec<u8> = tail.iter().map(|(byte, _)| *byte).collect();
    let text = text.as_slice();
    let find = |end: &[u8]| {
        text.get(2..)
            .and_then(|rest| rest.windows(2).position(|pair| pair == end))
    };
    match text {
        [b'[', b':', ..] => {
            let Some(length) = find(b":]") else {
                return Ok(None);
            };
            let name =
                String::from_utf8_lossy(text.get(2..2 + length).unwrap_or_default()).into_owned();
            let class = CLASSES.iter().find(|class| **class == name);
            let class = class.ok_or_else(|| format!("invalid character class {}", quote(&name)))?;
            Ok(Some((Item::Class(class), length + 4)))
        }
        [b'[', b'=', byte, b'=', b']', ..] => Ok(Some((Item::Range(*byte, *byte), 5))),
        [b'[', byte, b'*', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if rest.get(digits) != Some(&b']') {
                return Ok(None);
            }
            let digits =
                String::from_utf8_lossy(rest.get(..digits).unwrap_or_default()).into_owned();
            let radix = if digits.starts_with('0') { 8 } else { 10 };
            let times = usize::from_str_radix(&digits, radix)
                .unwrap_or(0)
                .min(1 << 16);
            Ok(Some((Item::Repeat(*byte, times), digits.len() + 4)))
        }
        _ => Ok(None),
    }
}
