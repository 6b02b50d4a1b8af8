//! Whether a filter calls another.

use crate::ast::{Ast, AstPart, Pattern};

/// Whether a filter calls another without arguments.
pub(super) fn calls(ast: &Ast, name: &str) -> bool {
    let any = |parts: &[&Ast]| parts.iter().any(|part| calls(part, name));
    let in_patterns = |patterns: &[Pattern]| {
        patterns
            .iter()
            .any(|pattern| calls_in_pattern(pattern, name))
    };
    match ast {
        Ast::Call(known, args, _) => {
            (args.is_empty() && known == name) || args.iter().any(|arg| calls(arg, name))
        }
        Ast::Identity
        | Ast::Recurse
        | Ast::Const(_)
        | Ast::Format(_)
        | Ast::Variable(..)
        | Ast::Location(_)
        | Ast::Break(..)
        | Ast::Array(None) => false,
        Ast::Text(_, parts) => parts
            .iter()
            .any(|part| matches!(part, AstPart::Filter(part) if calls(part, name))),
        Ast::Index(a, b)
        | Ast::Pipe(a, b)
        | Ast::Comma(a, b)
        | Ast::Binary(_, a, b)
        | Ast::And(a, b)
        | Ast::Or(a, b)
        | Ast::Alternative(a, b)
        | Ast::Assign(a, b)
        | Ast::Modify(a, b)
        | Ast::Update(_, a, b)
        | Ast::UpdateAlternative(a, b) => any(&[a, b]),
        Ast::Slice(a, b, c) => {
            any(&[a]) || [b, c].into_iter().flatten().any(|part| calls(part, name))
        }
        Ast::If(a, b, c) => any(&[a, b]) || c.as_deref().is_some_and(|c| calls(c, name)),
        Ast::Each(a) | Ast::Negate(a) | Ast::Label(_, a) | Ast::Array(Some(a)) => any(&[a]),
        Ast::Try(a, b) => any(&[a]) || b.as_deref().is_some_and(|b| calls(b, name)),
        Ast::Reduce(a, patterns, b, c) => any(&[a, b, c]) || in_patterns(patterns),
        Ast::Foreach(a, patterns, b, c, d) => {
            any(&[a, b, c]) || in_patterns(patterns) || d.as_deref().is_some_and(|d| calls(d, name))
        }
        Ast::As(a, patterns, b) => any(&[a, b]) || in_patterns(patterns),
        Ast::Object(members) => members.iter().any(|(key, value)| any(&[key, value])),
        Ast::Define(definition, rest) => any(&[&definition.body, rest]),
    }
}

fn calls_in_pattern(pattern: &Pattern, name: &str) -> bool {
    match pattern {
        Pattern::Variable(_) => false,
        Pattern::Array(items) => items.iter().any(|item| calls_in_pattern(item, name)),
        Pattern::Object(members) => members.iter().any(|(key, _, pattern)| {
            calls(key, name)
                || pattern
                    .as_ref()
                    .is_some_and(|pattern| calls_in_pattern(pattern, name))
        }),
    }
}
