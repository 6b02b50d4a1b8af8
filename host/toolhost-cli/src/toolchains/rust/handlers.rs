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
    if !calls.is_empty() {
        return None;
    }
    // `#[tool(name = "…")]` gives a function another name, also in another file.
    let is_plain = |function: &String| {
        let (declared, generic) = (format!("fn {function}("), format!("fn {function}<"));
        source.contains(&declared) || source.contains(&generic)
    };
    let listed = parse(only)?;
    let is_known = listed.functions.iter().all(is_plain)
        && (listed.functions.is_empty() || !source.contains("tool(name"));
    is_known.then_some(listed.names)
}

/// What the macro lists.
#[derive(Default)]
struct Listed {
    names: Vec<String>,
    /// Those of the names that are functions with `#[tool]`.
    functions: Vec<String>,
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

/// Parses `function, "name" => function { … }, …`, up to a `;`.
fn parse(arguments: TokenStream) -> Option<Listed> {
    let (mut listed, mut is_next, mut is_function) = (Listed::default(), true, false);
    for token in arguments {
        match token {
            TokenTree::Literal(name) if is_next => {
                let name: String = from_str(&name.to_string()).ok()?;
                listed.names.push(name);
                (is_next, is_function) = (false, false);
            }
            TokenTree::Ident(name) if is_next => {
                listed.names.push(name.to_string());
                listed.functions.push(name.to_string());
                (is_next, is_function) = (false, true);
            }
            // The function of another module.
            TokenTree::Punct(mark) if mark.as_char() == ':' && is_function => return None,
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
    (!listed.names.is_empty()).then_some(listed)
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
        check(
            "handlers! { a, \"b\" => m::c }\n#[tool]\nfn a(x: u8) {}",
            Some(&["a", "b"]),
        );
        check("handlers! { a }", None);
        check("handlers! { m::a }\nfn a() {}", None);
        check("handlers! { a }\n#[tool(name = \"b\")]\nfn a() {}", None);
        check("mod x { handlers!(\"a\" => a); }", Some(&["a"]));
        check("handlers! { \"a\" => a } handlers! { \"b\" => b }", None);
        check("handlers! { $($name => $f),* }", None);
        check("fn handlers() { let x = \"handlers! {}\"; }", None);
        check("fn broken( {", None);
    }
}
