//! Exact replacements in a text.

use serde::Deserialize;

use crate::line_ends::LineEnds;
use crate::nearest::nearest;
use crate::room::first_chars;

/// Numbers of lines that are listed.
const LISTED_MAX: usize = 20;

/// Lines of the nearest place that are shown, and characters of each.
const SHOWN_MAX: usize = 4;
const SHOWN_CHARS_MAX: usize = 160;

/// A text to be replaced, and what takes its place.
#[derive(Deserialize)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    #[serde(default)]
    pub(crate) all: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Replaced {
    pub(crate) text: String,
    pub(crate) count: usize,
    /// Whether LF in the arguments was taken for CRLF.
    pub(crate) is_crlf: bool,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq)]
pub(crate) enum Miss {
    Empty,
    Same,
    /// With the nearest place, if there is one.
    None(String),
    Several {
        count: usize,
        lines: String,
    },
}

/// Replaces a text where it stands once, or wherever it stands.
pub(crate) fn replace(text: &str, edit: &Edit) -> Result<Replaced, Miss> {
    if edit.old.is_empty() {
        return Err(Miss::Empty);
    }
    if edit.old == edit.new {
        return Err(Miss::Same);
    }
    let line_ends = LineEnds::of(text);
    let (old, new) = (line_ends.apply(&edit.old), line_ends.apply(&edit.new));
    let is_crlf = old != edit.old || new != edit.new;
    // A text may stand at places that overlap: two, of which one would be taken by chance.
    let step = if edit.all {
        old.len()
    } else {
        old.chars().next().map_or(1, char::len_utf8)
    };
    let places = places(text, &old, step);
    if places.is_empty() {
        return Err(Miss::None(show_nearest(text, &edit.old)));
    }
    if places.len() > 1 && !edit.all {
        return Err(Miss::Several {
            count: places.len(),
            lines: line_numbers(text, &places),
        });
    }
    let mut result = String::with_capacity(text.len() + new.len());
    let mut copied = 0;
    for at in &places {
        result.push_str(text.get(copied..*at).unwrap_or_default());
        result.push_str(&new);
        copied = at + old.len();
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    Ok(Replaced {
        text: result,
        count: places.len(),
        is_crlf,
    })
}

fn places(text: &str, old: &str, step: usize) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(old);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.as_bytes().get(from..) {
        let Some(at) = finder.find(rest) else { break };
        places.push(from + at);
        from += at + step;
    }
    places
}

/// Returns the numbers of the lines of these places: `4, 10, 33 and 12 more`.
fn line_numbers(text: &str, places: &[usize]) -> String {
    let mut line = 1;
    let mut counted = 0;
    let mut numbers = Vec::new();
    for at in places.iter().take(LISTED_MAX) {
        let between = text.as_bytes().get(counted..*at).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', between).count();
        counted = *at;
        numbers.push(line.to_string());
    }
    match places.len().saturating_sub(LISTED_MAX) {
        0 => numbers.join(", "),
        more => format!("{} and {more} more", numbers.join(", ")),
    }
}

fn show_nearest(text: &str, old: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let wanted: Vec<_> = old.lines().collect();
    let Some(place) = nearest(&lines, &wanted) else {
        return "nothing in the file is like it".into();
    };
    let shown = wanted.len().min(SHOWN_MAX);
    let here = lines.iter().skip(place.at).take(shown);
    let shown: Vec<_> = here.map(|line| quote(line)).collect();
    let what = if place.is_same_but_space {
        "the same but for white space is at"
    } else {
        "the nearest is"
    };
    format!("{what} line {}: {}", place.at + 1, shown.join(", "))
}

/// Returns a line as it would stand in JSON, so that tabs and spaces can be told apart.
pub(crate) fn quote(line: &str) -> String {
    let (first, is_all) = first_chars(line, SHOWN_CHARS_MAX);
    let rest = if is_all { "" } else { "…" };
    format!("{}{rest}", toolhost_guest::json!(first))
}

#[cfg(test)]
mod tests {
    use super::{Edit, Miss, replace};

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit {
            old: old.into(),
            new: new.into(),
            all,
        }
    }

    #[test]
    fn replaces_one_place_or_all() {
        for (text, old, new, all, expected, count) in [
            ("a b c", "b", "B", false, "a B c", 1),
            ("aaa", "a", "b", true, "bbb", 3),
            ("x\ny\n", "x\ny", "z", false, "z\n", 1),
            ("x\r\ny\r\n", "x\ny", "1\n2\n3", false, "1\r\n2\r\n3\r\n", 1),
            ("x\r\ny\r\n", "y", "y\nz", false, "x\r\ny\r\nz\r\n", 1),
            ("x\r\ny\n", "x\r\ny", "z", false, "z\n", 1),
            ("가나", "나", "", false, "가", 1),
        ] {
            let replaced = replace(text, &edit(old, new, all)).unwrap();
            assert_eq!(
                (replaced.text.as_str(), replaced.count),
                (expected, count),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_miss_says_where_the_text_stands_or_what_is_like_it() {
        let text = "fn a() {\n\treturn 1;\n}\nfn b() {\n\treturn 1;\n}\n";
        for (old, expected) in [
            ("", Miss::Empty),
            ("x", Miss::Same),
            (
                "return 1;",
                Miss::Several {
                    count: 2,
                    lines: "2, 5".into(),
                },
            ),
            (
                "    return 1;",
                Miss::None("the same but for white space is at line 2: \"\\treturn 1;\"".into()),
            ),
            (
                "\treturn 10;\n",
                Miss::None("the nearest is line 2: \"\\treturn 1;\"".into()),
            ),
            (
                "SELECT *",
                Miss::None("nothing in the file is like it".into()),
            ),
        ] {
            assert_eq!(
                replace(text, &edit(old, "x", false)),
                Err(expected),
                "{old:?}"
            );
        }
        let overlapping = replace("aaa", &edit("aa", "b", false));
        assert_eq!(
            overlapping,
            Err(Miss::Several {
                count: 2,
                lines: "1, 1".into()
            })
        );
    }
}
