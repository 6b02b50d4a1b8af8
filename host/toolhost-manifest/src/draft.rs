//! Writes a manifest for a component, from the handlers that it describes.

use serde_json::Value;
use toolhost_contract::{ExportName, HandlerSpec, ResourceName, ToolName};

use crate::bundle::Bundle;
use crate::yaml::YamlSource;
use crate::yaml::write::{self, quoted};

/// Name of a Tool whose file name gives none.
const FALLBACK: &str = "tool";

/// Longest name of a Tool that is made of a file name, in characters.
const NAME_MAX: usize = 32;

/// Writes the manifest of a Tool that has this component beside it: its exports are the handlers, with
/// the descriptions and parameters that it gives, as far as a bundle takes them. The text holds nothing
/// that acts on a terminal, and loads.
///
/// Returns none where no handler has a name that models take.
#[must_use]
pub fn manifest(file_name: &str, handlers: &[HandlerSpec]) -> Option<String> {
    let tool = tool_name(file_name, handlers);
    let is_shown = |handler: &&HandlerSpec| shown(&tool, &handler.name);
    let handlers: Vec<&HandlerSpec> = handlers.iter().filter(is_shown).collect();
    if handlers.is_empty() {
        return None;
    }
    let head = format!(
        "# Keep it beside the component.\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: {tool}\nspec:\n  entry: {}\n  exports:\n",
        quoted(&format!("./{file_name}"))
    );
    let loads = |exports: &str| {
        let source = YamlSource::new("goondan.yaml", &format!("{head}{exports}"));
        Bundle::parse(&source).is_ok()
    };
    let richest = |handler: &&HandlerSpec| {
        let whole = export(handler, described_parameters(handler).as_ref());
        // What it says of its parameters may be no schema: then it takes any object.
        match loads(&whole) {
            true => whole,
            false => export(handler, None),
        }
    };
    let exports: String = handlers.iter().map(richest).collect();
    if loads(&exports) {
        return Some(head + &exports);
    }
    // Too much of it for one file: names alone.
    let bare = |handler: &&HandlerSpec| format!("    - name: {}\n", handler.name);
    Some(head.clone() + &handlers.iter().map(bare).collect::<String>())
}

/// A name for the Tool, of the file's, with which every handler has a name that models take, where that
/// is possible.
fn tool_name(file_name: &str, handlers: &[HandlerSpec]) -> ResourceName {
    let stem = file_name.strip_suffix(".wasm").unwrap_or(file_name);
    let letter = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    };
    let name: String = stem.chars().map(letter).take(NAME_MAX).collect();
    let parse = |name: &str| ResourceName::parse(name).ok();
    let fits = |name: &ResourceName| handlers.iter().all(|handler| shown(name, &handler.name));
    let own = parse(name.trim_matches('-')).filter(|name| fits(name));
    let names = [own, parse(FALLBACK), parse("t")];
    let mut names = names.into_iter().flatten();
    let first = names.next();
    let fitting = first.iter().cloned().chain(names).find(|name| fits(name));
    fitting.or(first).unwrap_or_else(fallback)
}

#[expect(clippy::expect_used, reason = "the word is a name")]
fn fallback() -> ResourceName {
    ResourceName::parse(FALLBACK).expect("it is a name")
}

fn shown(tool: &ResourceName, export: &ExportName) -> bool {
    ToolName::new(tool.clone(), export.clone()).is_ok()
}

fn described_parameters(handler: &HandlerSpec) -> Option<Value> {
    serde_json::from_str(handler.parameters.as_deref()?).ok()
}

fn export(handler: &HandlerSpec, parameters: Option<&Value>) -> String {
    let mut yaml = format!("    - name: {}\n", handler.name);
    if let Some(description) = &handler.description {
        yaml += &format!("      description: {}\n", quoted(description));
    }
    let parameters = match parameters {
        Some(parameters) => write::value(parameters, 6),
        None => "{ type: object }".to_owned(),
    };
    let space = if parameters.starts_with('\n') {
        ""
    } else {
        " "
    };
    yaml + &format!("      parameters:{space}{parameters}\n")
}

#[cfg(test)]
mod tests {
    use toolhost_contract::text;

    use super::*;

    fn handler(name: &str, description: Option<&str>, parameters: Option<&str>) -> HandlerSpec {
        HandlerSpec {
            name: ExportName::parse(name).unwrap(),
            description: description.map(str::to_owned),
            parameters: parameters.map(str::to_owned),
        }
    }

    fn parsed(file: &str, handlers: &[HandlerSpec]) -> (String, Bundle) {
        let yaml = manifest(file, handlers).unwrap();
        let bundle = Bundle::parse(&YamlSource::new("goondan.yaml", &yaml));
        let bundle = bundle.unwrap_or_else(|found| panic!("{found:?}: {yaml}"));
        (yaml, bundle)
    }

    #[test]
    fn what_a_component_says_of_itself_is_what_its_manifest_says() {
        let schema = r#"{"type": "object", "properties": {"on": {"type": "string", "enum": ["a: b", "- c", "", "null", "0x1"]},
            "n-1": {"type": ["number", "null"], "minimum": -1.5e3, "default": null, "items": {}, "examples": []}},
            "required": ["on"], "additionalProperties": false}"#;
        let spoken = "Two\nlines: \"quoted\" \\ # no comment\t\u{1b}[2J\u{202e}\u{e0041} 한글 😀";
        let handlers = [
            handler("run", Some(spoken), Some(schema)),
            handler("say", None, None),
        ];
        let (yaml, bundle) = parsed("My Tool.v2.wasm", &handlers);
        assert!(
            !yaml.contains(|c| text::needs_escape(c) && c != '\n'),
            "{yaml}"
        );
        let tool = &bundle.tools()[0];
        assert_eq!(tool.metadata.name.as_str(), "my-tool-v2");
        assert_eq!(tool.spec.entry, "./My Tool.v2.wasm");
        let [run, say] = &*tool.spec.exports else {
            panic!("{yaml}");
        };
        assert_eq!(run.description.as_deref(), Some(spoken));
        let expected: Value = serde_json::from_str(schema).unwrap();
        let written = serde_json::to_value(run.parameters.as_ref().unwrap()).unwrap();
        assert_eq!(written, expected);
        assert_eq!(say.description, None);
    }

    #[test]
    fn whatever_a_component_says_its_manifest_loads() {
        let large = format!(
            r#"{{"type": "object", "description": "{}"}}"#,
            "x".repeat(1 << 19)
        );
        for (file, name, parameters) in [
            ("a.wasm", "run", "no JSON"),
            ("a.wasm", "run", r#"{"type": "string"}"#),
            (
                "a.wasm",
                "run",
                r#"{"type": "object", "$ref": "https://example.com"}"#,
            ),
            ("a.wasm", "run", "[]"),
            ("---\n- x: \u{1b}[2J.wasm", "run", "{}"),
            ("__.wasm", "run", "{}"),
            ("", "run", "{}"),
            (&"long".repeat(40), &"e".repeat(58), "{}"),
        ] {
            parsed(file, &[handler(name, None, Some(parameters))]);
        }
        let many: Vec<_> = (0..3)
            .map(|n| handler(&format!("run{n}"), None, Some(&large)))
            .collect();
        let (yaml, bundle) = parsed("a.wasm", &many);
        assert_eq!(bundle.tools()[0].spec.exports.len(), 3);
        assert!(yaml.len() < 1 << 20);
    }
}
