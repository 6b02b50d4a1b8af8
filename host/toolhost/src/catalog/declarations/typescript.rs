//! Declarations in TypeScript.

use std::fmt::Write as _;

use serde_json::Value;
use toolhost_contract::text::escape_json;

use super::{Definition, Field, Kind, Object, Others, ToolTypes, Tuple, Type, bounded};
use crate::ToolCatalog;

/// Levels of indentation; deeper lines have as much.
const INDENT_MAX: usize = 16;

/// Levels of a literal array or object that are written.
const LITERAL_DEPTH_MAX: usize = 64;

impl ToolCatalog {
    /// Returns a declaration of the tools in TypeScript, for a program that calls them as functions:
    ///
    /// ```ts
    /// declare const tools: {
    ///   /** Reads a text file. */
    ///   "file-system__read"(args: {
    ///     /** Relative to the workdir. */
    ///     path: string;
    ///     /** default: 1; minimum: 1 */
    ///     offset?: number;
    ///   }): Promise<{ content: string; }>;
    /// };
    /// ```
    ///
    /// The tools are in the order of the catalog, each with its description, the type of its arguments and that of its
    /// output. Schemas that others refer to are types of their own before it. What TypeScript cannot express stands in
    /// comments as JSON Schema: bounds, defaults, patterns, conditions.
    #[must_use]
    pub fn to_typescript(&self) -> String {
        let tools = ToolTypes::of(self);
        let mut out = String::new();
        for tool in &tools {
            for definition in &tool.definitions {
                define(&mut out, tool, definition);
            }
        }
        out.push_str("declare const tools: {\n");
        for tool in &tools {
            let text = tool.item.description.as_deref().map(bounded);
            let parameters = tool.parameters.comment();
            let text: Vec<_> = text.into_iter().chain(parameters).collect();
            let mut writer = Writer::new(&mut out, tool, 1);
            writer.comment(&text.join("\n"));
            let optional = if is_optional(&tool.parameters.kind) {
                "?"
            } else {
                ""
            };
            // Writing to a `String` does not fail.
            let _ = write!(
                writer.out,
                "\"{}\"(args{optional}: ",
                tool.item.name.as_str()
            );
            writer.kind(&tool.parameters.kind);
            writer.out.push_str("): Promise<");
            match &tool.output {
                Some(output) => writer.inline(output),
                None => writer.out.push_str("any"),
            }
            writer.out.push_str(">;\n");
        }
        out.push_str("};\n");
        out
    }
}

fn define(out: &mut String, tool: &ToolTypes<'_>, definition: &Definition<'_>) {
    let place = format!("{} of {}", definition.reference, tool.item.name.as_str());
    let comment = definition
        .type_
        .comment()
        .map(|comment| format!("{comment}\n"));
    let comment = comment.unwrap_or_default() + &bounded(&place);
    let mut writer = Writer::new(out, tool, 0);
    writer.comment(&comment);
    let _ = write!(writer.out, "type {} = ", definition.name);
    writer.kind(&definition.type_.kind);
    writer.out.push_str(";\n\n");
}

/// Returns whether a call may have no arguments.
fn is_optional(kind: &Kind<'_>) -> bool {
    matches!(kind, Kind::Object(object) if object.fields.iter().all(|field| !field.required))
}

struct Writer<'o, 't, 'c> {
    out: &'o mut String,
    tool: &'t ToolTypes<'c>,
    level: usize,
}

impl<'o, 't, 'c> Writer<'o, 't, 'c> {
    fn new(out: &'o mut String, tool: &'t ToolTypes<'c>, level: usize) -> Self {
        Self { out, tool, level }
    }

    fn indent(&mut self) {
        (0..self.level.min(INDENT_MAX)).for_each(|_| self.out.push_str("  "));
    }

    /// Writes a comment above what comes next, and the indentation of that.
    fn comment(&mut self, text: &str) {
        self.indent();
        if text.is_empty() {
            return;
        }
        let text = without_end(text);
        if text.contains('\n') {
            self.out.push_str("/**\n");
            for line in text.lines() {
                self.indent();
                self.out.push_str(" *");
                self.out.extend(
                    [" ", line.trim_end()]
                        .into_iter()
                        .filter(|_| !line.trim_end().is_empty()),
                );
                self.out.push('\n');
            }
            self.indent();
            self.out.push_str(" */\n");
        } else {
            let _ = writeln!(self.out, "/** {text} */");
        }
        self.indent();
    }

    /// Writes a type, with its comment before it.
    fn inline(&mut self, type_: &Type<'_>) {
        if let Some(comment) = comment_of(type_) {
            let _ = write!(
                self.out,
                "/* {} */ ",
                without_end(&comment).replace('\n', " ")
            );
        }
        self.kind(&type_.kind);
    }

