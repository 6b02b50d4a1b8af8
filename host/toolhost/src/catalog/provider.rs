//! What the APIs of model providers accept of a catalog: tools are rewritten where that loses nothing that the
//! model needs, and the rest is a finding. The host validates arguments with the full schema in any case.

mod fold;
mod forms;

use serde_json::{Value, json};
use toolhost_contract::{JsonObject, JsonSchemaObject, ToolCatalogItem, ToolName};
use toolhost_manifest::Severity;

use super::ToolCatalog;
use fold::fold;

/// Tools in one request to OpenAI, as its API answers: "Invalid 'tools': array too long. Expected an array with
/// maximum length 128"; and to Gemini, as the page "Function Calling API" of Vertex AI says.
const TOOLS_MAX: usize = 128;

/// Characters of a description, as OpenAI's API answers: "Invalid 'tools[0].function.description': string too
/// long. Expected a string with maximum length 1024". Models of 2025 and later accept more.
const OPENAI_DESCRIPTION_MAX: usize = 1024;

/// Characters of a parameter's name, as Anthropic's API answers: "Property keys should match pattern
/// '^[a-zA-Z0-9_.-]{1,64}$'". It checks the parameters themselves, not what is nested in them.
const ANTHROPIC_KEY_MAX: usize = 64;

/// A provider of models whose API gets tools in its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelProvider {
    /// OpenAI, and services with the same API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google, through the Gemini API and Vertex AI.
    Gemini,
}

impl ModelProvider {
    /// Returns its name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
        }
    }
}

/// What a provider refuses, or does not get as the author wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderFinding {
    /// An error if the provider refuses every request with this tool, a warning if some of its models do, a
    /// note if it gets the tool in other words.
    pub severity: Severity,
    /// The tool. None for the catalog as a whole.
    pub tool: Option<ToolName>,
    /// What is wrong, on one line.
    pub message: String,
    /// The next step for the reader.
    pub help: String,
}

/// A tool as a provider gets it.
pub(super) struct ProviderTool {
    pub(super) description: Option<String>,
    pub(super) parameters: JsonObject,
    /// What of the schema is in the description now. Empty if the schema is unchanged.
    notes: Vec<String>,
    /// Why the schema is unchanged although the provider refuses it.
    refusal: Option<String>,
}

impl ProviderTool {
    /// Rewrites what providers refuse at the top of a schema.
    pub(super) fn of(item: &ToolCatalogItem) -> Self {
        let any = || JsonSchemaObject::any_object().as_object().clone();
        let parameters = item.parameters.as_ref();
        let parameters = parameters.map_or_else(any, |schema| schema.as_object().clone());
        let unchanged = |parameters, refusal| Self {
            description: item.description.clone(),
            parameters,
            notes: Vec::new(),
            refusal,
        };
        match fold(&parameters) {
            Ok(None) => unchanged(parameters, None),
            Err(refusal) => unchanged(parameters, Some(refusal)),
            Ok(Some(folded)) => Self {
                description: described(item.description.as_deref(), &folded.notes),
                parameters: folded.schema,
                notes: folded.notes,
                refusal: None,
            },
        }
    }

    /// As [`Self::of`], for OpenAI, whose API refuses two more schemas.
    pub(super) fn for_openai(item: &ToolCatalogItem) -> Self {
        let mut tool = Self::of(item);
        // "object schema missing properties"
        let properties = tool.parameters.entry("properties");
        properties.or_insert_with(|| json!({}));
        tool.parameters.values_mut().for_each(add_items);
        tool
    }
}

fn described(description: Option<&str>, notes: &[String]) -> Option<String> {
    let paragraphs = description
        .into_iter()
        .chain(notes.iter().map(String::as_str));
    let paragraphs: Vec<&str> = paragraphs.filter(|text| !text.is_empty()).collect();
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n"))
}

