//! Types as expressions.

use serde_json::Value;

use super::super::super::{Kind, Object, Others, Tuple, Type, compact};
use super::super::syntax::literal;
use super::{At, Writer};

/// Types within each other in one expression. Deeper ones get a name.
const NESTED_MAX: usize = 16;

/// Longest type that is named in the comment of another one, in bytes.
const LABEL_MAX: usize = 60;

impl<'t, 'c> Writer<'_, 't, 'c> {
    /// Returns a type within another one. Its comment is added to the notes.
    pub(super) fn inner(
        &mut self,
        type_: &'t Type<'c>,
        at: At<'_>,
        notes: &mut Vec<String>,
    ) -> String {
        let at = At {
            depth: at.depth + 1,
            ..at
        };
        if at.depth > NESTED_MAX
            && matches!(
                type_.kind,
                Kind::Array(_)
                    | Kind::Tuple(_)
                    | Kind::Union { .. }
                    | Kind::Object(_)
                    | Kind::Intersection(_)
            )
        {
            let name = self.unique(at.part);
            self.name_type(&name, type_, &Vec::from_iter(type_.comment()));
            return name;
        }
        let expression = self.expression(type_, at, notes);
        if let Some(comment) = self.comment_beside(type_) {
            notes.push(format!(
                "{}: {}",
                label(&expression),
                comment.replace('\n', " ")
            ));
        }
        expression
    }

    /// Returns a type. What it does not say of the types within it is added to the notes.
    pub(super) fn expression(
        &mut self,
        type_: &'t Type<'c>,
        at: At<'_>,
        notes: &mut Vec<String>,
    ) -> String {
        match &type_.kind {
            Kind::Any => "Any".to_owned(),
            Kind::Never => "Never".to_owned(),
            Kind::Null => "None".to_owned(),
            Kind::Boolean => at.builtin("bool"),
            Kind::Integer => at.builtin("int"),
            Kind::Number => at.builtin("float"),
            Kind::String => at.builtin("str"),
            Kind::Literals(values) => literals(values, at, notes),
            Kind::Array(item) => {
                let item = self.inner(item, at, notes);
                format!("{}[{item}]", at.builtin("list"))
            }
            Kind::Tuple(tuple) => self.tuple(tuple, at, notes),
            Kind::Object(object) => self.object(type_, object, at, notes),
            Kind::Union { types, .. } => {
                let types: Vec<_> = types
                    .iter()
                    .map(|type_| self.inner(type_, at, notes))
                    .collect();
                joined(types)
            }
            Kind::Intersection(types) => self.intersection(type_, types, at, notes),
            Kind::Definition(index) => {
                let definition = self.tool.definitions.get(*index);
                definition.map_or_else(|| "Any".to_owned(), |definition| definition.name.clone())
            }
        }
    }

    fn tuple(&mut self, tuple: &'t Tuple<'c>, at: At<'_>, notes: &mut Vec<String>) -> String {
        let items: Vec<_> = tuple
            .items
            .iter()
            .map(|item| self.inner(item, at, notes))
            .collect();
        let is_whole = tuple.required == items.len() && tuple.others.is_none();
        if is_whole && items.is_empty() {
            return format!("{}[()]", at.builtin("tuple"));
        }
        if is_whole {
            return format!("{}[{}]", at.builtin("tuple"), items.join(", "));
        }
        let others = tuple
            .others
            .as_deref()
            .map(|others| self.inner(others, at, notes));
        let order = items
            .iter()
            .map(|item| label(item))
            .collect::<Vec<_>>()
            .join(", ");
        let more = others.as_deref().map_or_else(
            || "no more".to_owned(),
            |others| format!("more: {}", label(others)),
        );
        notes.push(format!(
            "items in order: {order}; at least {}; {more}",
            tuple.required
        ));
        format!(
            "{}[{}]",
            at.builtin("list"),
            joined(items.into_iter().chain(others).collect())
        )
    }

    fn object(
        &mut self,
        type_: &'t Type<'c>,
        object: &'t Object<'c>,
        at: At<'_>,
        notes: &mut Vec<String>,
    ) -> String {
        if let Some(class) = self.class_of(&type_.kind) {
            let name = self.unique(at.part);
            self.class(&name, &class, &Vec::from_iter(type_.comment()));
            return name;
        }
        let value = match &object.others {
            Others::Unsaid => "Any".to_owned(),
            Others::Refused => "Never".to_owned(),
            Others::Of(type_) => self.inner(type_, at, notes),
        };
        format!("{}[{}, {value}]", at.builtin("dict"), at.builtin("str"))
    }

    fn intersection(
        &mut self,
        type_: &'t Type<'c>,
        types: &'t [Type<'c>],
        at: At<'_>,
        notes: &mut Vec<String>,
    ) -> String {
        if let [only] = types {
            return self.inner(only, at, notes);
        }
        if let Some(class) = self.class_of(&type_.kind) {
            let name = self.unique(at.part);
            self.class(&name, &class, &Vec::from_iter(type_.comment()));
            return name;
        }
        // Python has no type for it: the first one is the nearest.
        notes.extend(conditions(type_));
        match types.first() {
            Some(first) => self.inner(
                first,
                At {
                    depth: at.depth.saturating_sub(1),
                    ..at
                },
                notes,
            ),
            None => "Any".to_owned(),
        }
    }
}

/// Returns the schemas beside the first of an intersection.
pub(super) fn conditions(type_: &Type<'_>) -> Vec<String> {
    let keywords = ["allOf", "anyOf", "oneOf", "$ref"].into_iter();
    let said = keywords.filter_map(|keyword| Some((keyword, type_.schema?.get(keyword)?)));
    said.map(|(keyword, value)| format!("{keyword}: {}", compact(value)))
        .collect()
}

fn literals(values: &[&Value], at: At<'_>, notes: &mut Vec<String>) -> String {
    let texts: Vec<_> = values.iter().filter_map(|value| literal(value)).collect();
    let mut types = Vec::new();
    if !texts.is_empty() {
        types.push(format!("Literal[{}]", texts.join(", ")));
    }
    for value in values {
        match value {
            Value::Number(number) if number.is_f64() => types.push(at.builtin("float")),
            Value::Array(_) => types.push(format!("{}[Any]", at.builtin("list"))),
            Value::Object(_) => types.push(format!(
                "{}[{}, Any]",
                at.builtin("dict"),
                at.builtin("str")
            )),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if texts.len() < values.len() {
        let values: Vec<_> = values.iter().map(|value| compact(value)).collect();
        notes.push(format!("one of {}", values.join(", ")));
    }
    joined(types)
}

/// Returns one of these types, each once.
fn joined(types: Vec<String>) -> String {
    let types: indexmap::IndexSet<_> = types.into_iter().collect();
    if types.is_empty() {
        return "Never".to_owned();
    }
    Vec::from_iter(types).join(" | ")
}

/// Returns a type for a comment.
fn label(expression: &str) -> &str {
    let end = expression.floor_char_boundary(LABEL_MAX);
    if end < expression.len() {
        "some"
    } else {
        expression
    }
}
