//! Reads the document.

use std::fs::File;
use std::io::Read as _;

use jq_engine::Val;
use jq_engine::json::Reader;
use serde::Deserialize;
use toolhost_guest::ToolError;

use crate::fault;
use crate::formats::{csv, toml, yaml};

/// The most bytes of a document. Its values take some ten times as much of the call's memory.
const MAX_BYTES: u64 = 16 << 20;

/// The format of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
    Toml,
    Csv,
    Tsv,
    Text,
}

/// Reads the text of a file of the workdir.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, ToolError> {
    let fail = |error| fault::file(error, path);
    let file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    // One more, so that the read that finds the end needs no more room.
    let mut bytes = Vec::with_capacity(size.min(MAX_BYTES) as usize + 1);
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fault::too_large(path, MAX_BYTES));
    }
    Ok(bytes)
}

/// Parses the values of a document.
///
/// # Errors
/// The text is not of this format; the message has the place.
pub(crate) fn parse(bytes: &[u8], format: Format, name: &str) -> Result<Vec<Val>, ToolError> {
    if format == Format::Json {
        return json(bytes, name);
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        fault::document(name, &format!("byte {} is not UTF-8", error.valid_up_to()))
    })?;
    let table = |rows: Result<Val, String>| rows.map(|rows| vec![rows]);
    let values = match format {
        Format::Json => Ok(Vec::new()),
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text).map(|value| vec![value]),
        Format::Csv => table(csv::parse(text, csv::Dialect::Commas)),
        Format::Tsv => table(csv::parse(text, csv::Dialect::Tabs)),
        Format::Text => Ok(text.lines().map(Val::from).collect()),
    };
    values.map_err(|reason| fault::document(name, &reason))
}

/// Parses one value, or several after each other: JSON Lines.
fn json(bytes: &[u8], name: &str) -> Result<Vec<Val>, ToolError> {
    let mut reader = Reader::new(bytes);
    let mut values = Vec::new();
    while let Some(value) = reader.next_value() {
        values.push(value.map_err(|reason| fault::json(&reason, bytes, name))?);
    }
    Ok(values)
}
