//! Sets of characters.

use std::cmp::Ordering;

/// A set of characters, as in brackets.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub(super) items: Vec<Item>,
    pub(super) negated: bool,
    pub(super) ignore_case: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Range(char, char),
    Named(Named, bool),
    Class(Class),
}

/// Sets with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Word,
    Digit,
    Space,
    Alphabetic,
    Alphanumeric,
    Lower,
    Upper,
    Punctuation,
    Control,
    Graph,
    Print,
    Blank,
    HexDigit,
    Ascii,
    Number,
    Any,
    /// A script, by its place in the table.
    Script(usize),
}

impl Class {
    pub(super) fn named(named: Named, negated: bool) -> Self {
        Self {
            items: vec![Item::Named(named, negated)],
            negated: false,
            ignore_case: false,
        }
    }

    pub(super) fn contains(&self, char: char) -> bool {
        let found = self.has(char)
            || (self.ignore_case && {
                let (lower, upper) = (lower(char), upper(char));
                (lower != char && self.has(lower)) || (upper != char && self.has(upper))
            });
        found != self.negated
    }

    fn has(&self, char: char) -> bool {
        self.items.iter().any(|item| match item {
            Item::Range(from, to) => (*from..=*to).contains(&char),
            Item::Named(named, negated) => named.contains(char) != *negated,
            Item::Class(class) => class.contains(char),
        })
    }
}

/// The lower case of a character, where that is one character.
pub(super) fn lower(char: char) -> char {
    one(char.to_lowercase(), char)
}

fn upper(char: char) -> char {
    one(char.to_uppercase(), char)
}

fn one(mut chars: impl Iterator<Item = char>, default: char) -> char {
    match (chars.next(), chars.next()) {
        (Some(char), None) => char,
        _ => default,
    }
}

impl Named {
    /// A name as in `[:alpha:]`.
    pub(super) fn posix(name: &str) -> Option<Self> {
        Some(match name {
            "alpha" => Self::Alphabetic,
            "alnum" => Self::Alphanumeric,
            "ascii" => Self::Ascii,
            "blank" => Self::Blank,
            "cntrl" => Self::Control,
            "digit" => Self::Digit,
            "graph" => Self::Graph,
            "lower" => Self::Lower,
            "print" => Self::Print,
            "punct" => Self::Punctuation,
            "space" => Self::Space,
            "upper" => Self::Upper,
            "xdigit" => Self::HexDigit,
            "word" => Self::Word,
            _ => return None,
        })
    }

    /// A name as in `\p{L}`.
    pub(super) fn property(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(|char| !" _-".contains(*char)).collect();
        let name = name.to_ascii_lowercase();
        if let Some(named) = Self::posix(&name) {
            return Some(named);
        }
        Some(match name.as_str() {
            "l" | "letter" | "alphabetic" => Self::Alphabetic,
            "ll" | "lowercaseletter" | "lowercase" => Self::Lower,
            "lu" | "uppercaseletter" | "uppercase" => Self::Upper,
            "n" | "number" => Self::Number,
            "nd" | "decimalnumber" => Self::Digit,
            "p" | "punctuation" => Self::Punctuation,
            "z" | "zs" | "separator" | "spaceseparator" | "whitespace" => Self::Space,
            "cc" | "control" => Self::Control,
            "any" => Self::Any,
            name => Self::Script(SCRIPTS.iter().position(|(script, _)| *script == name)?),
        })
    }

