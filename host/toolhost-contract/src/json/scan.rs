//! Measures JSON text without parsing it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

/// Depth and size of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonShape {
    /// Deepest nesting of brackets outside strings.
    pub depth: usize,
    /// Number of scalars, arrays and objects. An empty array or object counts as two.
    pub values: u64,
}

impl JsonShape {
    /// Measures a text. It may be invalid JSON.
    pub fn of(json: &str) -> Self {
        Scan::of(json).shape
    }
}

/// What one pass over a text finds. Places are offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) shape: JsonShape,
    /// The first number that the parser would round, or that JSON does not have.
    pub(super) number: Option<(usize, Unrepresentable)>,
    /// The first half of a surrogate pair without the other half.
    pub(super) surrogate: Option<usize>,
}

/// Why a number cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unrepresentable {
    /// An integer that neither 64 bits with a sign nor without one can hold.
    Integer,
    /// Not a number, infinite, or too large for a number with a fraction.
    NotFinite,
}

impl Scan {
    /// Scans a text. It may be invalid JSON.
    pub(super) fn of(json: &str) -> Self {
        let (mut depth, mut deepest, mut values) = (0_usize, 0, 1);
        let (mut number, mut surrogate) = (None, None);
        let bytes = json.as_bytes();
        // Looks at the number around an offset, and returns what follows it: each is looked at once.
        let mut check = |at: usize| {
            let token = token_around(bytes, at);
            if number.is_none() {
                let text = json.get(token.clone()).unwrap_or_default();
                number = unrepresentable(text).map(|why| (token.start, why));
            }
            bytes.get(token.end..).unwrap_or_default()
        };
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            let at = json.len() - rest.len();
            match byte {
                b'"' => rest = after_string(after, json.len(), &mut surrogate),
                b'0'..=b'9' => {
                    rest = after_digits(after);
                    let is_long = after.len() - rest.len() >= SHORT_DIGITS;
                    if is_long || matches!(rest.first(), Some(b'e' | b'E')) {
                        rest = check(at);
                    }
                }
                b'N' | b'I' => rest = check(at),
                b'[' | b'{' => {
                    rest = after;
                    depth += 1;
                    values += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => {
                    rest = after;
                    depth = depth.saturating_sub(1);
                }
                b',' => {
                    rest = after;
                    values += 1;
                }
                _ => rest = after,
            }
        }
        let shape = JsonShape {
            depth: deepest,
            values,
        };
        Self {
            shape,
            number,
            surrogate,
        }
    }
}

/// Returns what follows the string that this is the inside of. Nothing if the string does not end. `total`
/// is the length of the text, `surrogate` the first half of a pair.
pub(super) fn after_string<'t>(
    mut rest: &'t [u8],
    total: usize,
    surrogate: &mut Option<usize>,
) -> &'t [u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let (_, found) = rest.split_at(at);
        if found.first() == Some(&b'"') {
            return found.get(1..).unwrap_or_default();
        }
        let escape = Escape::of(found);
        if escape.is_half && surrogate.is_none() {
            *surrogate = Some(total - found.len());
        }
        rest = found.get(escape.length..).unwrap_or_default();
    }
    &[]
}

/// An escape in a string.
struct Escape {
    length: usize,
    /// Whether it is one half of a surrogate pair alone.
    is_half: bool,
}

impl Escape {
    /// Reads the escape at the beginning of a text.
    fn of(text: &[u8]) -> Self {
        let Some(half) = Half::of(text) else {
            let (length, is_half) = (2, false);
            return Self { length, is_half };
        };
        let after = text.get(UNICODE_LENGTH..).unwrap_or_default();
        let is_pair = half == Half::First && Half::of(after) == Some(Half::Second);
        Self {
            length: UNICODE_LENGTH * (1 + usize::from(is_pair)),
            is_half: !is_pair,
        }
    }
}

/// Bytes of `\ud83d`.
const UNICODE_LENGTH: usize = 6;

/// One half of a surrogate pair.
#[derive(PartialEq, Eq)]
enum Half {
    First,
    Second,
}

impl Half {
    fn of(text: &[u8]) -> Option<Self> {
        let [b'\\', b'u', b'd' | b'D', digit, x, y, ..] = text else {
            return None;
        };
        let is_hexadecimal = x.is_ascii_hexdigit() && y.is_ascii_hexdigit();
        match digit.to_ascii_lowercase() {
            b'8' | b'9' | b'a' | b'b' if is_hexadecimal => Some(Self::First),
            b'c'..=b'f' if is_hexadecimal => Some(Self::Second),
            _ => None,
        }
    }
}

/// Replaces each half of a surrogate pair that is alone with U+FFFD.
pub(super) fn replace_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let (mut replaced, mut at) = (String::new(), 0);
    let mut copied = 0;
    // A backslash is only in strings.
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        let start = at + next;
        let escape = Escape::of(bytes.get(start..).unwrap_or_default());
        at = start + escape.length;
        if escape.is_half {
            replaced.push_str(json.get(copied..start).unwrap_or_default());
            replaced.push_str("\\ufffd");
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    replaced.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(replaced)
}

