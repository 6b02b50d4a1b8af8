//! `query`: runs jq on each value of a document.

use jaq_core::{Ctx, Exn, Vars, data};
use jaq_json::Val;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use toolhost_guest::{Context, ToolError};

use crate::document::{self, MAX_DEPTH};
use crate::{fault, program};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    query: String,
    path: Option<String>,
    json: Option<String>,
    #[serde(default = "thousand")]
    max_results: usize,
    #[serde(default = "hundred_thousand")]
    max_bytes: usize,
}

fn thousand() -> usize {
    1_000
}

fn hundred_thousand() -> usize {
    100_000
}

#[derive(Serialize)]
pub(crate) struct Output {
    results: Vec<Box<RawValue>>,
    count: usize,
    /// There are more results; the query should select less.
    truncated: bool,
}

/// Returns `{results, count, truncated}`.
pub(crate) fn query(_: &Context, input: Input) -> Result<Output, ToolError> {
    let (bytes, name) = match (&input.path, &input.json) {
        (Some(path), None) => (document::read(path)?, path.as_str()),
        (None, Some(json)) => (json.clone().into_bytes(), "json"),
        _ => return Err(fault::source()),
    };
    let values = document::parse(&bytes, name)?;
    drop(bytes);

    let filter = program::compile(&input.query)?;
    let mut found = Found::new(input.max_results, input.max_bytes);
    for value in values {
        let ctx = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        for result in filter.id.run((ctx, value)) {
            match result {
                Ok(value) if found.add(&value) => {}
                Ok(_) => return Ok(found.output(true)),
                Err(end) => match stopped(end) {
                    Some(message) => return Err(fault::run(&message, found.results.len())),
                    None => return Ok(found.output(false)),
                },
            }
        }
    }
    Ok(found.output(false))
}

/// Why the query ended; `halt` is none.
fn stopped(end: Exn<'_, Val>) -> Option<String> {
    end.get_err().ok().map(|error| error.to_string())
}

/// Results within their bounds.
struct Found {
    results: Vec<Box<RawValue>>,
    max_results: usize,
    bytes_left: usize,
}

impl Found {
    fn new(max_results: usize, bytes_left: usize) -> Self {
        Self {
            results: Vec::new(),
            max_results,
            bytes_left,
        }
    }

    /// Adds a result, if there is room.
    fn add(&mut self, value: &Val) -> bool {
        let text = value.to_string();
        // With the comma.
        let bytes = text.len() + 1;
        if self.results.len() == self.max_results || bytes > self.bytes_left {
            return false;
        }
        self.bytes_left -= bytes;
        self.results.push(json(text));
        true
    }

    fn output(self, truncated: bool) -> Output {
        Output {
            count: self.results.len(),
            results: self.results,
            truncated,
        }
    }
}

/// Returns the text of a value as JSON. Values that JSON does not have, such as NaN, and those that are nested
/// too deep become a text.
fn json(text: String) -> Box<RawValue> {
    let is_json = document::depth(text.as_bytes()) <= MAX_DEPTH
        && serde_json::from_str::<&RawValue>(&text).is_ok();
    if !is_json {
        return to_raw_value(&text).unwrap_or_default();
    }
    RawValue::from_string(text).unwrap_or_default()
}
