//! Writes the exports that code describes into the text of a manifest.
//!
//! A line that ends with [`MARK`] belongs to the code: it is written again when the code changes. All other lines,
//! comments among them, are the author's and stay.

use serde_json::Value;
use toolhost_contract::ResourceName;

use crate::yaml::{self, Node, Value as YamlValue, YamlSource, write};

/// The end of a line that belongs to the code.
pub const MARK: &str = "# from the code";

/// The keys of an export that code describes, in the order in which they are written.
const KEYS: [&str; 3] = ["description", "parameters", "outputSchema"];

/// Maximum number of documents of a manifest.
const DOCUMENTS_MAX: usize = 1_000;

/// Which exports are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// All that the code describes.
    All,
    /// Those of a list that has lines of the code already.
    Marked,
}

/// Why exports cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportsTextError {
    /// The text is not that of a manifest with the Tool.
    #[error("the manifest has no such Tool")]
    NoTool,
    /// The Tool is in the flow style of YAML, or has keys in an order that leaves no line for each.
    #[error("the exports cannot be written between braces")]
    Flow,
}

impl ExportsTextError {
    /// Returns what the author can do.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::NoTool => "Name the manifest that declares the Tool.",
            Self::Flow => {
                "Write `spec:` with a line for each key, and each export as `- name: NAME` with its other keys below."
            }
        }
    }
}

/// Returns the text with the exports of a Tool as code describes them: each has a `name`, and `description`,
/// `parameters` and `outputSchema` as far as they are known. The text is the same if nothing has changed.
///
/// # Errors
/// [`ExportsTextError`] if the text has no lines for them.
pub fn with_exports(
    text: &str,
    tool: &ResourceName,
    exports: &[Value],
    written: Written,
) -> Result<String, ExportsTextError> {
    let source = YamlSource::new("", text);
    let documents = yaml::documents(&source, DOCUMENTS_MAX);
    let documents: Vec<Node> = documents.into_iter().flatten().collect();
    let spec = documents
        .iter()
        .find_map(|document| spec_of(document, tool));
    let spec = spec.ok_or(ExportsTextError::NoTool)?;
    let lines: Vec<&str> = source.text().lines().collect();
    let mut edits = Edits::default();
    match spec.get("exports") {
        Some(list) => update(&lines, list, exports, written, &mut edits)?,
        None if written == Written::All => {
            let (line, indent) = key_line(&lines, spec, "entry")?;
            let mut block = format!("{:indent$}exports:", "");
            for export in exports {
                block += "\n";
                block += &item(export, indent + 2);
            }
            edits.insert(end_of(&lines, line, indent), block);
        }
        None => {}
    }
    Ok(edits.apply(text, &lines))
}

/// Returns the `spec` of a document, if it is that of the Tool.
fn spec_of<'n>(document: &'n Node, tool: &ResourceName) -> Option<&'n Node> {
    let text = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(YamlValue::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let is_tool = text(document.get("kind")).as_deref() == Some("Tool");
    let name = text(document.get("metadata").and_then(|it| it.get("name")));
    (is_tool && name.as_deref() == Some(tool.as_str()))
        .then(|| document.get("spec"))
        .flatten()
}

/// Updates the items of a list of exports.
fn update(
    lines: &[&str],
    list: &Node,
    exports: &[Value],
    written: Written,
    edits: &mut Edits,
) -> Result<(), ExportsTextError> {
    let YamlValue::List(nodes) = &list.value else {
        return Err(ExportsTextError::Flow);
    };
    let items: Vec<Item<'_>> = match nodes.iter().map(|node| Item::of(lines, node)).collect() {
        Ok(items) => items,
        // Nothing of it belongs to the code.
        Err(_) if written == Written::Marked => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_marked = items
        .iter()
        .any(|item| item.keys.iter().any(|key| key.is_marked));
    let Some(last) = items
        .last()
        .filter(|_| is_marked || written == Written::All)
    else {
        return Ok(());
    };
    for export in exports {
        let Some(existing) = items.iter().find(|it| Some(it.name) == name_of(export)) else {
            edits.insert(last.end, item(export, last.indent - 2));
            continue;
        };
        for key in KEYS {
            let line = export
                .get(key)
                .map(|value| key_text(key, value, existing.indent));
            match (existing.keys.iter().find(|it| it.name == key), line) {
                (Some(old), line) if old.is_marked => edits.replace(old.start, old.end, line),
                (None, Some(line)) => edits.insert(existing.end, line),
                (Some(_) | None, _) => {}
            }
        }
    }
    for item in &items {
        let is_described = exports
            .iter()
            .any(|export| name_of(export) == Some(item.name));
        if !is_described && !item.keys.is_empty() && item.keys.iter().all(|key| key.is_marked) {
            edits.replace(item.start, item.end, None);
        }
    }
    Ok(())
}

