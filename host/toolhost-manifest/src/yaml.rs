//! YAML with places: text in, documents out, every value knowing where it stands.
//!
//! YAML 1.2 as `serde-saphyr` reads it: `yes` is a string, duplicate keys are errors, aliases and
//! merge keys are followed within a budget.

mod node;
mod source;
pub mod write;

use serde_saphyr::{Error, Options};

pub use node::{Key, Mark, Node, Value};
pub use source::YamlSource;

use toolhost_contract::text;

/// Deepest nesting of a document.
const DEPTH_MAX: usize = 64;

/// Most nodes of a document.
const NODES_MAX: usize = 250_000;

/// Most nodes that aliases repeat, over all documents: more is a bomb, not a bundle.
const REPEATED_MAX: usize = 20_000;

/// Longest key shown, in characters.
const KEY_SHOWN: usize = 80;

/// Longest message of the parser, in characters.
const MESSAGE_MAX: usize = 200;

/// Why a document is not YAML.
#[derive(Debug)]
pub struct YamlError {
    /// What is wrong.
    pub message: String,
    /// Where, if it is known.
    pub at: Option<Mark>,
}

/// Reads the documents of a stream, at most `max` of them; empty ones are passed over.
///
/// A document with an error of its own (a key that is no string, a duplicate key) costs
/// only itself; after a syntax error nothing more is read.
pub fn documents(source: &YamlSource, max: usize) -> Vec<Result<Node, YamlError>> {
    let mut text = source.text().as_bytes();
    serde_saphyr::read_with_options::<_, Node>(&mut text, options())
        .take(max)
        .map(|document| document.map_err(|error| failure(&error)))
        .collect()
}

/// Reads the one document of a text into a type; what is wrong is said with its line.
pub fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let YamlError { message, at } = failure(&error);
        match at {
            Some(at) => format!("line {}: {message}", at.line),
            None => message,
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
        return format!("duplicate key '{}'", text::shorten(key, KEY_SHOWN));
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
    // The parser appends the place, which is told apart here.
    let message = innermost.to_string();
    let (message, _place) = message.split_once(" at line ").unwrap_or((&message, ""));
    text::shorten(message, MESSAGE_MAX)
}

#[cfg(test)]
mod tests;
