//! Definitions, and patterns of variables.

use super::Resolver;
use super::mentions::calls;
use super::scope::Name;
use crate::ast::{Ast, Definition, Param, Pattern};
use crate::ir::{Function, Parameter, Resolved, Shape};
use crate::lex::Fault;

impl Resolver {
    /// Resolves a definition, and leaves its name in the scope.
    pub(super) fn define(&mut self, definition: &Definition) -> Result<usize, Fault> {
        let number = self.functions.len();
        self.functions.push(Function {
            params: Vec::new(),
            body: None,
        });
        self.scope.bind(Name::Function(
            definition.name.clone(),
            definition.params.len(),
            number,
        ));
        let mark = self.scope.mark();
        // A value that is also called as a filter is a filter, and a variable within.
        let is_plain = |param: &Param| param.is_value && !calls(&definition.body, &param.name);
        let mut params = Vec::with_capacity(definition.params.len());
        for param in &definition.params {
            let (kind, name) = if is_plain(param) {
                (Parameter::Value, Name::Variable(param.name.clone()))
            } else {
                (Parameter::Filter, Name::Filter(param.name.clone()))
            };
            params.push(kind);
            self.scope.bind(name);
        }
        let mut body = definition.body.clone();
        for param in definition
            .params
            .iter()
            .rev()
            .filter(|param| param.is_value && !is_plain(param))
        {
            let source = Box::new(Ast::Call(param.name.clone(), Vec::new(), 0));
            body = Ast::As(
                source,
                vec![Pattern::Variable(param.name.clone())],
                Box::new(body),
            );
        }
        if let Some(function) = self.functions.get_mut(number) {
            function.params = params;
        }
        let body = self.ir(&body);
        self.scope.leave(mark);
        let body = body?;
        if let Some(function) = self.functions.get_mut(number) {
            function.body = Some(body);
        }
        Ok(number)
    }

    pub(super) fn shapes(&mut self, patterns: &[Pattern]) -> Result<Vec<Shape>, Fault> {
        let mut all: Vec<&str> = Vec::new();
        for pattern in patterns {
            pattern.variables(&mut all);
        }
        let mut names: Vec<&str> = Vec::new();
        for name in all {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // Keys of patterns may read the variables before them.
        let mark = self.scope.mark();
        for name in &names {
            self.scope.bind(Name::Variable((*name).to_owned()));
        }
        let bound = self.scope.clone();
        let mut shapes = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let mut own = Vec::new();
            pattern.variables(&mut own);
            let places = own
                .iter()
                .filter_map(|name| names.iter().position(|known| known == name))
                .collect();
            let pattern = self.pattern(pattern)?;
            shapes.push(Shape {
                pattern,
                places,
                total: names.len(),
            });
        }
        self.scope.leave(mark);
        self.scope = bound;
        Ok(shapes)
    }

    fn pattern(&mut self, pattern: &Pattern) -> Result<Resolved, Fault> {
        Ok(match pattern {
            Pattern::Variable(_) => Resolved::Variable,
            Pattern::Array(items) => Resolved::Array(
                items
                    .iter()
                    .map(|item| self.pattern(item))
                    .collect::<Result<_, _>>()?,
            ),
            Pattern::Object(members) => {
                let mut resolved = Vec::with_capacity(members.len());
                for (key, variable, pattern) in members {
                    let key = self.ir(key)?;
                    let pattern = pattern
                        .as_ref()
                        .map(|pattern| self.pattern(pattern))
                        .transpose()?;
                    resolved.push((key, variable.is_some(), pattern));
                }
                Resolved::Object(resolved)
            }
        })
    }
}
