//! Which kits are installed in the user's cache.

use std::fs;
use std::path::PathBuf;

use toolhost_manifest::bundle::built::Language;

use super::kit::Kit;
use super::kit_cache::KitCache;
use super::{python, typescript};

/// A kit, or the part of one that is downloaded.
#[derive(Debug)]
pub(crate) struct InstalledKit {
    pub(crate) name: &'static str,
    /// The tools that are built with it.
    pub(crate) needed_for: &'static str,
    pub(crate) folder: PathBuf,
    pub(crate) state: KitState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KitState {
    /// Nothing of it is downloaded.
    Embedded,
    Missing,
    Installed,
    /// A file outside the cache is gone that it needs.
    Broken,
}

/// Returns the state of each kit of this toolhost.
pub(crate) fn installed_kits(cache: &KitCache) -> Vec<InstalledKit> {
    let typescript = cache.dir().join(Kit::of(Language::TypeScript).id());
    let fetch = typescript.join(typescript::STARLINGMONKEY);
    let venv = python::venv(cache);
    let state = |folder: &PathBuf, needs: Option<PathBuf>| {
        if !KitCache::is_complete(folder) {
            KitState::Missing
        } else if needs.is_some_and(|file| !file.exists()) {
            KitState::Broken
        } else {
            KitState::Installed
        }
    };
    vec![
        InstalledKit {
            name: "rust",
            needed_for: "tools in Rust",
            folder: PathBuf::new(),
            state: KitState::Embedded,
        },
        InstalledKit {
            name: "typescript",
            needed_for: "tools in TypeScript and JavaScript",
            state: state(&typescript, None),
            folder: typescript,
        },
        InstalledKit {
            name: "starlingmonkey",
            needed_for: "tools in JavaScript that ask for this engine",
            state: state(&fetch, None),
            folder: fetch,
        },
        InstalledKit {
            name: "python",
            needed_for: "tools in Python",
            // A link to the Python that made the environment.
            state: state(&venv, Some(python::in_venv(&venv))),
            folder: venv,
        },
    ]
}

/// Returns the folders of kits of other versions of toolhost.
pub(crate) fn outdated_kits(cache: &KitCache) -> Vec<PathBuf> {
    let current = [Language::TypeScript, Language::Python].map(|language| Kit::of(language).id());
    let venv = python::venv(cache);
    let is_kit = |name: &str| name.starts_with("typescript-") || name.starts_with("python-");
    let mut outdated = folders(cache.dir().to_owned(), |name| {
        is_kit(name) && ![python::VENVS, python::PACKAGES, python::BASES].contains(&name)
    });
    outdated.retain(|folder| !current.iter().any(|id| folder.ends_with(id)));
    outdated.extend(folders(cache.dir().join(python::VENVS), |name| {
        !name.starts_with(python::PIP)
    }));
    outdated.extend(folders(cache.dir().join(python::BASES), |id| {
        !current.iter().any(|current| current == id)
    }));
    outdated.retain(|folder| *folder != venv);
    outdated.sort();
    outdated
}

fn folders(parent: PathBuf, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && is_wanted(&entry.file_name().to_string_lossy())
    });
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kit_is_installed_once_it_is_complete_and_other_versions_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = KitCache::new(dir.path());
        let states = || installed_kits(&cache).into_iter().map(|kit| kit.state);
        use KitState::{Broken, Embedded, Installed, Missing};
        assert!(states().eq([Embedded, Missing, Missing, Missing]));
        assert!(!dir.path().join("kits").exists());

        let [_, typescript, fetch, python] = <[_; 4]>::try_from(installed_kits(&cache)).unwrap();
        for kit in [&typescript, &fetch, &python] {
            fs::create_dir_all(&kit.folder).unwrap();
        }
        assert!(states().eq([Embedded, Missing, Missing, Missing]));
        for kit in [&typescript, &python] {
            fs::write(kit.folder.join(".complete"), "").unwrap();
        }
        assert!(states().eq([Embedded, Installed, Missing, Broken]));
        fs::create_dir(python.folder.join("bin")).unwrap();
        fs::write(python.folder.join("bin/python"), "").unwrap();
        assert!(states().eq([Embedded, Installed, Missing, Installed]));

        assert_eq!(outdated_kits(&cache), [""; 0].map(PathBuf::from));
        for other in [
            "typescript-0",
            "python-venvs/0",
            "python-venvs/pip-3.12",
            "python-packages",
            "out",
        ] {
            fs::create_dir_all(cache.dir().join(other)).unwrap();
        }
        let expected = ["python-venvs/0", "typescript-0"].map(|name| cache.dir().join(name));
        assert_eq!(outdated_kits(&cache), expected);
    }
}