fn name_of(export: &Value) -> Option<&str> {
    export.get("name").and_then(Value::as_str)
}

/// An export in the text. Lines are counted from 0, and ends are exclusive.
struct Item<'n> {
    name: &'n str,
    start: usize,
    end: usize,
    /// Columns before its keys.
    indent: usize,
    /// The keys but the name.
    keys: Vec<KeyLines<'n>>,
}

struct KeyLines<'n> {
    name: &'n str,
    start: usize,
    end: usize,
    is_marked: bool,
}

impl<'n> Item<'n> {
    fn of(lines: &[&str], node: &'n Node) -> Result<Self, ExportsTextError> {
        let YamlValue::Map(entries) = &node.value else {
            return Err(ExportsTextError::Flow);
        };
        let name = match node.get("name").map(|name| &name.value) {
            Some(YamlValue::Text(name)) => name,
            _ => return Err(ExportsTextError::Flow),
        };
        let (start, indent) = key_line(lines, node, "name")?;
        let first = lines.get(start).map_or("", |line| line.trim_start());
        if !first.starts_with('-') {
            return Err(ExportsTextError::Flow);
        }
        let mut keys = Vec::new();
        for (key, _) in entries.iter().filter(|(key, _)| key.name != "name") {
            let (start, column) = key_line(lines, node, &key.name)?;
            if column != indent {
                return Err(ExportsTextError::Flow);
            }
            keys.push(KeyLines {
                name: &key.name,
                start,
                end: end_of(lines, start, indent),
                is_marked: lines
                    .get(start)
                    .is_some_and(|line| line.trim_end().ends_with(MARK)),
            });
        }
        Ok(Self {
            name,
            start,
            end: end_of(lines, start, indent.saturating_sub(1)),
            indent,
            keys,
        })
    }
}

/// Returns the line of a key of a mapping, and the number of columns before the key. Only blanks and a dash may stand
/// there.
fn key_line(lines: &[&str], node: &Node, name: &str) -> Result<(usize, usize), ExportsTextError> {
    let mark = node.key(&format!("/{name}"));
    let line = (mark.line as usize).saturating_sub(1);
    let indent = (mark.column as usize).saturating_sub(1);
    let before = lines.get(line).and_then(|text| text.get(..indent));
    let is_alone = before.is_some_and(|it| it.chars().all(|c| matches!(c, ' ' | '-')));
    if is_alone {
        Ok((line, indent))
    } else {
        Err(ExportsTextError::Flow)
    }
}

/// Returns the line after the value of a key or item that begins at a line: the next that is not indented further.
/// Blank lines and comments before it belong to what follows.
fn end_of(lines: &[&str], start: usize, indent: usize) -> usize {
    let mut end = start + 1;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        let text = line.trim_start();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if line.len() - text.len() <= indent || text.starts_with("---") {
            break;
        }
        end = index + 1;
    }
    end
}

/// Writes an export; its dash has `indent` columns before it.
fn item(export: &Value, indent: usize) -> String {
    let name = name_of(export).unwrap_or_default();
    let mut text = format!("{:indent$}- name: {name}", "");
    for key in KEYS {
        if let Some(value) = export.get(key) {
            text += "\n";
            text += &key_text(key, value, indent + 2);
        }
    }
    text
}

/// Writes a key and its value, as lines of the code.
fn key_text(key: &str, value: &Value, indent: usize) -> String {
    let value = write::value(value, indent);
    if value.starts_with('\n') {
        format!("{:indent$}{key}: {MARK}{value}", "")
    } else {
        format!("{:indent$}{key}:{value} {MARK}", "")
    }
}

/// Changes of a text, line by line.
#[derive(Debug, Default)]
struct Edits(Vec<(usize, usize, Option<String>)>);

impl Edits {
    fn replace(&mut self, start: usize, end: usize, text: Option<String>) {
        self.0.push((start, end, text));
    }

    fn insert(&mut self, at: usize, text: String) {
        self.0.push((at, at, Some(text)));
    }

    fn apply(mut self, text: &str, lines: &[&str]) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        // What is inserted at one line stays in its order, after what ends there.
        self.0.sort_by_key(|(start, end, _)| (*start, *end));
        let mut out: Vec<String> = Vec::with_capacity(lines.len());
        let mut next = 0;
        for (start, end, text) in self.0 {
            out.extend(lines.iter().take(start).skip(next).map(ToString::to_string));
            out.extend(text);
            next = next.max(end).max(start);
        }
        out.extend(lines.iter().skip(next).map(ToString::to_string));
        out.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(text: &str, exports: &Value, written: Written) -> Result<String, ExportsTextError> {
        let tool = ResourceName::parse("notes").unwrap();
        with_exports(text, &tool, exports.as_array().unwrap(), written)
    }

