//! Paths of types of our other crates.

/// Returns a line in which types of our other crates have no modules in their paths. rustdoc names a type by
/// the private module that declares it, and moving it from there to another changes nothing for users.
pub(crate) fn without_modules(line: &str, own: &str) -> String {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut rest = line;
    let mut made = String::new();
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_path(letter)).unwrap_or(rest.len());
        let (path, after) = rest.split_at(end);
        made.push_str(&shortened(path, own));
        let end = after.find(is_path).unwrap_or(after.len());
        let (between, after) = after.split_at(end);
        made.push_str(between);
        rest = after;
    }
    made
}

fn shortened(path: &str, own: &str) -> String {
    let mut segments = path.split("::");
    let first = segments.next().unwrap_or_default();
    if first == own || !first.starts_with("toolhost") {
        return path.to_owned();
    }
    let is_module = |name: &&str| name.starts_with(|letter: char| letter.is_lowercase());
    let names: Vec<&str> = segments.skip_while(is_module).collect();
    if names.is_empty() {
        return path.to_owned();
    }
    format!("{first}::{}", names.join("::"))
}

#[cfg(test)]
mod tests {
    use super::without_modules;

    #[test]
    fn types_of_our_other_crates_have_no_modules_in_their_paths() {
        for (line, made) in [
            (
                "pub fn toolhost::a::f(toolhost_contract::a::b::C<u8>)",
                "pub fn toolhost::a::f(toolhost_contract::C<u8>)",
            ),
            (
                "pub toolhost::S::field: core::a::B",
                "pub toolhost::S::field: core::a::B",
            ),
            (
                "impl<T: toolhost_contract::T::A> X for toolhost::Y",
                "impl<T: toolhost_contract::T::A> X for toolhost::Y",
            ),
            ("pub use toolhost::agents", "pub use toolhost::agents"),
        ] {
            assert_eq!(without_modules(line, "toolhost"), made);
        }
    }
}
