//! Generates a manifest for a component from its description.

use serde_json::Value;
use toolhost_contract::{ExportName, HandlerSpec, JsonLimits, ResourceName, ToolName};

use crate::bundle::Bundle;
use crate::yaml::YamlSource;
use crate::yaml::write::{self, quoted};

/// Maximum length of a Tool's name that is derived from a file name, in characters.
const NAME_MAX: usize = 32;

/// Generates the manifest of a Tool for the component in the file `file_name`, which is beside the
/// manifest. It exports the handlers with their descriptions and parameters, as far as these are valid
/// in a bundle; an export without them has those of the component. The text can be loaded, and control and invisible characters in it are escaped.
///
/// Returns `None` if no handler has a valid name.
pub fn manifest(file_name: &str, handlers: &[HandlerSpec]) -> Option<String> {
    let tool = tool_name(file_name, handlers)?;
    let is_valid = |handler: &&HandlerSpec| is_tool_name(&tool, &handler.name);
    let handlers: Vec<&HandlerSpec> = handlers.iter().filter(is_valid).collect();
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
    let described = |handler: &&HandlerSpec| {
        let parameters = handler.parameters.as_deref();
        let parameters = parameters.and_then(|json| JsonLimits::SCHEMA.parse(json).ok());
        let whole = export(handler, parameters.as_ref());
        if loads(&whole) {
            whole
        } else {
            name_line(handler)
        }
    };
    let exports: String = handlers.iter().map(described).collect();
    if loads(&exports) {
        return Some(head + &exports);
    }
    // The descriptions are too large for one file: the host takes them from the component.
    let names = handlers.iter().map(|handler| name_line(handler));
    Some(names.fold(head, |yaml, name| yaml + &name))
}

/// Returns a name for the Tool that gives every handler a valid tool name, if possible: the file's name,
/// `tool` or `t`.
fn tool_name(file_name: &str, handlers: &[HandlerSpec]) -> Option<ResourceName> {
    let stem = file_name.strip_suffix(".wasm").unwrap_or(file_name);
    let letter = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    };
    let base: String = stem.chars().map(letter).take(NAME_MAX).collect();
    let is_valid = |name: &ResourceName| handlers.iter().all(|h| is_tool_name(name, &h.name));
    let names = [base.trim_matches('-'), "tool", "t"].map(|name| ResourceName::parse(name).ok());
    let valid = names.iter().flatten().find(|name| is_valid(name)).cloned();
    valid.or_else(|| ResourceName::parse("tool").ok())
}

fn is_tool_name(tool: &ResourceName, export: &ExportName) -> bool {
    ToolName::new(tool.clone(), export.clone()).is_ok()
}

fn name_line(handler: &HandlerSpec) -> String {
    format!("    - name: {}\n", handler.name)
}

fn export(handler: &HandlerSpec, parameters: Option<&Value>) -> String {
    let mut yaml = name_line(handler);
    if let Some(description) = &handler.description {
        yaml += &format!("      description: {}\n", quoted(description));
    }
    let parameters = match parameters {
        Some(parameters) => write::value(parameters, 6),
        None => " { type: object }".to_owned(),
    };
    yaml + &format!("      parameters:{parameters}\n")
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
            output_schema: None,
        }
    }

    fn parsed(file: &str, handlers: &[HandlerSpec]) -> (String, Bundle) {
        let yaml = manifest(file, handlers).unwrap();
        let bundle = Bundle::parse(&YamlSource::new("goondan.yaml", &yaml));
        let bundle = bundle.unwrap_or_else(|found| panic!("{found:?}: {yaml}"));
        (yaml, bundle)
    }

    #[test]
    fn the_manifest_has_the_descriptions_of_the_component() {
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
    fn the_manifest_of_any_component_loads() {
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
