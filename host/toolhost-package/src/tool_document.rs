//! The Tool document of a package, and how `toolhost add` writes it into a manifest.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toolhost_contract::{ErrorMessageLimit, ResourceName, ToolResource};
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_manifest::yaml::write::{quoted, value};
use toolhost_manifest::{Bundle, YamlSource};

/// The keys of an export, in the order in which they are written.
const EXPORT_KEYS: [&str; 5] = [
    "name",
    "description",
    "commitWhen",
    "parameters",
    "outputSchema",
];

/// Why a Tool document cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolDocumentError {
    /// It has no name that a Tool may have.
    #[error("the package has no Tool with a valid name")]
    Name,
    /// It has no list of exports.
    #[error("the package's Tool has no exports")]
    Exports,
    /// It breaks a rule of bundles.
    #[error("the package's Tool is invalid: {0}")]
    Invalid(String),
}

/// Returns the Tool resource of a package, without its entry.
pub fn tool_json(tool: &ToolResource) -> Value {
    let exports = tool.spec.exports.iter().map(|export| {
        let mut member = Map::new();
        member.insert("name".to_owned(), json!(export.name));
        if let Some(description) = &export.description {
            member.insert("description".to_owned(), json!(description));
        }
        if let Some(when) = &export.commit_when {
            member.insert("commitWhen".to_owned(), when.to_json());
        }
        let schemas = [
            ("parameters", &export.parameters),
            ("outputSchema", &export.output_schema),
        ];
        for (key, schema) in schemas {
            if let Some(schema) = schema {
                member.insert(key.to_owned(), schema.to_value());
            }
        }
        Value::Object(member)
    });
    let mut spec = Map::new();
    let limit = tool.spec.error_message_limit;
    if limit != ErrorMessageLimit::DEFAULT {
        spec.insert("errorMessageLimit".to_owned(), json!(limit.units()));
    }
    if !tool.spec.oauth_apps.is_empty() {
        spec.insert("oauthApps".to_owned(), json!(tool.spec.oauth_apps));
    }
    spec.insert("exports".to_owned(), exports.collect());
    json!({
        "apiVersion": "goondan.ai/v1",
        "kind": "Tool",
        "metadata": {"name": tool.metadata.name},
        "spec": spec,
    })
}

/// Writes the Tool document of a package as YAML, with the reference as its entry, and another name if one is
/// given. Only what a Tool may have is written; control characters are escaped.
///
/// # Errors
/// [`ToolDocumentError`] if the document would break a rule of bundles by itself.
pub fn tool_document(
    tool: &Value,
    reference: &PackageReference,
    name: Option<&ResourceName>,
) -> Result<String, ToolDocumentError> {
    let default_name = tool.pointer("/metadata/name").and_then(Value::as_str);
    let default_name = default_name.and_then(|default_name| ResourceName::parse(default_name).ok());
    let name = name
        .cloned()
        .or(default_name)
        .ok_or(ToolDocumentError::Name)?;
    let spec = tool.get("spec").and_then(Value::as_object);
    let spec = spec.ok_or(ToolDocumentError::Exports)?;
    let exports = spec.get("exports").and_then(Value::as_array);
    let exports = exports.ok_or(ToolDocumentError::Exports)?;
    let mut yaml = format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: {name}\nspec:\n  entry: {}\n",
        quoted(&reference.to_string())
    );
    for key in ["errorMessageLimit", "oauthApps"] {
        if let Some(member) = spec.get(key) {
            let _ = writeln!(yaml, "  {key}:{}", value(member, 2));
        }
    }
    yaml.push_str("  exports:\n");
    for export in exports.iter().filter_map(Value::as_object) {
        yaml.push_str(&written_export(export));
    }
    let source = YamlSource::new("the package's Tool", &yaml);
    // References to resources of the bundle are checked in the bundle.
    match Bundle::parse(&source) {
        Ok(_) => Ok(yaml),
        Err(_) if spec.contains_key("oauthApps") => Ok(yaml),
        Err(findings) => {
            let first = findings.iter().find(|finding| finding.is_error());
            let first = first.map(ToString::to_string).unwrap_or_default();
            Err(ToolDocumentError::Invalid(first))
        }
    }
}

fn written_export(export: &Map<String, Value>) -> String {
    let mut yaml = String::new();
    for (index, (key, member)) in EXPORT_KEYS
        .iter()
        .filter_map(|key| Some((key, export.get(*key)?)))
        .enumerate()
    {
        let start = if index == 0 { "    - " } else { "      " };
        let _ = writeln!(yaml, "{start}{key}:{}", value(member, 6));
    }
    yaml
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> PackageReference {
        let digest = format!("sha256:{}", "a".repeat(64));
        let reference = PackageReference::parse("ghcr.io/me/text:1").unwrap();
        reference.with_digest(&digest).unwrap()
    }

    #[test]
    fn a_tool_is_written_with_its_words_and_its_reference() {
        let tool = json!({
            "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
            "spec": {"entry": "./text.wasm", "exports": [
                {"name": "upper", "description": "Upper: \"case\"\n# no comment\u{1b}[2J",
                 "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
                {"name": "lower", "commitWhen": {"pointer": "/a~1b", "equals": "x"}, "parameters": {"type": "object"}}]}});
        let check = |name: Option<&str>, expected: &str| {
            let name = name.map(|name| ResourceName::parse(name).unwrap());
            let yaml = tool_document(&tool, &reference(), name.as_ref()).unwrap();
            let bundle = Bundle::parse(&YamlSource::new("goondan.yaml", &yaml)).unwrap();
            let [tool] = bundle.tools() else { panic!() };
            assert_eq!(tool.metadata.name.as_str(), expected);
            assert_eq!(tool.spec.entry, reference().to_string());
            let description = tool.spec.exports[0].description.as_deref();
            assert_eq!(description, Some("Upper: \"case\"\n# no comment\u{1b}[2J"));
            assert_eq!(tool.spec.exports.len(), 2);
            assert!(!yaml.contains('\u{1b}'));
            let exports = &tool_json(tool)["spec"]["exports"];
            let when = json!({"pointer": "/a~1b", "equals": "x"});
            assert_eq!(
                (&exports[0]["commitWhen"], &exports[1]["commitWhen"]),
                (&Value::Null, &when)
            );
        };
        check(None, "text");
        check(Some("shout"), "shout");
    }

    #[test]
    fn refuses_documents_that_are_no_tool() {
        for (tool, expected) in [
            (json!({}), ToolDocumentError::Name),
            (
                json!({"metadata": {"name": "a__b"}}),
                ToolDocumentError::Name,
            ),
            (
                json!({"metadata": {"name": "a"}}),
                ToolDocumentError::Exports,
            ),
            (
                json!({"metadata": {"name": "a"}, "spec": {"exports": 1}}),
                ToolDocumentError::Exports,
            ),
        ] {
            assert_eq!(
                tool_document(&tool, &reference(), None),
                Err(expected),
                "{tool}"
            );
        }
        let poisoned = json!({"metadata": {"name": "a"}, "spec": {"exports": [{"name": "a b"}]}});
        let error = tool_document(&poisoned, &reference(), None).unwrap_err();
        assert!(matches!(error, ToolDocumentError::Invalid(_)), "{error}");
    }
}