    pub(super) fn contains(self, char: char) -> bool {
        match self {
            Self::Word => char.is_alphanumeric() || is_connector(char) || is_mark(char),
            Self::Digit => is_digit(char),
            Self::Space => char.is_whitespace(),
            Self::Alphabetic => char.is_alphabetic(),
            Self::Alphanumeric => char.is_alphanumeric(),
            Self::Lower => char.is_lowercase(),
            Self::Upper => char.is_uppercase(),
            Self::Punctuation => is_punctuation(char),
            Self::Control => char.is_control(),
            Self::Graph => !char.is_whitespace() && !char.is_control(),
            Self::Print => !char.is_control(),
            Self::Blank => {
                matches!(char, ' ' | '\t')
                    || (char.is_whitespace()
                        && !char.is_control()
                        && !matches!(char, '\u{2028}' | '\u{2029}'))
            }
            Self::HexDigit => char.is_ascii_hexdigit(),
            Self::Ascii => char.is_ascii(),
            Self::Number => char.is_numeric(),
            Self::Any => true,
            Self::Script(script) => SCRIPTS
                .get(script)
                .is_some_and(|(_, ranges)| in_ranges(char, ranges)),
        }
    }
}

fn in_ranges(char: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(char);
    let compare = |(from, to): &(u32, u32)| match (*from > code, *to < code) {
        (true, _) => Ordering::Greater,
        (_, true) => Ordering::Less,
        _ => Ordering::Equal,
    };
    ranges.binary_search_by(compare).is_ok()
}

fn is_connector(char: char) -> bool {
    matches!(
        char,
        '_' | '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{fe33}' | '\u{fe34}' | '\u{fe4d}'
            ..='\u{fe4f}' | '\u{ff3f}'
    )
}

/// Combining marks that are not alphabetic.
fn is_mark(char: char) -> bool {
    in_ranges(
        char,
        &[
            (0x300, 0x36f),
            (0x483, 0x489),
            (0x591, 0x5bd),
            (0x64b, 0x65f),
            (0x93c, 0x93c),
            (0x94d, 0x94d),
            (0x9bc, 0x9bc),
            (0x9cd, 0x9cd),
            (0xe31, 0xe3a),
            (0xe47, 0xe4e),
            (0x1ab0, 0x1aff),
            (0x1dc0, 0x1dff),
            (0x20d0, 0x20f0),
            (0x302a, 0x302f),
            (0x3099, 0x309a),
            (0xfe00, 0xfe0f),
            (0xfe20, 0xfe2f),
            (0xe0100, 0xe01ef),
        ],
    )
}

/// Decimal digits come in tens, from a zero.
fn is_digit(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_digit();
    }
    const ZEROS: &[u32] = &[
        0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
        0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90,
        0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
        0xff10, 0x104a0, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
        0x116c0, 0x11730, 0x118e0, 0x11c50, 0x16a60, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
        0x1d7f6, 0x1e950,
    ];
    let code = u32::from(char);
    let after = ZEROS.partition_point(|zero| *zero <= code);
    after
        .checked_sub(1)
        .and_then(|at| ZEROS.get(at))
        .is_some_and(|zero| code - zero < 10)
}

fn is_punctuation(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_punctuation();
    }
    let ranges = [
        (0xa1, 0xa1),
        (0xa7, 0xa7),
        (0xab, 0xab),
        (0xb6, 0xb7),
        (0xbb, 0xbb),
        (0xbf, 0xbf),
        (0x37e, 0x37e),
        (0x387, 0x387),
        (0x55a, 0x55f),
        (0x589, 0x58a),
        (0x5be, 0x5be),
        (0x5c0, 0x5c0),
        (0x5c3, 0x5c3),
        (0x5f3, 0x5f4),
        (0x609, 0x60d),
        (0x61b, 0x61f),
        (0x66a, 0x66d),
        (0x6d4, 0x6d4),
        (0x964, 0x965),
        (0xe4f, 0xe4f),
        (0x2010, 0x2027),
        (0x2030, 0x205e),
        (0x207d, 0x207e),
        (0x208d, 0x208e),
        (0x2308, 0x230b),
        (0x2329, 0x232a),
        (0x2768, 0x2775),
        (0x27e6, 0x27ef),
        (0x2983, 0x2998),
        (0x2e00, 0x2e5d),
        (0x3001, 0x3003),
        (0x3008, 0x3011),
        (0x3014, 0x301f),
        (0x3030, 0x3030),
        (0x303d, 0x303d),
        (0x30a0, 0x30a0),
        (0x30fb, 0x30fb),
        (0xfe10, 0xfe19),
        (0xfe30, 0xfe52),
        (0xfe54, 0xfe61),
        (0xfe63, 0xfe63),
        (0xff01, 0xff03),
        (0xff05, 0xff0a),
        (0xff0c, 0xff0f),
        (0xff1a, 0xff1b),
        (0xff1f, 0xff20),
        (0xff3b, 0xff3d),
        (0xff3f, 0xff3f),
        (0xff5b, 0xff5b),
        (0xff5d, 0xff5d),
        (0xff5f, 0xff65),
    ];
    in_ranges(char, &ranges)
}

