//! `query`: runs jq on each value of a document.

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Exn, Vars, data};
use jaq_json::Val;
use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, Value};

use crate::{document, fault};

/// `@csv` and `@tsv`.
const FORMATS: &str = include_str!("formats.jq");

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
    results: Vec<Value>,
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

    let arena = Arena::default();
    let formats = load::parse(FORMATS, |parser| parser.defs());
    let defs = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .chain(formats.unwrap_or_default());
    let funs = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let program = File {
        code: input.query.as_str(),
        path: (),
    };
    let modules = Loader::new(defs)
        .load(&arena, program)
        .map_err(|errors| fault::syntax(&input.query, errors))?;
    let filter = Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(|errors| fault::undefined(&input.query, errors))?;

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
    results: Vec<Value>,
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
        // jq has values that JSON does not, such as NaN: they become text.
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.results.push(value);
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
