//! Parses a program.

mod filters;
mod objects;
mod parser;
mod terms;

use self::parser::{Parsed, Parser};
use crate::ast::{Ast, Definition};
use crate::lex::Lexer;

/// Parses a program: definitions and a filter, which is `.` where there is none.
pub(crate) fn program(text: &str) -> Parsed<Ast> {
    let tokens = Lexer::new(text).tokens()?;
    let mut parser = Parser::new(text, &tokens);
    parser.refuse_modules()?;
    let body = parser.body()?;
    parser.expect_end()?;
    Ok(body)
}

/// Parses one definition.
pub(crate) fn definition(text: &str) -> Parsed<Definition> {
    let tokens = Lexer::new(text).tokens()?;
    let mut parser = Parser::new(text, &tokens);
    parser.next();
    parser.definition()
}
