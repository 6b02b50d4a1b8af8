//! Files that the sources of a package include when they are compiled.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// Files that each package has.
const EVERYWHERE: [&str; 3] = ["Cargo.toml", "LICENSE", "README.md"];

/// Checks that a package contains what its sources include, as files of its own.
///
/// # Errors
/// The first file that is missing, with the source that includes it.
pub(super) fn check(package: &Path) -> Result<()> {
    for name in EVERYWHERE {
        if !package
            .join(name)
            .symlink_metadata()
            .is_ok_and(|found| found.is_file())
        {
            bail!("no file {name}");
        }
    }
    check_folder(package, &package.join("src"))
}

fn check_folder(package: &Path, folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            check_folder(package, &path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            for (top, name) in names(&text) {
                let top = match top {
                    Top::Package => package,
                    Top::Source => folder,
                };
                check_name(package, &top.join(name))
                    .with_context(|| format!("{} includes \"{name}\"", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Where the path of an included file begins.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Top {
    Package,
    Source,
}

/// Returns the paths in `include…!("PATH")`, and in `path: "PATH"` of `bindgen!`.
fn names(text: &str) -> Vec<(Top, &str)> {
    let mut beginnings = vec![
        ("include_str!(\"", Top::Source),
        ("include_bytes!(\"", Top::Source),
        ("include!(\"", Top::Source),
    ];
    if text.contains("bindgen!(") {
        beginnings.push(("path: \"", Top::Package));
    }
    let mut names = Vec::new();
    for (beginning, top) in beginnings {
        let rests = text.split(beginning).skip(1);
        names.extend(rests.filter_map(|rest| Some((top, rest.split('"').next()?))));
    }
    names
}

fn check_name(package: &Path, path: &Path) -> Result<()> {
    let found = path.canonicalize().context("it is not in the package")?;
    if !found.starts_with(package.canonicalize()?) {
        bail!("it lies outside of the package: link to it from the folder of the crate");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{EVERYWHERE, Top, check, names};

    #[test]
    fn included_paths_are_found() {
        let text =
            "#![doc = include_str!(\"a.md\")] bindgen!({ path: \"wit\" }) include!(\"b.rs\")";
        assert_eq!(
            names(text),
            [
                (Top::Source, "a.md"),
                (Top::Source, "b.rs"),
                (Top::Package, "wit")
            ]
        );
        assert_eq!(names("struct A { path: \"x\" }"), []);
    }

    #[test]
    fn a_package_contains_what_its_sources_include() {
        let dir = std::env::temp_dir().join(format!("toolhost-package-{}", std::process::id()));
        let package = dir.join("package");
        fs::create_dir_all(package.join("src")).unwrap();
        fs::write(dir.join("outside.md"), "").unwrap();
        fs::write(package.join("src/inside.md"), "").unwrap();
        for name in EVERYWHERE {
            assert!(check(&package).is_err(), "without {name}");
            fs::write(package.join(name), "").unwrap();
        }
        let source = |text: &str| {
            fs::write(package.join("src/lib.rs"), text).unwrap();
            check(&package).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(source("include_str!(\"inside.md\")"), Ok(()));
        let missing = source("include_str!(\"missing.md\")").unwrap_err();
        assert!(missing.contains("it is not in the package"), "{missing}");
        let outside = source("include_str!(\"../../outside.md\")").unwrap_err();
        assert!(outside.contains("outside of the package"), "{outside}");
        fs::remove_dir_all(dir).unwrap();
    }
}
