//! Writes the functions of tools, and the types that they need.

mod class;
mod function;
mod types;

use std::fmt::Write as _;

use super::super::{Definition, Kind, ToolTypes, Type, bounded};
use super::names::Names;
use super::syntax::{camel_case, comment};

/// The functions of one tool, and its types, which are written before.
pub(super) struct Writer<'w, 't, 'c> {
    tool: &'t ToolTypes<'c>,
    prefix: String,
    names: &'w mut Names,
    out: &'w mut String,
}

/// Where a type is written.
#[derive(Clone, Copy)]
struct At<'a> {
    /// What it is of: a field, an item.
    part: &'a str,
    /// Types that mean something else there.
    shadowed: &'a [&'static str],
    depth: usize,
}

impl<'w, 't, 'c> Writer<'w, 't, 'c> {
    pub(super) fn new(tool: &'t ToolTypes<'c>, names: &'w mut Names, out: &'w mut String) -> Self {
        Self {
            tool,
            prefix: camel_case(tool.item.name.as_str()),
            names,
            out,
        }
    }

    fn define(&mut self, definition: &'t Definition<'c>) {
        let type_ = &definition.type_;
        let place = bounded(&format!(
            "{} of {}",
            definition.reference,
            self.tool.item.name.as_str()
        ));
        let mut comments = Vec::from_iter(type_.comment());
        comments.push(place);
        self.name_type(&definition.name, type_, &comments);
    }

    /// Writes a type with a name.
    fn name_type(&mut self, name: &str, type_: &'t Type<'c>, comments: &[String]) {
        if let Some(class) = self.class_of(&type_.kind) {
            self.class(name, &class, comments);
            return;
        }
        let at = At {
            part: "Type",
            shadowed: &[],
            depth: 0,
        };
        let mut notes = comments.to_vec();
        let expression = self.expression(type_, at, &mut notes);
        comment(self.out, "", &notes);
        let _ = writeln!(self.out, "{name}: TypeAlias = {expression}\n\n");
    }

    /// Returns the comment of a type that has no class, which would have it.
    fn comment_beside(&self, type_: &'t Type<'c>) -> Option<String> {
        if self.is_class(&type_.kind) {
            None
        } else {
            type_.comment()
        }
    }

    fn is_class(&self, kind: &'t Kind<'c>) -> bool {
        !matches!(kind, Kind::Definition(_)) && self.class_of(kind).is_some()
    }

    fn unique(&mut self, part: &str) -> String {
        self.names.unique(&format!("{}{part}", self.prefix))
    }
}

impl At<'_> {
    fn builtin(self, name: &str) -> String {
        if self.shadowed.contains(&name) {
            format!("builtins.{name}")
        } else {
            name.to_owned()
        }
    }
}
