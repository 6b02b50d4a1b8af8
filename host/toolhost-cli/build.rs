//! Lists the kits and the contract for embedding, so that an installed `toolhost` creates and builds tools
//! without this repository.
#![expect(
    clippy::disallowed_methods,
    reason = "cargo passes values to a build script in its environment"
)]

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the repository, and the embedded files and folders of each.
const EMBEDDED: [(&str, &[&str]); 4] = [
    (
        "guest-sdk/rust",
        &[
            "Cargo.toml",
            "src",
            "macros/Cargo.toml",
            "macros/src",
            "template",
        ],
    ),
    (
        "guest-sdk/typescript",
        &[
            "build.mjs",
            "build",
            "runtime",
            "package",
            "types.d.ts",
            "template",
        ],
    ),
    (
        "guest-sdk/python",
        &["build.py", "builder", "sdk", "requirements.txt", "template"],
    ),
    ("wit", &["tool.wit", "deps"]),
];

/// Folders of build results, which are not embedded.
const EXCLUDED: [&str; 4] = ["node_modules", "__pycache__", "target", ".toolhost"];

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let root = own.join("../..").canonicalize()?;
    println!("cargo:rerun-if-changed=build.rs");
    let mut list = String::from("&[\n");
    for (folder, parts) in EMBEDDED {
        let mut files = Vec::new();
        for part in parts {
            collect(&root.join(folder).join(part), &mut files)?;
        }
        files.sort();
        for file in files {
            println!("cargo:rerun-if-changed={}", file.display());
            let name = file.strip_prefix(&root)?;
            let name = name.strip_prefix("guest-sdk").unwrap_or(name);
            writeln!(list, "    ({name:?}, include_bytes!({file:?})),")?;
        }
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("embedded.rs"), list)?;
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let name = path.file_name().unwrap_or_default();
    if EXCLUDED.iter().any(|excluded| name == *excluded) {
        return Ok(());
    }
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
