//! Assembles the seeds that are components in text.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The line of `tool.wat` that a guest replaces.
const GUEST: &str = "  ;; GUEST\n";

/// The placeholders of guests, and their values here.
const LENGTH: (&str, &str) = ("LENGTH", "2");

/// The variable with the output folder; without it, no component is assembled.
const FOLDER: &str = "TOOLHOST_FUZZ_SEEDS";

/// Assembles the components of this folder and the text guests of the tests, before the corpus is
/// read.
///
/// # Errors
/// A text that cannot be read, or a component that cannot be written.
pub(crate) fn assemble() -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a fuzz target has no arguments of its own"
    )]
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return Ok(());
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, text) in texts(&here.join("corpus/component"))? {
        write(&folder, &name, &text)?;
    }
    let guests = here.join("../tests/guests/wat");
    let around = fs::read_to_string(guests.join("tool.wat"))?;
    for (name, guest) in texts(&guests)? {
        if name != "tool" {
            let guest = guest.replace(LENGTH.0, LENGTH.1);
            write(&folder, &name, &around.replace(GUEST, &guest))?;
        }
    }
    Ok(())
}

/// Returns the texts of a folder by name.
fn texts(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        if let Some(name) = name {
            texts.push((name, fs::read_to_string(&path)?));
        }
    }
    Ok(texts)
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let component =
        wat::parse_str(text).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
    fs::write(folder.join(format!("{name}.wasm")), component)
}