/// Adds `items` to arrays without it, which allows what is allowed already: OpenAI answers "array schema missing
/// items". Recurses as deep as the schema, whose depth is limited.
fn add_items(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            let is_array = keywords.get("type").is_some_and(|kind| kind == "array");
            if is_array && !keywords.contains_key("prefixItems") {
                keywords.entry("items").or_insert_with(|| json!({}));
            }
            for (keyword, value) in keywords {
                // These are values, not schemas.
                if !["enum", "const", "default", "examples"].contains(&keyword.as_str()) {
                    add_items(value);
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(add_items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl ToolCatalog {
    /// Returns what a provider's API refuses of this catalog, and what it gets in other words than the author's:
    /// in the order of the items.
    ///
    /// Only documented and observed limits of requests without `strict` are checked. One tool that is refused
    /// makes the API refuse the whole request.
    #[must_use]
    pub fn findings_for(&self, provider: ModelProvider) -> Vec<ProviderFinding> {
        let mut findings = Vec::new();
        let count = self.items().len();
        let is_limited = provider != ModelProvider::Anthropic;
        if is_limited && count > TOOLS_MAX {
            findings.push(ProviderFinding {
                severity: Severity::Error,
                tool: None,
                message: format!(
                    "the agent has {count} tools: {} takes {TOOLS_MAX} in one request",
                    provider.name()
                ),
                help: "Give the agent fewer tools, or hide some with a step middleware.".to_owned(),
            });
        }
        for item in self.items() {
            of_item(item, provider, &mut findings);
        }
        findings
    }
}

fn of_item(item: &ToolCatalogItem, provider: ModelProvider, findings: &mut Vec<ProviderFinding>) {
    let (name, api) = (item.name.as_str(), provider.name());
    let mut add = |severity, message: String, help: &str| {
        findings.push(ProviderFinding {
            severity,
            tool: Some(item.name.clone()),
            message,
            help: help.to_owned(),
        });
    };
    let tool = ProviderTool::of(item);
    if let Some(reason) = &tool.refusal {
        add(
            Severity::Error,
            format!("the parameters of '{name}' cannot be given to {api}: {reason}"),
            "Describe the arguments with `properties` at the top of the schema.",
        );
    } else if !tool.notes.is_empty() {
        add(
            Severity::Note,
            format!(
                "{api} gets the top of the parameters of '{name}' in other words: {}",
                tool.notes.join(" ")
            ),
            "Describe the arguments with `properties` at the top of the schema to choose the words yourself.",
        );
    }
    match provider {
        ModelProvider::OpenAi => {
            let length = tool
                .description
                .as_deref()
                .map_or(0, |text| text.chars().count());
            if length > OPENAI_DESCRIPTION_MAX {
                add(
                    Severity::Warning,
                    format!(
                        "the description of '{name}' has {length} characters: some models of {api} take {OPENAI_DESCRIPTION_MAX}"
                    ),
                    "Shorten the description, or move parts of it to the descriptions of parameters.",
                );
            }
        }
        ModelProvider::Anthropic => {
            let properties = tool.parameters.get("properties").and_then(Value::as_object);
            let keys = properties.into_iter().flat_map(JsonObject::keys);
            for key in keys.filter(|key| !is_anthropic_key(key)) {
                add(
                    Severity::Error,
                    format!(
                        "the parameter {key:?} of '{name}': {api} takes names of 1 to {ANTHROPIC_KEY_MAX} of a-z, A-Z, 0-9, '_', '.' and '-'"
                    ),
                    "Rename the parameter.",
                );
            }
        }
        ModelProvider::Gemini => {
            // The reference of FunctionDeclaration.
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                add(
                    Severity::Error,
                    format!("the name '{name}' begins with a digit: {api} takes a letter"),
                    "Rename the Tool.",
                );
            }
            if tool.description.is_none() {
                add(
                    Severity::Warning,
                    format!("'{name}' has no description, which {api} requires"),
                    "Describe the export in the component or in the manifest.",
                );
            }
        }
    }
}

fn is_anthropic_key(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=ANTHROPIC_KEY_MAX).contains(&key.len()) && key.bytes().all(is_plain)
}

#[cfg(test)]
mod tests;
