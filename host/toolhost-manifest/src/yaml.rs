//! Parses YAML 1.2 to values with their positions, and writes JSON as YAML.
//!
//! `yes` is a string, duplicate keys are errors, and aliases and merge keys are followed up to a limit.

mod node;
mod source;
pub mod write;

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use serde_saphyr::{Error, Options};
use toolhost_contract::text;

use toolhost_contract::text::short;

pub use node::{Key, Mark, Node, Value};
pub use source::YamlSource;

/// Maximum nesting of a document.
const DEPTH_MAX: usize = 64;

/// Stack of the thread that parses. Without optimisation [`DEPTH_MAX`] levels take more than 2 MiB, the
/// stack of most threads.
const STACK_BYTES: usize = 16 << 20;

/// Maximum number of nodes of a document.
const NODES_MAX: usize = 250_000;

/// Maximum number of nodes that aliases repeat, in all documents together.
const REPEATED_MAX: usize = 20_000;

/// Maximum length of a message of the parser, in characters.
const MESSAGE_MAX: usize = 200;

/// 2⁶³, the first number that is no integer of 64 bits with a sign.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

/// Longest integer in a message, in characters.
const DIGITS_MAX: usize = 48;

/// An error in a document.
#[derive(Debug)]
pub struct YamlError {
    /// The problem.
    pub message: String,
    /// The position, if it is known.
    pub at: Option<Mark>,
}

/// Parses the documents of a stream, at most `max` of them, without empty ones.
///
/// After a document with an invalid key, such as a duplicate, the next one is parsed. A syntax error ends
/// the stream.
pub fn documents(source: &YamlSource, max: usize) -> Vec<Result<Node, YamlError>> {
    with_stack(|| {
        let mut text = source.text().as_bytes();
        serde_saphyr::read_with_options::<_, Node>(&mut text, options())
            .take(max)
            .map(|document| {
                let node = document.map_err(|error| failure(&error))?;
                check_integers(&node, source).map(|()| node)
            })
            .collect()
    })
}

/// Refuses integers beyond 64 bits, which the parser reads as the nearest decimal number.
fn check_integers(node: &Node, source: &YamlSource) -> Result<(), YamlError> {
    match &node.value {
        Value::Float(value) if value.abs() >= INTEGERS_END => {
            let literal = source.literal(node.mark);
            let digits = literal.strip_prefix(['-', '+']).unwrap_or(literal);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let digits = text::shorten(literal, DIGITS_MAX);
                return Err(YamlError {
                    message: format!(
                        "64 bits cannot hold the integer {digits}: write it as a string"
                    ),
                    at: Some(node.mark),
                });
            }
            Ok(())
        }
        Value::List(items) => items
            .iter()
            .try_for_each(|item| check_integers(item, source)),
        Value::Map(entries) => {
            let mut values = entries.iter().map(|(_, value)| value);
            values.try_for_each(|value| check_integers(value, source))
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => {
            Ok(())
        }
    }
}

/// Deserializes the only document of a text. The error message begins with the line.
pub fn parse<T: serde::de::DeserializeOwned + Send>(text: &str) -> Result<T, String> {
    let parsed = with_stack(|| {
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| failure(&error))
    });
    parsed.map_err(|YamlError { message, at }| match at {
        Some(at) => format!("line {}: {message}", at.line),
        None => message,
    })
}

/// Parses on a thread whose stack holds [`DEPTH_MAX`] levels, also in a build without optimisation. Parses
/// on this thread if no other can be started.
fn with_stack<T: Send>(parse: impl FnOnce() -> T + Send + Copy) -> T {
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES);
        match parser
            .spawn_scoped(scope, parse)
            .map(ScopedJoinHandle::join)
        {
            Ok(Ok(parsed)) => parsed,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => parse(),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPEATED_MAX,
        },
        strict_booleans: true,
        with_snippet: false,
    }
}

fn failure(error: &Error) -> YamlError {
    YamlError {
        message: explain(error),
        at: error.location().map(|location| Mark::from(&location)),
    }
}

fn explain(error: &Error) -> String {
    let innermost = if let Error::AliasError { error, .. } = error {
        error.as_ref()
    } else {
        error
    };
    if let Error::DuplicateMappingKey { key: Some(key), .. } = innermost {
        return format!("duplicate key '{}'", short(key));
    }
    let exceeded = matches!(
        innermost,
        Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
    );
    if exceeded {
        return "the document is too large or too deep, or its aliases repeat too much".to_owned();
    }
    // The parser appends the position, which [`YamlError`] has as a field.
    let message = innermost.to_string();
    let (message, _place) = message.split_once(" at line ").unwrap_or((&message, ""));
    text::shorten(message, MESSAGE_MAX)
}

#[cfg(test)]
mod tests;
