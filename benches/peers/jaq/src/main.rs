//! Answers queries with jaq. Each line of standard input is a request, each line of standard output its
//! answer. With `kept` it compiles a query once, otherwise for each request.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead as _, Write as _, stdin, stdout};

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, data};
use jaq_json::{Val, read};
use serde::Deserialize;

type Compiled = Filter<data::JustLut<Val>>;

#[derive(Deserialize)]
struct Request {
    id: u64,
    input: Input,
}

#[derive(Deserialize)]
struct Input {
    query: String,
    path: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let keep = std::env::args().any(|argument| argument == "kept");
    let mut kept = HashMap::new();
    let mut output = stdout().lock();
    for line in stdin().lock().lines() {
        let Request { id, input } = serde_json::from_str(&line?)?;
        if !keep || !kept.contains_key(&input.query) {
            kept.insert(input.query.clone(), compile(&input.query)?);
        }
        let results = results(&kept[&input.query], &std::fs::read(&input.path)?)?;
        writeln!(
            output,
            r#"{{"id":{id},"output":{{"results":[{results}]}}}}"#
        )?;
        output.flush()?;
    }
    Ok(())
}

fn compile(query: &str) -> Result<Compiled, Box<dyn Error>> {
    let defs = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    let funs = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File {
        code: query,
        path: (),
    };
    let modules = Loader::new(defs).load(&arena, program);
    let modules = modules.map_err(|_| "the query is not jq")?;
    let compiled = Compiler::default().with_funs(funs).compile(modules);
    Ok(compiled.map_err(|_| "the query uses an unknown filter")?)
}

/// Returns the results of each value of a document, separated by commas.
fn results(filter: &Compiled, document: &[u8]) -> Result<String, Box<dyn Error>> {
    let mut results = Vec::new();
    for value in read::parse_many(document) {
        let value = value.map_err(|error| error.to_string())?;
        let ctx = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        for result in filter.id.run((ctx, value)) {
            let result = result.map_err(|end| format!("{:?}", end.get_err().ok()))?;
            results.push(result.to_string());
        }
    }
    Ok(results.join(","))
}
