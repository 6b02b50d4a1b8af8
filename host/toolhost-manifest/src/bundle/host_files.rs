//! Files and folders that programs outside the sandbox read because of their names: compilers, bundlers, package
//! managers, and programs that choose the versions of these.
//!
//! A new language adds a row to `TABLE`, and nothing else. From the table follow
//! - what a changeset may not write, wherever it lies: [`is_read_by_name`];
//! - what no tool may create or change near the sources of a tool: `near_sources`;
//! - what makes a component out of date when it is changed, removed or new: [`looked_up`].

use std::path::{Path, PathBuf};

use super::built::Language;

/// The files that programs of one language read by name. A `*` stands for any text. The first name of a path is
/// reserved: with `.cargo/config.toml`, all of `.cargo`.
#[derive(Debug, Clone, Copy)]
struct HostFiles {
    /// None for programs that choose the version of any compiler.
    language: Option<Language>,
    /// A build looks them up in the folder of the entry and in all folders above.
    above: &'static [&'static str],
    /// A build looks them up in the folder of the entry.
    beside: &'static [&'static str],
    /// No build looks them up, but other programs that authors run in the folder do.
    others: &'static [&'static str],
}

const TABLE: [HostFiles; 4] = [
    HostFiles {
        language: Some(Language::Rust),
        above: &[
            ".cargo/config.toml",
            ".cargo/config",
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
            "rust-toolchain",
            // asdf and mise run the cargo that these name.
            ".tool-versions",
            "mise.toml",
            ".mise.toml",
        ],
        beside: &["build.rs"],
        others: &[
            "clippy.toml",
            ".clippy.toml",
            "rustfmt.toml",
            ".rustfmt.toml",
        ],
    },
    HostFiles {
        language: Some(Language::TypeScript),
        above: &[
            "package.json",
            "node_modules",
            ".pnp.cjs",
            ".pnp.js",
            ".pnp.data.json",
            "tsconfig.json",
            "jsconfig.json",
        ],
        beside: &[],
        others: &[
            "package.json5",
            "package.yaml",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml",
            "yarn.lock",
            "bun.lock",
            "bun.lockb",
            "bunfig.toml",
            "deno.json",
            "deno.jsonc",
            "deno.lock",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn",
            ".pnpmfile.*",
            "pnpmfile.js",
            ".pnp.loader.mjs",
            // `npm install` compiles what it describes, and runs its commands.
            "binding.gyp",
            "tsconfig.*.json",
            ".babelrc*",
            "babel.config.*",
            ".swcrc",
            ".browserslistrc",
            "esbuild.config.*",
            "rollup.config.*",
            "vite.config.*",
            "vitest.config.*",
            "webpack.config.*",
            ".nvmrc",
            ".node-version",
        ],
    },
    HostFiles {
        language: Some(Language::Python),
        above: &[],
        beside: &["requirements.txt"],
        others: &[
            "requirements*.txt",
            "requirements*.in",
            "constraints*.txt",
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "pip.conf",
            "pip.ini",
            "Pipfile",
            "Pipfile.lock",
            "poetry.lock",
            "poetry.toml",
            "pdm.lock",
            "pylock*.toml",
            "uv.lock",
            "uv.toml",
            "tox.ini",
            "pytest.ini",
            "noxfile.py",
            "conftest.py",
            "componentize-py.toml",
            "sitecustomize.py",
            "usercustomize.py",
            "*.pth",
            "pyvenv.cfg",
            ".venv",
            ".python-version",
            // Python runs these in the place of a module beside them.
            "__pycache__",
            "*.pyc",
        ],
    },
    HostFiles {
        language: None,
        above: &[],
        beside: &[],
        others: &["mise.*.toml", ".mise*", ".prototools", ".envrc"],
    },
];

/// Returns whether programs outside the sandbox read a file or folder of this name, in any case: file systems may
/// ignore it.
pub fn is_read_by_name(name: &str) -> bool {
    let name = folded(name);
    let rows = TABLE.iter();
    let mut names = rows.flat_map(|row| [row.above, row.beside, row.others].concat());
    names.any(|path| {
        let first = path.split('/').next().unwrap_or(path);
        matches(&folded(first), &name)
    })
}

/// Returns a name as file systems compare it that ignore case.
pub fn folded(name: &str) -> String {
    // `ſ` has no other lower case, but shares its upper case with `s`.
    name.to_uppercase().to_lowercase()
}

/// Returns whether a name is the pattern, in which one `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name
            .strip_prefix(start)
            .is_some_and(|rest| rest.ends_with(end)),
        None => name == pattern,
    }
}

/// Returns the paths that builds look up in a folder with sources, and in all folders above.
pub(super) fn near_sources(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = TABLE.iter().flat_map(|row| row.above);
    names.map(move |name| folder.join(name))
}

/// Returns the paths that the build of an entry looks up by name, whether or not there is a file. `entry` is absolute.
pub fn looked_up(language: Language, entry: &Path) -> Vec<PathBuf> {
    let rows = TABLE.iter().filter(|row| row.language == Some(language));
    let mut paths = Vec::new();
    for row in rows {
        for (depth, folder) in entry.ancestors().skip(1).enumerate() {
            let beside = if depth == 0 { row.beside } else { &[] };
            let names = row.above.iter().chain(beside);
            paths.extend(names.map(|name| folder.join(name)));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_is_reserved_in_any_case() {
        for row in TABLE {
            for path in [row.above, row.beside, row.others].concat() {
                let name = path.split('/').next().unwrap().replace('*', "x");
                assert!(is_read_by_name(&name), "{name}");
                assert!(is_read_by_name(&name.to_uppercase()), "{name}");
            }
        }
        for name in [
            "REQUIREMENTS-dev.TXT",
            "pac\u{212a}age.json",
            "requirement\u{17f}.txt",
            "x.PTH",
        ] {
            assert!(is_read_by_name(name), "{name}");
        }
        for name in [
            "goondan.yaml",
            "tool.py",
            "index.ts",
            "lib.rs",
            "package",
            "tests",
            "requirements",
            "config.toml",
            "mise",
        ] {
            assert!(!is_read_by_name(name), "{name}");
        }
    }

    #[test]
    fn a_build_looks_up_names_beside_the_entry_and_above_it() {
        let entry = Path::new("/a/b/Cargo.toml");
        let paths = looked_up(Language::Rust, entry);
        for path in [
            "/a/b/build.rs",
            "/a/b/.cargo/config.toml",
            "/a/Cargo.toml",
            "/rust-toolchain",
        ] {
            assert!(paths.contains(&path.into()), "{path}");
        }
        for path in ["/a/build.rs", "/a/b/package.json", "/a/b/clippy.toml"] {
            assert!(!paths.contains(&path.into()), "{path}");
        }
        let paths = looked_up(Language::Python, Path::new("/a/tool.py"));
        assert_eq!(paths, [PathBuf::from("/a/requirements.txt")]);
    }
}
