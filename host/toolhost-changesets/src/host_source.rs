//! Rust sources that a build may compile for the host, and run there: build scripts, procedural macros, and what
//! these use.

use std::path::Path;

use toolhost_files::DirView;

use crate::error::ChangesetError;
use crate::files::{kind, read};
use crate::path::PathError;

const MANIFEST: &str = "Cargo.toml";

/// The type of the library of a tool's package. Cargo links it into no other package.
const TOOL: &str = "cdylib";

/// Refuses a Rust source unless it is one of a tool's package without a build script, which is compiled for the
/// sandbox alone. The manifests of packages are the author's: no changeset writes them.
pub(crate) fn refuse(path: &str, folder: &DirView) -> Result<(), ChangesetError> {
    let is_rust = Path::new(path)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("rs"));
    if !is_rust || is_for_the_sandbox(path, folder)? {
        return Ok(());
    }
    let path = path.to_owned();
    Err(PathError::HostSource { path }.into())
}

fn is_for_the_sandbox(path: &str, folder: &DirView) -> Result<bool, ChangesetError> {
    for above in Path::new(path).ancestors().skip(1) {
        let at = |name: &str| above.join(name).to_string_lossy().into_owned();
        if let Some(manifest) = read(folder, &at(MANIFEST))? {
            let manifest = String::from_utf8_lossy(&manifest);
            let has_script = names_a_script(&manifest) || kind(folder, &at("build.rs"))?.is_some();
            return Ok(is_of_a_tool(&manifest) && !has_script);
        }
    }
    Ok(false)
}

fn lines(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().map(str::trim);
    lines.filter(|line| !line.starts_with('#'))
}

fn is_of_a_tool(manifest: &str) -> bool {
    lines(manifest).any(|line| line.contains(TOOL))
}

/// Returns whether a manifest has the key `build`, other than `build = false`.
fn names_a_script(manifest: &str) -> bool {
    lines(manifest).any(|line| {
        let Some((key, value)) = line.split_once('=') else {
            return false;
        };
        let key = key.trim().trim_matches(['"', '\'']);
        let is_build = key == "build" || key == "package.build";
        is_build && !value.trim_start().starts_with("false")
    })
}

#[cfg(test)]
mod tests {
    use super::{is_of_a_tool, names_a_script};

    #[test]
    fn a_manifest_tells_a_tool_and_a_build_script() {
        for (manifest, is_tool, has_script) in [
            ("[lib]\ncrate-type = [\"cdylib\"]", true, false),
            (
                "[lib]\ncrate-type = [\n  'cdylib',\n]\n[package]\nbuild = false",
                true,
                false,
            ),
            (
                "[package]\nbuild= \"src/make.rs\"\n[lib]\ncrate-type = [\"cdylib\"]",
                true,
                true,
            ),
            ("package.build = 'x.rs'", false, true),
            ("[lib]\nproc-macro = true\n# no cdylib", false, false),
            ("[build-dependencies]\nx = \"1\"", false, false),
        ] {
            assert_eq!(is_of_a_tool(manifest), is_tool, "{manifest}");
            assert_eq!(names_a_script(manifest), has_script, "{manifest}");
        }
    }
}
