//! Classes of characters: `[:alpha:]`, `\w`.

/// Returns what a class is between the brackets of crate `regex`.
pub(super) fn class(name: &str, unicode: bool, lines: bool) -> Option<&'static str> {
    Some(match (name, unicode) {
        ("alpha", false) => "a-zA-Z",
        ("alpha", true) => r"\p{Alphabetic}",
        ("digit", _) => "0-9",
        ("alnum", false) => "a-zA-Z0-9",
        ("alnum", true) => r"\p{Alphabetic}\p{Nd}",
        ("upper", false) => "A-Z",
        ("upper", true) => r"\p{Uppercase}",
        ("lower", false) => "a-z",
        ("lower", true) => r"\p{Lowercase}",
        ("space", false) if lines => r"\t\x0b\x0c\r ",
        ("space", false) => r"\t\n\x0b\x0c\r ",
        ("space", true) if lines => {
            r"\t\x0b\x0c\r \u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{2028}\u{2029}\u{205f}\u{3000}"
        }
        ("space", true) => {
            r"\t\n\x0b\x0c\r \u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{2028}\u{2029}\u{205f}\u{3000}"
        }
        ("blank", false) => r"\t ",
        ("blank", true) => r"\t \u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{205f}\u{3000}",
        ("punct", false) => r"!-/:-@\[-`\{-~",
        ("punct", true) => r"[^\p{Alphabetic}\p{Nd}\p{Z}\p{C}]",
        ("print", false) => " -~",
        ("print", true) => r"[^\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]",
        ("graph", false) => "!-~",
        ("graph", true) => r"[^\p{Cc}\p{Cs}\p{Cn}\p{Z}]",
        ("cntrl", _) if lines => r"\x00-\x09\x0b-\x1f\x7f",
        ("cntrl", _) => r"\x00-\x1f\x7f",
        ("xdigit", _) => "0-9a-fA-F",
        _ => return None,
    })
}

/// Returns what `\w` is between brackets.
pub(super) fn word(unicode: bool) -> &'static str {
    if unicode {
        r"\p{Alphabetic}\p{Nd}_"
    } else {
        "a-zA-Z0-9_"
    }
}
