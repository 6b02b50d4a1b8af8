//! Objects with fields as classes.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::super::super::{Field, Kind, Others, Type};
use super::super::names::{RESERVED, shadowed};
use super::super::syntax::{camel_case, comment, docstring, is_name, text};
use super::{At, Writer};

/// Objects with fields, as a class.
pub(super) struct Class<'t, 'c> {
    /// Definitions whose fields it has too.
    pub(super) bases: Vec<usize>,
    pub(super) fields: Vec<&'t Field<'c>>,
    /// The type of its other fields, where the schema says one.
    pub(super) others: Option<&'t Type<'c>>,
}

impl<'t, 'c> Writer<'_, 't, 'c> {
    /// Returns the class for objects with fields; `None` if the kind is not such an object, or one that no class can be.
    pub(super) fn class_of(&self, kind: &'t Kind<'c>) -> Option<Class<'t, 'c>> {
        match kind {
            Kind::Object(object) if !object.fields.is_empty() => Some(Class {
                bases: Vec::new(),
                fields: object.fields.iter().collect(),
                others: match &object.others {
                    Others::Of(type_) => Some(type_),
                    Others::Unsaid | Others::Refused => None,
                },
            }),
            Kind::Intersection(types) if types.len() > 1 => self.merged(types),
            Kind::Any
            | Kind::Never
            | Kind::Null
            | Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String
            | Kind::Literals(_)
            | Kind::Array(_)
            | Kind::Tuple(_)
            | Kind::Object(_)
            | Kind::Union { .. }
            | Kind::Intersection(_)
            | Kind::Definition(_) => None,
        }
    }

    /// Returns the class of objects that are of all types, where no two of these have the same field.
    fn merged(&self, types: &'t [Type<'c>]) -> Option<Class<'t, 'c>> {
        let mut class = Class {
            bases: Vec::new(),
            fields: Vec::new(),
            others: None,
        };
        for type_ in types {
            if let Kind::Object(object) = &type_.kind
                && type_.comment().is_none()
            {
                class.fields.extend(&object.fields);
            } else if let Kind::Definition(index) = type_.kind {
                class.bases.push(index);
            } else {
                return None;
            }
        }
        let mut seen = HashSet::new();
        let fields = self.all_fields(&class);
        let has_bases = class
            .bases
            .iter()
            .all(|index| self.fields_of(*index).is_some());
        (has_bases
            && fields
                .iter()
                .all(|field| is_name(field.name) && seen.insert(field.name)))
        .then_some(class)
    }

    /// Returns the fields of a class and of its bases.
    pub(super) fn all_fields(&self, class: &Class<'t, 'c>) -> Vec<&'t Field<'c>> {
        let inherited = class
            .bases
            .iter()
            .filter_map(|index| self.fields_of(*index))
            .flatten();
        inherited.chain(class.fields.iter().copied()).collect()
    }

    /// Returns the fields of a definition that is an object.
    fn fields_of(&self, index: usize) -> Option<&'t [Field<'c>]> {
        let Kind::Object(object) = &self.tool.definitions.get(index)?.type_.kind else {
            return None;
        };
        Some(object.fields.as_slice()).filter(|fields| !fields.is_empty())
    }

    pub(super) fn class(&mut self, name: &str, class: &Class<'t, 'c>, comments: &[String]) {
        let names: Vec<_> = class.fields.iter().map(|field| field.name).collect();
        let is_body = names
            .iter()
            .all(|name| is_name(name) && !RESERVED.contains(name));
        let shadowed = shadowed(names.into_iter());
        let shadowed = if is_body { shadowed.as_slice() } else { &[] };
        let mut members = String::new();
        for field in &class.fields {
            let part = camel_case(field.name);
            let at = At {
                part: &part,
                shadowed,
                depth: 0,
            };
            let mut notes = Vec::from_iter(self.comment_beside(&field.type_));
            let mut expression = self.expression(&field.type_, at, &mut notes);
            if !field.required {
                expression = format!("NotRequired[{expression}]");
            }
            comment(
                &mut members,
                if is_body { "    " } else { "        " },
                &notes,
            );
            let _ = if is_body {
                writeln!(members, "    {}: {expression}", field.name)
            } else {
                writeln!(members, "        {}: {expression},", text(field.name))
            };
        }
        let mut comments = comments.to_vec();
        if class.others.is_some() {
            comments.push("It may have other fields.".to_owned());
        }
        if !is_body {
            comment(self.out, "", &comments);
            let _ = writeln!(
                self.out,
                "{name} = TypedDict(\n    \"{name}\",\n    {{\n{members}    }},\n)\n\n"
            );
            return;
        }
        let bases = class
            .bases
            .iter()
            .filter_map(|index| self.tool.definitions.get(*index));
        let bases: Vec<_> = bases.map(|definition| definition.name.as_str()).collect();
        let bases = if bases.is_empty() {
            "TypedDict".to_owned()
        } else {
            bases.join(", ")
        };
        let _ = writeln!(self.out, "class {name}({bases}):");
        if !comments.is_empty() || members.is_empty() {
            docstring(self.out, "    ", &comments);
            if !members.is_empty() {
                self.out.push('\n');
            }
        }
        let _ = writeln!(self.out, "{members}\n");
    }
}
