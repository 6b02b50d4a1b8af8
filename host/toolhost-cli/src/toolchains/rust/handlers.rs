//! Finds the names of a package's handlers in its source.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use serde_json::from_str;
use syn::ItemFn;

use super::source::{SDK, SourceFile, Sources};
use crate::toolchains::build_error::Fault;

/// The source file of a library, unless its manifest names another.
const LIBRARY: &str = "src/lib.rs";

/// The interface that a component exports.
const INTERFACE: &str = "goondan:tool/handlers@";

/// The macro of the SDK.
const MACRO: &str = "handlers";

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

/// Returns a note on each function with `#[tool]` that no `handlers!` names.
pub(super) fn unlisted(sources: &Sources) -> Vec<Fault> {
    let mut listed = HashSet::new();
    for file in &sources.0 {
        let calls = calls(file.tokens.clone()).into_iter();
        listed.extend(calls.flat_map(identifiers).map(|name| name.to_string()));
    }
    // Something else than the macro serves the functions.
    if listed.is_empty() {
        return Vec::new();
    }
    let tools = sources.tools().into_iter();
    let others = tools.filter(|(_, tool)| !listed.contains(&tool.sig.ident.to_string()));
    let note = |(file, tool): (&SourceFile, &ItemFn)| {
        let name = &tool.sig.ident;
        let message = format!("`{name}` has #[tool], and `handlers!` does not list it");
        let note = file.fault(name.span(), message);
        note.next(format!(
            "Write `handlers! {{ …, {name} }}`, or remove #[tool]."
        ))
    };
    others.map(note).collect()
}

/// Returns the error of a package that has functions with `#[tool]` and never names `handlers!`.
pub(super) fn unserved(sources: &Sources) -> Option<Fault> {
    let mut files = sources.0.iter();
    let tools = sources.tools();
    let (file, tool) = tools.first()?;
    if files.any(|file| names_macro(file.tokens.clone())) {
        return None;
    }
    let names: Vec<String> = tools
        .iter()
        .map(|(_, tool)| tool.sig.ident.to_string())
        .collect();
    let message = format!(
        "`{}` has #[tool], and the package has no `handlers!`: the component would have no handlers",
        tool.sig.ident
    );
    let fault = file.fault(tool.sig.ident.span(), message);
    let next = format!(
        "Write `toolhost_guest::handlers! {{ {} }}` into src/lib.rs, with the path of a function in a module.",
        names.join(", ")
    );
    Some(fault.next(next))
}

/// Whether a component exports handlers: the name of the interface is in it.
pub(super) fn are_served(component: &[u8]) -> bool {
    let mut places = component.windows(INTERFACE.len());
    places.any(|bytes| bytes == INTERFACE.as_bytes())
}

/// Whether tokens have `handlers!` anywhere, also within a macro.
fn names_macro(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_called = |pair: &[TokenTree]| match pair {
        [TokenTree::Ident(name), TokenTree::Punct(mark)] => name == MACRO && mark.as_char() == '!',
        _ => false,
    };
    tokens.windows(2).any(is_called)
        || tokens.iter().any(|token| match token {
            TokenTree::Group(group) => names_macro(group.stream()),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
}

/// What rustc says of a function without `#[tool]` that `handlers!` lists, and of a name that there is not.
const NO_TYPE: [&str; 2] = ["expected type, found function `", "cannot find type `"];

/// Replaces errors of the compiler about what `handlers!` lists.
pub(super) fn explained(package: &Path, faults: Vec<Fault>) -> Vec<Fault> {
    let explained: Vec<Fault> = faults
        .iter()
        .filter_map(|fault| explain(package, fault))
        .collect();
    if explained.is_empty() {
        return faults;
    }
    // The macro uses the name more than once, and rustc places some of the uses in the SDK.
    let is_other = |fault: &Fault| {
        let file = fault.file.as_deref().unwrap_or_default();
        explain(package, fault).is_none() && !file.contains(SDK)
    };
    let mut all: Vec<Fault> = faults.into_iter().filter(is_other).collect();
    for fault in explained {
        if !all.contains(&fault) {
            all.push(fault);
        }
    }
    all
}

fn explain(package: &Path, fault: &Fault) -> Option<Fault> {
    let mut forms = NO_TYPE.iter();
    let named = forms.find_map(|form| fault.message.strip_prefix(form))?;
    let (listed, _) = named.split_once('`')?;
    let name = fault.file.clone()?;
    // From the folder of the package, or from that of its workspace.
    let mut paths = package.ancestors().map(|folder| folder.join(&name));
    let text = fs::read_to_string(paths.find(|path| path.is_file())?).ok()?;
    let file = SourceFile::parse(name, &text)?;
    let mut named = calls(file.tokens).into_iter().flat_map(identifiers);
    let at = |ident: &Ident| {
        let start = ident.span().start();
        (
            u64::try_from(start.line).ok(),
            u64::try_from(start.column + 1).ok(),
        )
    };
    let is_named = |ident: Ident| at(&ident) == (fault.line, fault.column);
    if !named.any(is_named) {
        return None;
    }
    let function = listed.rsplit("::").next().unwrap_or(listed);
    let next = format!("Write `#[tool]` above `fn {function}`, or correct the list.");
    let explained = Fault {
        message: format!("`handlers!` lists `{listed}`, which is not a function with #[tool]"),
        detail: None,
        ..fault.clone()
    };
    Some(explained.next(next))
}

fn identifiers(tokens: TokenStream) -> Vec<Ident> {
    let names = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Ident(name) => vec![name],
        TokenTree::Group(group) => identifiers(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    });
    names.collect()
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
            let files = sources
                .map(|(index, text)| SourceFile::parse(format!("{index}.rs"), text).unwrap());
            let sources = Sources(files.collect());
            let notes = unlisted(&sources);
            let places: Vec<_> = notes
                .iter()
                .map(|note| (note.message.split('`').nth(1).unwrap(), note.line.unwrap()))
                .collect();
            assert_eq!(places, expected);
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
