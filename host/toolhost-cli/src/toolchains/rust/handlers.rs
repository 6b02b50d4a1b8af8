//! Finds the names of a package's handlers in its source.

use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::from_str;

/// The source file of a library, unless its manifest names another.
const LIBRARY: &str = "src/lib.rs";

/// The macro of the SDK.
const MACRO: &str = "handlers";

/// Returns the names in the `handlers!` of a package; `None` if it is not in `src/lib.rs`, or occurs twice.
pub(super) fn find(package: &Path) -> Option<Vec<String>> {
    let source = std::fs::read_to_string(package.join(LIBRARY)).ok()?;
    names(&source)
}

fn names(source: &str) -> Option<Vec<String>> {
    let tokens = TokenStream::from_str(source).ok()?;
    let mut calls = calls(tokens);
    let only = calls.pop()?;
    if calls.is_empty() { parse(only) } else { None }
}

/// Returns the arguments of each call of the macro.
fn calls(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let bodies = tokens.windows(3).filter_map(|three| match three {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(mark),
            TokenTree::Group(group),
        ] if name == MACRO && mark.as_char() == '!' => Some(group.stream()),
        _ => None,
    });
    let mut bodies: Vec<TokenStream> = bodies.collect();
    for token in &tokens {
        if let TokenTree::Group(group) = token
            && group.delimiter() == Delimiter::Brace
        {
            bodies.extend(calls(group.stream()));
        }
    }
    bodies
}

/// Parses `"name" => function { … }, …`, up to a `;`.
fn parse(arguments: TokenStream) -> Option<Vec<String>> {
    let (mut names, mut is_next) = (Vec::new(), true);
    for token in arguments {
        match token {
            TokenTree::Literal(name) if is_next => {
                names.push(from_str::<String>(&name.to_string()).ok()?);
                is_next = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => is_next = true,
            TokenTree::Punct(mark) if mark.as_char() == ';' => break,
            TokenTree::Group(_)
            | TokenTree::Ident(_)
            | TokenTree::Punct(_)
            | TokenTree::Literal(_)
                if is_next =>
            {
                return None;
            }
            TokenTree::Group(_)
            | TokenTree::Ident(_)
            | TokenTree::Punct(_)
            | TokenTree::Literal(_) => {}
        }
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_names_that_the_macro_lists() {
        let check = |source: &str, expected: Option<&[&str]>| {
            let names = names(source);
            let names: Option<Vec<&str>> = names
                .as_ref()
                .map(|it| it.iter().map(String::as_str).collect());
            assert_eq!(names.as_deref(), expected, "{source}");
        };
        check(
            "// handlers! { \"no\" => no }\nhandlers! {\n    \"count\" => count { description: \"a, b\" },\n}",
            Some(&["count"]),
        );
        check(
            "toolhost_guest::handlers! { \"a\" => a, \"b\" => m::b { parameters: json!({\"x\": 1}) } ; poll: p, cancel: c }",
            Some(&["a", "b"]),
        );
        check("mod x { handlers!(\"a\" => a); }", Some(&["a"]));
        check("handlers! { \"a\" => a } handlers! { \"b\" => b }", None);
        check("handlers! { $($name => $f),* }", None);
        check("fn handlers() { let x = \"handlers! {}\"; }", None);
        check("fn broken( {", None);
    }
}
