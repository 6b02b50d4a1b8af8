//! The JSON pointer of a place in a text.

use super::error::JsonPlace;
use super::scan::after_string;
use crate::text;

/// Longest name of a member in a pointer, in characters.
const NAME_MAX: usize = 40;

/// Longest pointer, in characters.
const POINTER_MAX: usize = 100;

/// A step of a pointer: into an array or an object.
enum Step<'t> {
    Item(usize),
    Member(&'t str),
}

/// Returns the pointer of the value at an offset.
pub(super) fn place_of(json: &str, offset: usize) -> JsonPlace {
    let mut steps = Vec::new();
    // Whether the next string is the name of a member.
    let mut is_name = false;
    let mut rest = json.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let at = json.len() - rest.len();
        if at >= offset {
            break;
        }
        rest = after;
        match byte {
            b'"' => {
                rest = after_string(after, json.len(), &mut None);
                if is_name && let Some(Step::Member(name)) = steps.last_mut() {
                    *name = json
                        .get(at + 1..json.len() - rest.len() - 1)
                        .unwrap_or_default();
                }
                is_name = false;
            }
            b'[' | b'{' => {
                is_name = *byte == b'{';
                steps.push(if is_name {
                    Step::Member("")
                } else {
                    Step::Item(0)
                });
            }
            b']' | b'}' => {
                steps.pop();
            }
            b',' => match steps.last_mut() {
                Some(Step::Item(index)) => *index += 1,
                Some(Step::Member(_)) => is_name = true,
                None => {}
            },
            _ => {}
        }
    }
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        match step {
            Step::Item(index) => pointer.push_str(&index.to_string()),
            Step::Member(name) => {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointer.push_str(&text::shorten(&name, NAME_MAX));
            }
        }
        if pointer.len() > POINTER_MAX {
            break;
        }
    }
    JsonPlace::new(text::shorten(&pointer, POINTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_pointer() {
        let check = |json: &str, expected: &str| {
            let offset = json.find('7').unwrap();
            assert_eq!(place_of(json, offset).pointer(), expected, "{json}");
        };
        check("7", "");
        check("[0,[1,7]]", "/1/1");
        check(r#"{"a":{"b":[{"c":1},{"d,":"e","f":7}]}}"#, "/a/b/1/f");
        check(r#"{"a":[1],"b/~":7}"#, "/b~1~0");
        check(r#"{"a":"\"","\"[":7}"#, r#"/\"["#);
        check(
            &format!(r#"{{"{}":7}}"#, "x".repeat(90)),
            &format!("/{}…", "x".repeat(40)),
        );
        check(
            &format!("{}7", "[".repeat(1000)),
            &format!("{}…", "/0".repeat(50)),
        );
    }
}
