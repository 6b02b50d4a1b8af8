//! Compiles a query.

use jaq_core::load::parse::Def;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Native, compile, data};
use jaq_json::Val;
use toolhost_guest::ToolError;

use crate::fault;

/// `@csv` and `@tsv`.
const FORMATS: &str = include_str!("formats.jq");

pub(crate) type Filter = compile::Filter<Native<data::JustLut<Val>>>;

/// Why a query does not compile.
enum Refused<'q> {
    Syntax(load::Errors<&'q str, ()>),
    Undefined(compile::Errors<&'q str, ()>),
}

/// Compiles a query with the filters of jq.
///
/// Most queries need few of the filters that are themselves written in jq, and compiling these takes longer than
/// most queries. So the basic ones come first, and the others only where they do not suffice.
///
/// # Errors
/// The query is not jq, or uses what does not exist.
pub(crate) fn compile(query: &str) -> Result<Filter, ToolError> {
    let arena = Arena::default();
    let found = match with_definitions(query, &arena, jaq_core::defs()) {
        Err(Refused::Undefined(_)) => {
            with_definitions(query, &arena, jaq_core::defs().chain(more()))
        }
        found => found,
    };
    found.map_err(|refused| match refused {
        Refused::Syntax(errors) => fault::syntax(query, errors),
        Refused::Undefined(errors) => fault::undefined(query, errors),
    })
}

/// The definitions that are not basic.
fn more() -> impl Iterator<Item = Def<&'static str>> {
    let formats = load::parse(FORMATS, |parser| parser.defs());
    let defs = jaq_std::defs().chain(jaq_json::defs());
    defs.chain(formats.unwrap_or_default())
}

fn with_definitions<'q>(
    query: &'q str,
    arena: &'q Arena,
    defs: impl Iterator<Item = Def<&'static str>>,
) -> Result<Filter, Refused<'q>> {
    let funs = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let program = File {
        code: query,
        path: (),
    };
    let modules = Loader::new(defs)
        .load(arena, program)
        .map_err(Refused::Syntax)?;
    Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(Refused::Undefined)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{compile, more};

    #[test]
    fn no_further_definition_hides_a_basic_one() {
        let basic = jaq_core::defs().map(|def| (def.name, def.args.len()));
        let native = jaq_core::funs::<jaq_core::data::JustLut<jaq_json::Val>>()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .map(|(name, args, _)| (name, args.len()));
        let first: BTreeSet<_> = basic.chain(native).collect();
        let hidden: Vec<_> = more()
            .map(|def| (def.name, def.args.len()))
            .filter(|def| first.contains(def))
            .collect();
        assert_eq!(hidden, []);
    }

    #[test]
    fn all_definitions_are_found() {
        for query in [
            ".a",
            "map(.a)",
            "add",
            "[.[] | keys] | unique",
            "@csv",
            "@tsv",
            ".. | numbers",
        ] {
            assert!(compile(query).is_ok(), "{query}");
        }
        assert!(compile("nothing_of_the_kind").is_err());
        assert!(compile("(").is_err());
    }
}