    const BARE: &str = "# Notes.\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: notes\nspec:\n  entry: ./tool.py # the tool\n  errorMessageLimit: 500\n";

    const WITH_EXPORTS: &str = "# Notes.\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: notes\nspec:\n  entry: ./tool.py # the tool\n  exports:\n    - name: count\n      description: \"Counts: words\" # from the code\n      parameters: { type: \"object\", required: [\"path\"] } # from the code\n  errorMessageLimit: 500\n";

    #[test]
    fn exports_are_written_below_the_entry_and_stay_as_they_are_while_the_code_does() {
        let exports = json!([{"name": "count", "description": "Counts: words", "parameters": {"type": "object", "required": ["path"]}}]);
        assert_eq!(written(BARE, &exports, Written::Marked).unwrap(), BARE);
        let text = written(BARE, &exports, Written::All).unwrap();
        assert_eq!(text, WITH_EXPORTS);
        assert_eq!(written(&text, &exports, Written::Marked).unwrap(), text);
        assert_eq!(written(&text, &exports, Written::All).unwrap(), text);
    }

    #[test]
    fn lines_of_the_code_follow_it_and_those_of_the_author_stay() {
        let long = json!({"type": "object", "properties": {"path": {"type": "string", "description": "Path of a text file of the workdir"}}, "required": ["path"]});
        let text = WITH_EXPORTS.replace(
            "      description: \"Counts: words\" # from the code\n",
            "      # What the model reads.\n      description: My own words\n      commitWhen: { a: 1 }\n",
        );
        let text = text.replace("  errorMessageLimit", "\n  # Short.\n  errorMessageLimit");
        let exports = json!([
            {"name": "count", "description": "Other words", "parameters": long, "outputSchema": {"type": "object"}},
            {"name": "list", "description": "Lists"},
        ]);
        let changed = written(&text, &exports, Written::Marked).unwrap();
        let expected = "  exports:\n    - name: count\n      # What the model reads.\n      description: My own words\n      commitWhen: { a: 1 }\n      parameters: # from the code\n        type: \"object\"\n        properties: { path: { type: \"string\", description: \"Path of a text file of the workdir\" } }\n        required: [\"path\"]\n      outputSchema: { type: \"object\" } # from the code\n    - name: list\n      description: \"Lists\" # from the code\n\n  # Short.\n  errorMessageLimit: 500\n";
        assert!(changed.ends_with(expected), "{changed}");
        assert_eq!(
            written(&changed, &exports, Written::Marked).unwrap(),
            changed
        );

        let gone = json!([{"name": "count", "parameters": {"type": "object"}}]);
        let less = written(&changed, &gone, Written::Marked).unwrap();
        let expected = "      commitWhen: { a: 1 }\n      parameters: { type: \"object\" } # from the code\n\n  # Short.\n  errorMessageLimit: 500\n";
        assert!(less.ends_with(expected), "{less}");
    }

    #[test]
    fn a_list_that_is_the_authors_alone_is_not_changed_unless_asked() {
        let manifest = BARE.replace(
            "  errorMessageLimit: 500\n",
            "  exports:\n  - name: count\n    parameters: {type: object}\n---\nkind: Agent\n",
        );
        let exports = json!([{"name": "count", "description": "D", "parameters": {"type": "object", "required": []}}]);
        assert_eq!(
            written(&manifest, &exports, Written::Marked).unwrap(),
            manifest
        );
        let text = written(&manifest, &exports, Written::All).unwrap();
        let expected = "  - name: count\n    parameters: {type: object}\n    description: \"D\" # from the code\n---\nkind: Agent\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_text_without_lines_for_the_exports_is_refused_and_not_damaged() {
        let flow = "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: notes}, spec: {entry: ./t.py}}\n";
        let exports = json!([{"name": "count"}]);
        for (text, is_refused) in [
            (flow, true),
            (
                &*flow.replace("./t.py", "./t.py, exports: [{name: count}]"),
                true,
            ),
            (
                &*BARE.replace("  errorMessageLimit: 500", "  exports: [{name: count}]"),
                true,
            ),
            (&*BARE.replace("notes", "other"), true),
            ("kind: [", true),
        ] {
            assert_eq!(
                written(text, &exports, Written::All).is_err(),
                is_refused,
                "{text}"
            );
        }
        let flow_list = BARE.replace("  errorMessageLimit: 500", "  exports: [{name: count}]");
        assert_eq!(
            written(&flow_list, &exports, Written::Marked).unwrap(),
            flow_list
        );
    }
}
