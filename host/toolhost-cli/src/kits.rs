//! What the binary carries for authors: for each language the kit that builds its tools, with a
//! template to begin with, and the contract.

mod shelf;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toolhost::bundle::built::Language;

pub(crate) use shelf::{Held, Shelf, contract_of, lock};

/// Each file: its path, which begins with the folder of its kit or of the contract, and its bytes.
static CARRIED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// Folder of the contract.
const CONTRACT: &str = "wit";

/// One language's part of what is carried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kit {
    /// The language, as a folder is named.
    name: &'static str,
}

/// A file that is carried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carried {
    /// Its path in the folder asked for.
    pub(crate) path: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl Kit {
    pub(crate) const fn of(language: Language) -> Self {
        let name = match language {
            Language::Rust => "rust",
            Language::TypeScript => "typescript",
            Language::Python => "python",
        };
        Self { name }
    }

    /// What builds tools.
    pub(crate) fn builder(self) -> impl Iterator<Item = Carried> {
        below(self.name).filter(|file| !file.path.starts_with("template/"))
    }

    /// What a new tool begins with.
    pub(crate) fn template(self) -> impl Iterator<Item = Carried> {
        below(self.name).filter_map(|file| {
            let path = file.path.strip_prefix("template/")?;
            Some(Carried { path, ..file })
        })
    }

    /// Name and digest of the builder and the contract: another wherever a byte of them is.
    pub(crate) fn id(self) -> String {
        let files = self.builder().chain(contract());
        let digest = toolhost::bundle::built::digest_of(files.map(|file| (file.path, file.bytes)));
        let short: String = digest.chars().take(16).collect();
        format!("{}-{short}", self.name)
    }
}

/// The contract's files.
pub(crate) fn contract() -> impl Iterator<Item = Carried> {
    below(CONTRACT)
}

fn below(folder: &'static str) -> impl Iterator<Item = Carried> {
    CARRIED.iter().filter_map(move |(path, bytes)| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some(Carried { path, bytes })
    })
}

/// Writes files beneath a folder. One that is the same stays as it is: compilers go by the time of a
/// change.
pub(crate) fn lay_out(files: impl Iterator<Item = Carried>, folder: &Path) -> Result<()> {
    for file in files {
        let path = folder.join(file.path);
        if fs::read(&path).is_ok_and(|bytes| bytes == file.bytes) {
            continue;
        }
        let cannot = || format!("{} cannot be written", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(cannot)?;
        }
        fs::write(&path, file.bytes).with_context(cannot)?;
    }
    Ok(())
}

/// Makes a folder hold exactly these files.
pub(crate) fn lay_out_alone(
    files: impl Iterator<Item = Carried> + Clone,
    folder: &Path,
) -> Result<()> {
    remove_others(folder, folder, &files)?;
    lay_out(files, folder)
}

fn remove_others(
    top: &Path,
    folder: &Path,
    files: &(impl Iterator<Item = Carried> + Clone),
) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        let own = path.strip_prefix(top).unwrap_or(&path);
        let cannot = || format!("{} cannot be removed", path.display());
        let is_folder = fs::symlink_metadata(&path).with_context(cannot)?.is_dir();
        let leads = files
            .clone()
            .any(|file| Path::new(file.path).starts_with(own));
        match (leads, is_folder) {
            (true, true) => remove_others(top, &path, files)?,
            (true, false) => {}
            (false, true) => fs::remove_dir_all(&path).with_context(cannot)?,
            (false, false) => fs::remove_file(&path).with_context(cannot)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kit_is_carried_without_what_lies_about() {
        for (kit, builds, begins) in [
            ("rust", "src/lib.rs", "src/lib.rs"),
            ("typescript", "build.mjs", "index.ts"),
            ("python", "build.py", "tool.py"),
        ] {
            let kit = Kit { name: kit };
            let has = |mut files: Box<dyn Iterator<Item = Carried>>, path| {
                files.any(|file| file.path == path)
            };
            assert!(has(Box::new(kit.builder()), builds), "{kit:?}");
            for path in [begins, "goondan.yaml", ".gitignore", "README.md"] {
                assert!(has(Box::new(kit.template()), path), "{kit:?} {path}");
            }
        }
        assert!(contract().any(|file| file.path == "tool.wit"));
        for (path, _) in CARRIED {
            assert!(
                !path.contains("node_modules") && !path.contains("/test/"),
                "{path}"
            );
        }
        let carried: usize = CARRIED.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(carried < 1 << 20, "{carried} bytes");
    }

    #[test]
    fn a_folder_holds_exactly_what_is_laid_out_and_the_same_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let kit = Kit::of(Language::Rust);
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("src/old")).unwrap();
        for stray in ["build.rs", "src/stray.rs", "src/old/x.rs"] {
            fs::write(at(stray), "").unwrap();
        }
        let files: Vec<_> = kit.builder().collect();
        lay_out_alone(files.iter().copied(), dir.path()).unwrap();
        assert!(
            !at("build.rs").exists() && !at("src/stray.rs").exists() && !at("src/old").exists()
        );
        let before = fs::metadata(at("src/lib.rs")).unwrap().modified().unwrap();
        lay_out_alone(files.iter().copied(), dir.path()).unwrap();
        assert_eq!(
            fs::metadata(at("src/lib.rs")).unwrap().modified().unwrap(),
            before
        );
        for file in files {
            assert_eq!(fs::read(at(file.path)).unwrap(), file.bytes);
        }
    }
}