    fn kind(&mut self, kind: &Kind<'_>) {
        match kind {
            Kind::Any => self.out.push_str("unknown"),
            Kind::Never => self.out.push_str("never"),
            Kind::Null => self.out.push_str("null"),
            Kind::Boolean => self.out.push_str("boolean"),
            Kind::Integer | Kind::Number => self.out.push_str("number"),
            Kind::String => self.out.push_str("string"),
            Kind::Literals(values) => {
                self.joined(" | ", values, |writer, value| writer.literal(value, 0))
            }
            Kind::Array(item) => self.array(item),
            Kind::Tuple(tuple) => self.tuple(tuple),
            Kind::Object(object) => self.object(object),
            Kind::Union { types, .. } => self.joined(" | ", types, Self::operand),
            Kind::Intersection(types) => self.joined(" & ", types, Self::operand),
            Kind::Definition(index) => {
                let definition = self.tool.definitions.get(*index);
                let name = definition.map_or("unknown", |definition| definition.name.as_str());
                self.out.push_str(name);
            }
        }
    }

    fn joined<T>(&mut self, separator: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        if items.is_empty() {
            self.out.push_str("never");
        }
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(separator);
            }
            write(self, item);
        }
    }

    /// Writes a type of a union or an intersection.
    fn operand(&mut self, type_: &Type<'_>) {
        let has_operator = match &type_.kind {
            Kind::Union { types, .. } | Kind::Intersection(types) => types.len() > 1,
            Kind::Literals(values) => values.len() > 1,
            Kind::Any
            | Kind::Never
            | Kind::Null
            | Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String
            | Kind::Array(_)
            | Kind::Tuple(_)
            | Kind::Object(_)
            | Kind::Definition(_) => false,
        };
        if has_operator {
            self.out.push('(');
        }
        self.inline(type_);
        if has_operator {
            self.out.push(')');
        }
    }

    fn array(&mut self, item: &Type<'_>) {
        self.out.push_str("Array<");
        self.inline(item);
        self.out.push('>');
    }

    fn tuple(&mut self, tuple: &Tuple<'_>) {
        self.out.push('[');
        for (index, item) in tuple.items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            let start = self.out.len();
            self.inline(item);
            if index >= tuple.required {
                let has_parts = self.out.get(start..).is_some_and(|text| text.contains(' '));
                if has_parts {
                    self.out.insert(start, '(');
                    self.out.push(')');
                }
                self.out.push('?');
            }
        }
        if let Some(others) = &tuple.others {
            if !tuple.items.is_empty() {
                self.out.push_str(", ");
            }
            self.out.push_str("...");
            self.array(others);
        }
        self.out.push(']');
    }

    fn object(&mut self, object: &Object<'_>) {
        if object.fields.is_empty() {
            self.out.push_str("{ [key: string]: ");
            match &object.others {
                Others::Unsaid => self.out.push_str("unknown"),
                Others::Refused => self.out.push_str("never"),
                Others::Of(type_) => self.inline(type_),
            }
            self.out.push_str("; }");
            return;
        }
        self.out.push_str("{\n");
        self.level += 1;
        for field in &object.fields {
            self.field(field);
        }
        if matches!(object.others, Others::Of(_)) {
            self.indent();
            // The type of one that has no name here would have to hold the types of all fields.
            self.out.push_str("[key: string]: unknown;\n");
        }
        self.level -= 1;
        self.indent();
        self.out.push('}');
    }

    fn field(&mut self, field: &Field<'_>) {
        self.comment(&comment_of(&field.type_).unwrap_or_default());
        if is_identifier(field.name) {
            self.out.push_str(field.name);
        } else {
            self.text(field.name);
        }
        self.out.push_str(if field.required { ": " } else { "?: " });
        self.kind(&field.type_.kind);
        self.out.push_str(";\n");
    }

    fn literal(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Array(_) | Value::Object(_) if depth == LITERAL_DEPTH_MAX => {
                self.out.push_str("unknown");
            }
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.literal(item, depth + 1);
                }
                self.out.push(']');
            }
            Value::Object(members) => {
                self.out.push_str("{ ");
                for (name, member) in members {
                    self.text(name);
                    self.out.push_str(": ");
                    self.literal(member, depth + 1);
                    self.out.push_str("; ");
                }
                self.out.push('}');
            }
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.out.push_str(&value.to_string())
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.out
            .push_str(&escape_json(&Value::from(text).to_string()));
    }
}

/// Returns the comment of a type, with what its name in TypeScript does not say.
fn comment_of(type_: &Type<'_>) -> Option<String> {
    let comment = type_.comment();
    if type_.kind != Kind::Integer {
        return comment;
    }
    Some(comment.map_or_else(
        || "integer".to_owned(),
        |comment| {
            let separator = if type_.rest.is_empty() { "\n" } else { "; " };
            comment + separator + "integer"
        },
    ))
}

fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns a text in which no comment ends.
fn without_end(text: &str) -> String {
    text.replace("*/", "*\\/")
}
