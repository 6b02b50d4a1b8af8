//! The floors of the crates, as [`PAGES`] list them.
//!
//! A part of a crate is a file of its `src`, or a folder there together with the file of the same name. In the blocks
//! of text under a heading with the name of a crate, and in those of [`OTHERS`], each line is a floor, and `▸` ends
//! one within a line. A part takes names from the floors beneath its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::graph::Imports;

/// The pages with lists of floors.
pub(crate) const PAGES: [&str; 2] = ["ARCHITECTURE.md", "docs/design/crates.md"];

/// The heading of the page on which a list begins with the name of its crate.
const OTHERS: &str = "The other crates";

/// The parts of a crate by their floor, of which 0 is the highest.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Floors(pub(crate) BTreeMap<String, usize>);

impl Floors {
    /// Adds floors beneath those that it has.
    fn add(&mut self, line: &str, is_part: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut floor = self.0.values().max().map_or(0, |lowest| lowest + 1);
        // Two spaces separate names from words about them.
        let columns = line
            .split("  ")
            .map(str::trim)
            .filter(|column| !column.is_empty());
        for (at, column) in columns.enumerate() {
            let names: Vec<&str> = column.split_whitespace().map(stem).collect();
            let stranger = names.iter().find(|name| **name != "▸" && !is_part(name));
            match (at, stranger) {
                (0, Some(stranger)) => return Err(format!("`{stranger}` is not there")),
                (_, Some(_)) => continue,
                (_, None) => {}
            }
            for name in names {
                if name == "▸" {
                    floor += 1;
                } else if self.0.insert(name.to_owned(), floor).is_some() {
                    return Err(format!("`{name}` is listed twice"));
                }
            }
        }
        Ok(())
    }
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".rs")
        .or_else(|| name.strip_suffix('/'))
        .unwrap_or(name)
}

/// Returns the floors of the crates that a page lists, by the names of the crates. `is_part` returns whether a crate
/// has a part.
pub(crate) fn read(
    page: &str,
    is_part: impl Fn(&str, &str) -> bool,
) -> Result<BTreeMap<String, Floors>, String> {
    let mut crates: BTreeMap<String, Floors> = BTreeMap::new();
    let (mut heading, mut is_block, mut name) = (String::new(), false, String::new());
    for line in page.lines() {
        if line.starts_with("```") {
            is_block = line == "```text";
        } else if let Some(text) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            text.trim_matches('`').clone_into(&mut heading);
        } else if is_block && heading.starts_with("toolhost") {
            let floors = crates.entry(heading.clone()).or_default();
            let added = floors.add(line, |part| is_part(&heading, part));
            added.map_err(|problem| format!("{heading}: {problem}"))?;
        } else if is_block && heading == OTHERS {
            let mut floors = line;
            if !line.starts_with(' ') {
                let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
                first.clone_into(&mut name);
                floors = rest;
            }
            let added = crates.entry(name.clone()).or_default();
            let added = added.add(floors, |part| is_part(&name, part));
            added.map_err(|problem| format!("{name}: {problem}"))?;
        }
    }
    Ok(crates)
}

/// Returns the part in which a file of the folder `src` lies; `None` for the root of the crate, which only declares
/// and re-exports.
fn part(src: &Path, file: &Path) -> Option<String> {
    let within = file.strip_prefix(src).ok()?;
    let first = stem(within.components().next()?.as_os_str().to_str()?);
    (!["lib", "main"].contains(&first)).then(|| first.to_owned())
}

/// Returns the parts of a crate.
pub(crate) fn parts(src: &Path, imports: &Imports) -> BTreeSet<String> {
    imports.keys().filter_map(|file| part(src, file)).collect()
}

/// Returns the imports that do not lead to a lower floor.
pub(crate) fn upward<'a>(
    src: &Path,
    imports: &'a Imports,
    floors: &Floors,
) -> Vec<(&'a PathBuf, &'a PathBuf)> {
    let floor = |file: &Path| {
        let part = part(src, file)?;
        Some((floors.0.get(&part).copied()?, part))
    };
    let all = imports
        .iter()
        .flat_map(|(file, targets)| targets.iter().map(move |target| (file, target)));
    let leads_up = |(file, target): &(&PathBuf, &PathBuf)| {
        let ends = floor(file).zip(floor(target));
        ends.is_some_and(|((from, part), (to, other))| part != other && from >= to)
    };
    all.filter(leads_up).collect()
}