/// The scripts that texts are searched for most. Others are an error.
const SCRIPTS: &[(&str, &[(u32, u32)])] = &[
    (
        "latin",
        &[
            (0x41, 0x5a),
            (0x61, 0x7a),
            (0xaa, 0xaa),
            (0xba, 0xba),
            (0xc0, 0xd6),
            (0xd8, 0xf6),
            (0xf8, 0x2b8),
            (0x2e0, 0x2e4),
            (0x1d00, 0x1d25),
            (0x1e00, 0x1eff),
            (0x2c60, 0x2c7f),
            (0xa722, 0xa7ff),
            (0xab30, 0xab64),
            (0xfb00, 0xfb06),
            (0xff21, 0xff3a),
            (0xff41, 0xff5a),
        ],
    ),
    (
        "greek",
        &[
            (0x370, 0x373),
            (0x375, 0x377),
            (0x37a, 0x37d),
            (0x37f, 0x37f),
            (0x384, 0x384),
            (0x386, 0x386),
            (0x388, 0x3e1),
            (0x3f0, 0x3ff),
            (0x1f00, 0x1ffe),
        ],
    ),
    (
        "cyrillic",
        &[
            (0x400, 0x484),
            (0x487, 0x52f),
            (0x1c80, 0x1c88),
            (0x2de0, 0x2dff),
            (0xa640, 0xa69f),
        ],
    ),
    (
        "hebrew",
        &[
            (0x591, 0x5c7),
            (0x5d0, 0x5ea),
            (0x5ef, 0x5f4),
            (0xfb1d, 0xfb4f),
        ],
    ),
    (
        "arabic",
        &[
            (0x600, 0x604),
            (0x606, 0x60b),
            (0x60d, 0x61a),
            (0x61c, 0x61e),
            (0x620, 0x63f),
            (0x641, 0x64a),
            (0x656, 0x66f),
            (0x671, 0x6dc),
            (0x6de, 0x6ff),
            (0x750, 0x77f),
            (0xfb50, 0xfdff),
            (0xfe70, 0xfefc),
        ],
    ),
    ("thai", &[(0xe01, 0xe3a), (0xe40, 0xe5b)]),
    (
        "devanagari",
        &[(0x900, 0x950), (0x955, 0x963), (0x966, 0x97f)],
    ),
    ("hiragana", &[(0x3041, 0x3096), (0x309d, 0x309f)]),
    (
        "katakana",
        &[
            (0x30a1, 0x30fa),
            (0x30fd, 0x30ff),
            (0x31f0, 0x31ff),
            (0xff66, 0xff6f),
            (0xff71, 0xff9d),
        ],
    ),
    (
        "hangul",
        &[
            (0x1100, 0x11ff),
            (0x302e, 0x302f),
            (0x3131, 0x318e),
            (0x3200, 0x321e),
            (0x3260, 0x327e),
            (0xa960, 0xa97c),
            (0xac00, 0xd7a3),
            (0xd7b0, 0xd7fb),
            (0xffa0, 0xffdc),
        ],
    ),
    (
        "han",
        &[
            (0x2e80, 0x2fd5),
            (0x3005, 0x3005),
            (0x3007, 0x3007),
            (0x3021, 0x3029),
            (0x3038, 0x303b),
            (0x3400, 0x4dbf),
            (0x4e00, 0x9fff),
            (0xf900, 0xfad9),
            (0x20000, 0x323af),
        ],
    ),
];
