//! Finds the names of a package's handlers in its source.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::from_str;

use crate::toolchains::build_error::Fault;

/// The source file of a library, unless its manifest names another.
const LIBRARY: &str = "src/lib.rs";

/// The macro of the SDK.
const MACRO: &str = "handlers";

/// The attribute of the SDK.
const ATTRIBUTE: &str = "tool";

/// Returns the names in the `handlers!` of a package; `None` if it is not in `src/lib.rs`, or occurs twice.
pub(super) fn find(package: &Path) -> Option<Vec<String>> {
    let source = fs::read_to_string(package.join(LIBRARY)).ok()?;
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

/// Returns a note on each function with `#[tool]` in these sources, from the folder of the package, that no `handlers!`
/// names.
pub(super) fn unlisted(package: &Path, sources: &[PathBuf]) -> Vec<Fault> {
    let texts = sources.iter().filter_map(|path| {
        let name = path.strip_prefix(package).ok()?;
        let is_own =
            name.extension().is_some_and(|it| it == "rs") && !name.starts_with(".toolhost");
        let text = is_own.then(|| fs::read_to_string(path).ok()).flatten()?;
        Some((name.display().to_string(), text))
    });
    notes(&texts.collect::<Vec<_>>())
}

fn notes(sources: &[(String, String)]) -> Vec<Fault> {
    let (mut listed, mut functions) = (HashSet::new(), Vec::new());
    for (file, text) in sources {
        let Ok(tokens) = TokenStream::from_str(text) else {
            continue;
        };
        listed.extend(calls(tokens.clone()).into_iter().flat_map(identifiers));
        functions.extend(marked(tokens).into_iter().map(|name| (file, text, name)));
    }
    // Something else than the macro serves the functions.
    if listed.is_empty() {
        return Vec::new();
    }
    let others = functions
        .into_iter()
        .filter(|(_, _, name)| !listed.contains(name));
    let note = |(file, text, name): (&String, &String, String)| Fault {
        file: Some(file.clone()),
        line: line_of(text, &name),
        ..Fault::new(format!(
            "`{name}` has #[tool], and `handlers!` does not list it"
        ))
        .next(format!(
            "Write `handlers! {{ …, {name} }}`, or remove #[tool]."
        ))
    };
    others.map(note).collect()
}

fn identifiers(tokens: TokenStream) -> Vec<String> {
    let names = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Ident(name) => vec![name.to_string()],
        TokenTree::Group(group) => identifiers(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    });
    names.collect()
}

/// Returns the names of the functions with the attribute.
fn marked(tokens: TokenStream) -> Vec<String> {
    let (mut names, mut is_marked, mut is_name) = (Vec::new(), false, false);
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_marked |= is_attribute(group.stream());
            }
            TokenTree::Group(group) => {
                // The body of a module, or of whatever the attribute was on.
                if group.delimiter() == Delimiter::Brace {
                    names.extend(marked(group.stream()));
                    is_marked = false;
                }
            }
            TokenTree::Ident(name) if is_name => {
                names.extend(is_marked.then(|| name.to_string()));
                (is_marked, is_name) = (false, false);
            }
            TokenTree::Ident(word) => is_name = word == "fn",
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    names
}

/// Whether an attribute is `tool`, `toolhost_guest::tool`, or one of them with options.
fn is_attribute(tokens: TokenStream) -> bool {
    let path = tokens.into_iter().take_while(|token| {
        matches!(token, TokenTree::Ident(_))
            || matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':')
    });
    let last = path.filter_map(|token| match token {
        TokenTree::Ident(name) => Some(name),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    });
    last.last().is_some_and(|name| name == ATTRIBUTE)
}

/// Returns the line, from 1, of the first function of this name.
fn line_of(text: &str, function: &str) -> Option<u64> {
    let (head, generic) = (format!("fn {function}("), format!("fn {function}<"));
    let is_head = |line: &str| line.contains(&head) || line.contains(&generic);
    let index = text.lines().position(is_head)?;
    u64::try_from(index + 1).ok()
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
    fn a_function_with_the_attribute_that_is_not_listed_is_noted_with_its_line() {
        let check = |sources: &[&str], expected: &[(&str, u64)]| {
            let sources = sources.iter().enumerate();
            let sources: Vec<_> = sources
                .map(|(index, text)| (format!("{index}.rs"), (*text).to_owned()))
                .collect();
            let notes = notes(&sources);
            let places: Vec<_> = notes
                .iter()
                .map(|note| (note.message.split('`').nth(1).unwrap(), note.line.unwrap()))
                .collect();
            assert_eq!(places, expected, "{sources:?}");
        };
        let lib =
            "handlers! { a, \"x\" => web::c }\n#[tool]\npub fn a(\n    #[default(1)] n: u8) {}\n";
        check(&[lib], &[]);
        check(
            &[&format!(
                "{lib}/// It.\n#[tool(name = \"d\")]\n#[inline]\npub async fn b(x: [u8; 2]) {{}}\nfn other() {{}}"
            )],
            &[("b", 8)],
        );
        check(
            &[
                lib,
                "#[toolhost_guest::tool]\nfn c<T>() {}\nmod m { #[tool] fn d() { fn e() {} } }",
            ],
            &[("d", 3)],
        );
        check(&["#[tool]\nfn a() {}"], &[]);
        check(
            &[lib, "#[test]\nfn tool() {}\n#[other(tool)]\nfn y() {}"],
            &[],
        );
    }

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
