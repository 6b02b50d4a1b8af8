//! Measures the same work in toolhost and in what could be used instead of it, alternately, in one run.
//!
//! `cargo xtask bench peers` installs the others and runs this. docs/performance.md explains the rows.

mod caller;
mod code_modes;
mod document;
mod engine;
mod exchange;
mod extism;
mod options;
mod ours;
mod pipe;
mod plots;
mod programs;
mod ratios;
mod rounds;
mod rows;
mod scale;

mod spawned;
mod spread;
mod tables;
mod usage;
mod works;

use tokio::runtime::Runtime;

use crate::measure::workdir;
use options::Options;
use rows::Peers;
use tables::Section;

pub(crate) use scale::ARGUMENT as SCALE;
pub(crate) use scale::print as print_scale;

/// The argument after which only this is measured.
pub(crate) const ARGUMENT: &str = "peers";

/// Measures, and prints tables. `arguments` are those after [`ARGUMENT`].
///
/// # Errors
/// The arguments are wrong, or the plots cannot be written.
pub(crate) fn run(runtime: &Runtime, arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let work = workdir();
    let sections = measure(runtime, work.path(), &options)?;
    let scale = match options.only {
        None => scale::rows(),
        Some(_) => Vec::new(),
    };
    let text = document::text(&sections, &scale, options.rounds);
    println!("{text}");
    if options.write {
        document::write(&text, &sections)
    } else {
        Ok(())
    }
}

fn measure(
    runtime: &Runtime,
    workdir: &std::path::Path,
    options: &Options,
) -> Result<Vec<Section>, String> {
    let works = works::all(workdir);
    let keys: Vec<_> = works.iter().map(|work| work.key).collect();
    let works: Vec<_> = match &options.only {
        Some(only) => works.into_iter().filter(|work| only == work.key).collect(),
        None => works,
    };
    if works.is_empty() {
        return Err(format!(
            "no work of this name: they are {}",
            keys.join(", ")
        ));
    }
    let peers = Peers::new(runtime.handle(), workdir);
    let rows = works.iter().map(|work| peers.rows(work, workdir)).collect();
    let measured = rounds::measure(rows, options.rounds);
    let section = |(work, rows): (works::Work, _)| Section {
        key: work.key,
        title: work.title,
        rows,
    };
    Ok(works.into_iter().zip(measured).map(section).collect())
}
