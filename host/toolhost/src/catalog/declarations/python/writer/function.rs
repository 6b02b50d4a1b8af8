//! The function of a tool, and its parameters.

use std::fmt::Write as _;

use super::super::super::{Field, Kind, Others, bounded};
use super::super::syntax::{camel_case, comment, default, docstring, is_name};
use super::class::Class;
use super::types::conditions;
use super::{At, Writer};

/// Longest signature in one line, in bytes.
const LINE_MAX: usize = 100;

struct Parameter {
    comments: Vec<String>,
    code: String,
}

impl<'t, 'c> Writer<'_, 't, 'c> {
    /// Returns the method that calls the tool. Its types are written.
    pub(in super::super) fn function(&mut self, name: &str, shadowed: &[&'static str]) -> String {
        for definition in &self.tool.definitions {
            self.define(definition);
        }
        let tool = self.tool;
        let item = tool.item;
        let at = |part| At {
            part,
            shadowed,
            depth: 0,
        };
        let mut doc = Vec::from_iter(item.description.as_deref().map(bounded));
        doc.extend(tool.parameters.comment());
        let parameters = self.parameters(at("Input"), &mut doc);
        let output = match &tool.output {
            Some(output) => {
                let mut notes = Vec::new();
                let expression = self.expression(output, at("Output"), &mut notes);
                notes.extend(self.comment_beside(output));
                doc.extend(notes.iter().map(|note| format!("Returns {note}")));
                expression
            }
            None => "Any".to_owned(),
        };
        let mut method = format!(
            "    # tools[\"{}\"]\n    async def {name}(",
            item.name.as_str()
        );
        let has_comments = parameters
            .iter()
            .any(|parameter| !parameter.comments.is_empty());
        let codes = parameters.iter().map(|parameter| parameter.code.as_str());
        let line = ["self"]
            .into_iter()
            .chain(codes)
            .collect::<Vec<_>>()
            .join(", ");
        if has_comments || line.len() + output.len() > LINE_MAX {
            method.push_str("\n        self,\n");
            for parameter in &parameters {
                comment(&mut method, "        ", &parameter.comments);
                let _ = writeln!(method, "        {},", parameter.code);
            }
            method.push_str("    ");
        } else {
            method.push_str(&line);
        }
        let _ = writeln!(method, ") -> {output}:");
        doc.retain(|text| !text.is_empty());
        docstring(&mut method, "        ", &doc);
        method
    }

    /// Returns the parameters of the tool's function; what they do not say is added to `doc`.
    fn parameters(&mut self, at: At<'_>, doc: &mut Vec<String>) -> Vec<Parameter> {
        let Some(class) = self.class_of_parameters(doc) else {
            return self.map_parameters(at, doc);
        };
        let fields = self.all_fields(&class);
        if !fields
            .iter()
            .all(|field| is_name(field.name) && field.name != "self")
        {
            return self.one_parameter(at, fields.iter().any(|field| field.required), doc);
        }
        let mut parameters = vec![Parameter::plain("*")];
        for field in &fields {
            parameters.push(self.parameter(field, at));
        }
        if let Some(type_) = class.others {
            let name = (0..).map(|n| format!("others{}", "_".repeat(n)));
            let mut free = name.filter(|name| fields.iter().all(|field| field.name != name));
            let name = free.next().unwrap_or_default();
            let expression = self.inner(
                type_,
                At {
                    part: "Other",
                    ..at
                },
                doc,
            );
            parameters.push(Parameter::plain(&format!("**{name}: {expression}")));
        }
        parameters
    }

    /// Returns the class whose fields are parameters; conditions beside it are added to `doc`.
    fn class_of_parameters(&self, doc: &mut Vec<String>) -> Option<Class<'t, 'c>> {
        let type_ = &self.tool.parameters;
        let class = self.class_of(&type_.kind);
        match &type_.kind {
            Kind::Definition(index) => {
                self.class_of(&self.tool.definitions.get(*index)?.type_.kind)
            }
            Kind::Intersection(types) if class.is_none() => {
                let first = self.class_of(&types.first()?.kind)?;
                doc.extend(conditions(type_));
                Some(first)
            }
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
            | Kind::Intersection(_) => class,
        }
    }

    /// Returns the parameters where there are no names for them.
    fn map_parameters(&mut self, at: At<'_>, doc: &mut Vec<String>) -> Vec<Parameter> {
        let Kind::Object(object) = &self.tool.parameters.kind else {
            return self.one_parameter(at, true, doc);
        };
        match &object.others {
            Others::Unsaid => vec![Parameter::plain("**arguments: Any")],
            Others::Refused => Vec::new(),
            Others::Of(type_) => {
                let expression = self.inner(
                    type_,
                    At {
                        part: "Argument",
                        ..at
                    },
                    doc,
                );
                vec![Parameter::plain(&format!("**arguments: {expression}"))]
            }
        }
    }

    /// Returns one parameter for all arguments.
    fn one_parameter(
        &mut self,
        at: At<'_>,
        required: bool,
        doc: &mut Vec<String>,
    ) -> Vec<Parameter> {
        let expression = self.expression(&self.tool.parameters, at, doc);
        let default = if required { "" } else { " = ..." };
        vec![
            Parameter::plain(&format!("arguments: {expression}{default}")),
            Parameter::plain("/"),
        ]
    }

    fn parameter(&mut self, field: &'t Field<'c>, at: At<'_>) -> Parameter {
        let type_ = &field.type_;
        let mut comments = Vec::new();
        let part = camel_case(field.name);
        let expression = self.expression(type_, At { part: &part, ..at }, &mut comments);
        let said = type_.rest.iter().find(|(keyword, _)| *keyword == "default");
        let said = said.and_then(|(_, value)| default(&type_.kind, value));
        let lines = if said.is_some() {
            type_.comment_without("default")
        } else {
            type_.comment()
        };
        // A class has its own comment.
        if !self.is_class(&type_.kind) {
            comments.splice(0..0, lines);
        }
        let default = match said {
            _ if field.required => String::new(),
            Some(value) => format!(" = {value}"),
            None => " = ...".to_owned(),
        };
        Parameter {
            comments,
            code: format!("{}: {expression}{default}", field.name),
        }
    }
}

impl Parameter {
    fn plain(code: &str) -> Self {
        Self {
            comments: Vec::new(),
            code: code.to_owned(),
        }
    }
}
