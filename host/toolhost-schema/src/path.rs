//! Writes places in JSON values as `args.a.b[0].c`.

use jsonschema::paths::{Location, LocationSegment};

use toolhost_contract::text::short;

/// Writes a JSON pointer as `root.a.b[0].c`.
pub(super) fn dotted(root: &str, pointer: &Location) -> String {
    let root = root.to_owned();
    pointer
        .segments()
        .fold(root, |path, segment| match segment {
            LocationSegment::Property(name) => member(&path, &name),
            LocationSegment::Index(index) => format!("{path}[{index}]"),
        })
}

/// Writes the place of an object's member: `args.name`, or `args["a b"]` if the name is not a word.
pub(super) fn member(object: &str, name: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || "_-$@".contains(c);
    if !name.is_empty() && name.chars().all(in_word) {
        format!("{object}.{}", short(name))
    } else {
        format!("{object}[{:?}]", short(name))
    }
}
