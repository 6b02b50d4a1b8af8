//! Each snippet of the pages is checked by the program that reads it.

mod names;
mod pages;
mod programs;
mod shell;

use std::fs;

use toolhost::{
    Policy,
    manifest::{Bundle, YamlSource},
};
use toolhost_testing::CaseFile;

use crate::terminal::root;
use pages::{Snippet, pages, snippets, snippets_in};

/// The languages of snippets, and what checks them.
const LANGUAGES: [(&str, &str); 9] = [
    ("rust", "a doctest: DOCTESTS names the page"),
    (
        "rust,ignore",
        "handlers_in_the_pages_are_in_files_that_are_built",
    ),
    ("ts", "SCRIPTS"),
    ("js", "SCRIPTS"),
    ("python", "SCRIPTS"),
    ("yaml", "each_yaml_snippet_is_a_bundle_a_policy_or_cases"),
    ("json", "each_json_snippet_is_json"),
    ("sh", "shell::commands_and_their_options_exist"),
    ("text", "nothing: what a program prints, or a drawing"),
];

const PROGRAMS: &str = "host/toolhost-cli/tests/cli/docs/programs.rs";

/// Pages with snippets in TypeScript, JavaScript and Python, and the tests that run them.
const SCRIPTS: [(&str, &str, &str); 7] = [
    (
        "ts",
        "docs/authors/typescript.md",
        "guest-sdk/typescript/test/docs.test.mjs",
    ),
    (
        "ts",
        "docs/clients/typescript.md",
        "clients/typescript/test/page.test.mjs",
    ),
    (
        "python",
        "docs/authors/python.md",
        "guest-sdk/python/test/test_docs.py",
    ),
    (
        "python",
        "docs/clients/python.md",
        "clients/python/test/test_page.py",
    ),
    ("js", "docs/scripts.md", PROGRAMS),
    ("js", "docs/base-tools.md", PROGRAMS),
    ("python", "docs/base-tools.md", PROGRAMS),
];

/// The file that compiles the snippets of pages as doctests.
const DOCTESTS: &str = "tests/src/snippets.rs";

/// Files that other tests build, with the handlers of the pages.
const BUILT: [&str; 2] = [
    "guest-sdk/rust/template/src/lib.rs",
    "guest-sdk/rust/tests/page.rs",
];

#[test]
fn each_snippet_has_a_language_that_is_checked() {
    let doctests = fs::read_to_string(root(DOCTESTS)).unwrap();
    for snippet in pages().iter().flat_map(|page| snippets(page)) {
        let page = &snippet.page;
        let checked = match snippet.language.as_str() {
            "rust" => doctests.contains(&format!("/{page}\")")),
            script @ ("ts" | "js" | "python") => SCRIPTS.iter().any(|(language, of, test)| {
                (script, page.as_str()) == (*language, *of) && root(test).exists()
            }),
            language => LANGUAGES.iter().any(|(known, _)| *known == language),
        };
        assert!(
            checked,
            "nothing checks `{}` in {page}:{}",
            snippet.language, snippet.line
        );
    }
}

#[test]
fn handlers_in_the_pages_are_in_files_that_are_built() {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let built = BUILT.map(|file| dense(&fs::read_to_string(root(file)).unwrap()));
    for snippet in snippets_in("rust,ignore") {
        let text = dense(&snippet.text);
        let found = built.iter().any(|file| file.contains(&text));
        assert!(found, "{}:{}", snippet.page, snippet.line);
    }
}

#[test]
fn each_yaml_snippet_is_a_bundle_a_policy_or_cases() {
    for Snippet {
        page, line, text, ..
    } in snippets_in("yaml")
    {
        let source = YamlSource::new(page.as_str(), &text);
        let read = if text.starts_with("include:") {
            open_with_included(&text)
        } else if text.contains("apiVersion:") {
            Bundle::parse(&source)
                .map(drop)
                .map_err(|e| format!("{e:?}"))
        } else if text.contains("- name:") {
            CaseFile::parse(&source)
                .map(drop)
                .map_err(|e| format!("{e:?}"))
        } else {
            // Of the length that the secret of a webhook has.
            let secret = |_: toolhost::credentials::SecretSource<'_>| Ok("a/secret".repeat(4));
            Policy::parse_with(&text, &page, &secret)
                .map(drop)
                .map_err(|e| e.to_string())
        };
        read.unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
    }
}

/// Opens a bundle beside the bundles that the pages include.
fn open_with_included(text: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    for (folder, tool) in [("csv-stats", "csv"), ("text", "text")] {
        let manifest = format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: {tool}}}\n\
             spec: {{entry: ./{tool}.wasm, exports: [{{name: run}}]}}\n"
        );
        fs::create_dir(dir.path().join(folder)).unwrap();
        fs::write(dir.path().join(folder).join("goondan.yaml"), manifest).unwrap();
    }
    fs::write(dir.path().join("goondan.yaml"), text).unwrap();
    let opened = Bundle::open(dir.path());
    opened.map(drop).map_err(|error| error.to_string())
}

#[test]
fn each_json_snippet_is_json() {
    for Snippet {
        page, line, text, ..
    } in snippets_in("json")
    {
        for value in serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>() {
            value.unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
        }
    }
}

#[test]
fn links_lead_to_files_and_headings() {
    for page in pages() {
        for (line, target) in pages::links(&page) {
            assert!(
                pages::leads_somewhere(&page, &target),
                "{page}:{line}: {target}"
            );
        }
    }
}
