//! How a place in a JSON value is written for a reader: `args.a.b[0].c`.

use jsonschema::paths::{Location, LocationSegment};

use toolhost_contract::text;

/// Longest member name shown, in characters.
const MEMBER_MAX: usize = 80;

/// Writes a JSON pointer as `root.a.b[0].c`.
pub(super) fn dotted(root: &str, pointer: &Location) -> String {
    let mut path = root.to_owned();
    for segment in pointer.segments() {
        match segment {
            LocationSegment::Property(name) => push_member(&mut path, &name),
            LocationSegment::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// Writes the place of a member of an object: `args.name`, or `args["a b"]` where the name would
/// not be read as one word.
pub(super) fn member(object: &str, name: &str) -> String {
    let mut path = object.to_owned();
    push_member(&mut path, name);
    path
}

fn push_member(path: &mut String, name: &str) {
    let is_word = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-$@".contains(c));
    let name = text::shorten(name, MEMBER_MAX);
    if is_word {
        path.push_str(&format!(".{name}"));
    } else {
        path.push_str(&format!("[{name:?}]"));
    }
}