fn after_digits(text: &[u8]) -> &[u8] {
    let digits = text.iter().position(|byte| !byte.is_ascii_digit());
    digits.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// Returns the place of the number or word around an offset. It is not empty.
pub(super) fn token_around(text: &[u8], at: usize) -> Range<usize> {
    let is_other = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.');
    let before = text.get(..at).unwrap_or_default();
    let start = before
        .iter()
        .rposition(is_other)
        .map_or(0, |other| other + 1);
    let after = text.get(at..).unwrap_or_default();
    let end = after.iter().position(is_other).unwrap_or(after.len());
    start..at + end.max(1)
}

/// Digits that 64 bits hold in any case.
const SHORT_DIGITS: usize = 18;

/// Digits that a number with a fraction holds in any case, without an exponent.
const FINITE_DIGITS: usize = 308;

fn unrepresentable(text: &str) -> Option<Unrepresentable> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if matches!(digits, "NaN" | "Infinity") {
        return Some(Unrepresentable::NotFinite);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let fits = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        return (!fits).then_some(Unrepresentable::Integer);
    }
    let may_be_large = digits.contains(['e', 'E']) || digits.len() > FINITE_DIGITS;
    let is_infinite = || text.parse::<f64>().is_ok_and(f64::is_infinite);
    (may_be_large && is_infinite()).then_some(Unrepresentable::NotFinite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_outside_strings() {
        for (json, depth, values) in [
            ("1", 0, 1),
            ("[]", 1, 2),
            (r#"{"a":[1,{"b":2}]}"#, 3, 5),
            ("[[0],[0]]", 2, 5),
            ("[1.5e3,-2]", 1, 3),
            ("[1e1e1e1,2E-1]", 1, 3),
            (r#"["[[[[,"]"#, 1, 2),
            (r#"["\"[[["]"#, 1, 2),
            (r#"["\\",["\\"]]"#, 2, 4),
            (r#"["\ud83d\ude00[","\ud83d",[0]]"#, 2, 5),
            (r#"["no end, [[[,"#, 1, 2),
            (r#"["no end\"#, 1, 2),
            (r#"["no end\ud83d"#, 1, 2),
        ] {
            assert_eq!(JsonShape::of(json), JsonShape { depth, values }, "{json}");
            assert_eq!(crate::json_depth(json), depth, "{json}");
        }
    }

    #[test]
    fn finds_the_first_number_that_would_be_rounded() {
        use Unrepresentable::{Integer, NotFinite};
        let check = |json: &str, expected| {
            assert_eq!(Scan::of(json).number, expected, "{json}");
        };
        for exact in [
            "0",
            "-0",
            "18446744073709551615",
            "-9223372036854775808",
            "1e300",
            "1.0000000000000000000000001",
            "123456789012345678901234567890.5",
            r#""123456789012345678901234567890""#,
            "[null,true,false]",
        ] {
            check(exact, None);
        }
        check("18446744073709551616", Some((0, Integer)));
        check("-9223372036854775809", Some((0, Integer)));
        check("[1, 100000000000000000000,1e999]", Some((4, Integer)));
        check(r#"{"a":NaN}"#, Some((5, NotFinite)));
        check("[-Infinity]", Some((1, NotFinite)));
        check("[1.5, -1.5e999]", Some((6, NotFinite)));
        check("[1E5,-100000000000000000000]", Some((5, Integer)));
        check("[Infinity", Some((1, NotFinite)));
        check("1e309", Some((0, NotFinite)));
        check(&format!("{}.5", "9".repeat(400)), Some((0, NotFinite)));
    }

    #[test]
    fn finds_and_replaces_halves_of_surrogate_pairs() {
        let check = |json: &str, at, replaced: &str| {
            assert_eq!(Scan::of(json).surrogate, at, "{json}");
            assert_eq!(replace_surrogates(json), replaced, "{json}");
        };
        let same = |json: &str| check(json, None, json);
        same(r#""\ud83d\ude00""#);
        same(r#""\\ud83d""#);
        check(r#""\ud83d""#, Some(1), r#""\ufffd""#);
        check(r#"["a","\uDE00b"]"#, Some(6), r#"["a","\ufffdb"]"#);
        check(
            r#""\ud83d\ud83d\ude00""#,
            Some(1),
            r#""\ufffd\ud83d\ude00""#,
        );
        check(r#""\ud83d\u0041""#, Some(1), r#""\ufffd\u0041""#);
        check(r#""가\ud83d가""#, Some(4), r#""가\ufffd가""#);
        // Not an escape: the parser says so.
        same(r#""\ud8가""#);
        same(r#""\ud8""#);
    }
}
