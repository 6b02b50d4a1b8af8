//! Prints the public API of a crate, a line for each item: `toolhost-public-api CRATE.json`.
//!
//! The lines are those of the library `public-api`. A comment is added where it decides whether a later
//! addition is breaking: to a struct that can be made by its fields, and to an item that whoever
//! implements a trait must provide. Of derived traits only the `impl` is listed, without its functions;
//! of the traits that the compiler implements by itself, only `Send` and `Sync`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use public_api::{Builder, PublicItem};
use rustdoc_types::{Crate, Id};

mod facts;
mod paths;

fn main() -> Result<()> {
    let json = std::env::args_os().nth(1).map(PathBuf::from);
    let json = json.context("name the file with the JSON of rustdoc")?;
    let described = read(&json).with_context(|| json.display().to_string())?;
    let version = described.crate_version.as_deref().unwrap_or("?");
    println!("# {} {version}", name(&described));
    for line in lines(&json, &described)? {
        println!("{line}");
    }
    Ok(())
}

fn read(json: &Path) -> Result<Crate> {
    let text = std::fs::read_to_string(json)?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    reader.disable_recursion_limit();
    let described = <Crate as serde::Deserialize>::deserialize(&mut reader).with_context(|| {
        format!(
            "this rustdoc writes another format than {}: change the releases of `public-api` and \
             `rustdoc-types` in xtask/public-api/Cargo.toml with the release of Rust",
            rustdoc_types::FORMAT_VERSION
        )
    })?;
    Ok(described)
}

/// Returns the name of the crate.
fn name(described: &Crate) -> &str {
    let root = described.index.get(&described.root);
    root.and_then(|root| root.name.as_deref()).unwrap_or("?")
}

/// Returns the lines of the listing, in the order of `public-api`.
fn lines(json: &Path, described: &Crate) -> Result<Vec<String>> {
    let all = Builder::from_rustdoc_json(json).omit_blanket_impls(true);
    let written: HashSet<(Id, String)> = all
        .clone()
        .omit_auto_derived_impls(true)
        .build()?
        .items()
        .map(key)
        .collect();
    let facts = facts::Facts::of(described);
    let own = name(described);
    let mut lines: Vec<String> = all
        .build()?
        .items()
        .filter(|item| written.contains(&key(item)) || item.to_string().starts_with("impl"))
        .filter(|item| !is_incidental(&item.to_string()))
        .map(|item| paths::without_modules(&facts.annotate(item), own))
        .collect();
    lines.dedup();
    Ok(lines)
}

fn key(item: &PublicItem) -> (Id, String) {
    (item.id(), item.to_string())
}

/// Returns whether a line is an `impl` of a trait that the compiler implements by itself and that users of
/// a type rarely depend on.
fn is_incidental(line: &str) -> bool {
    const TRAITS: [&str; 6] = [
        "core::marker::Freeze",
        "core::marker::StructuralPartialEq",
        "core::marker::Unpin",
        "core::marker::UnsafeUnpin",
        "core::panic::unwind_safe::RefUnwindSafe",
        "core::panic::unwind_safe::UnwindSafe",
    ];
    line.starts_with("impl")
        && TRAITS.iter().any(|name| {
            line.contains(&format!(" {name} for ")) || line.contains(&format!(" !{name} for "))
        })
}
