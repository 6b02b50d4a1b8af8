//! The files embedded in the binary: for each language a kit that builds its tools and a template for new
//! ones, and the contract.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_manifest::bundle::built::Language;

/// Path and bytes of each file. The path begins with the folder of a kit or of the contract.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Folder of the contract.
pub(super) const CONTRACT: &str = "wit";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Kit {
    /// Name of its folder.
    name: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct KitFile {
    /// Its path in the folder of the kit, or beneath it.
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

    /// The files that build tools.
    pub(crate) fn builder(self) -> impl Iterator<Item = KitFile> {
        below(self.name).filter(|file| !file.path.starts_with("template/"))
    }

    /// The files of a new tool.
    pub(crate) fn template(self) -> impl Iterator<Item = KitFile> {
        below(self.name).filter_map(|file| {
            let path = file.path.strip_prefix("template/")?;
            Some(KitFile { path, ..file })
        })
    }

    /// Name and digest of the build files and the contract. Any change of a file changes it.
    pub(crate) fn id(self) -> String {
        let files = self.builder().chain(contract());
        let digest =
            toolhost_manifest::bundle::built::digest_of(files.map(|file| (file.path, file.bytes)));
        let short: String = digest.chars().take(16).collect();
        format!("{}-{short}", self.name)
    }
}

/// The contract's files.
pub(crate) fn contract() -> impl Iterator<Item = KitFile> {
    below(CONTRACT)
}

fn below(folder: &'static str) -> impl Iterator<Item = KitFile> {
    EMBEDDED.iter().filter_map(move |(path, bytes)| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some(KitFile { path, bytes })
    })
}

/// Writes files into a folder beneath `top`. Leaves equal files as they are, as compilers compare
/// modification times. Follows no links beneath `top`, as a guest may have made them.
pub(crate) fn write_files(
    files: impl Iterator<Item = KitFile>,
    top: &Path,
    folder: &str,
) -> Result<()> {
    let dir = open(top)?;
    for file in files {
        let path = Path::new(folder).join(file.path);
        let cannot = || format!("{} cannot be written", top.join(&path).display());
        let parent = path.parent().unwrap_or(Path::new(""));
        check_no_links(&dir, top, parent)?;
        if !parent.as_os_str().is_empty() {
            dir.create_dir_all(parent).with_context(cannot)?;
        }
        let is_link = dir
            .symlink_metadata(&path)
            .is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            dir.remove_file(&path).with_context(cannot)?;
        } else if dir.read(&path).is_ok_and(|bytes| bytes == file.bytes) {
            continue;
        }
        dir.write(&path, file.bytes).with_context(cannot)?;
    }
    Ok(())
}

/// Makes a link beneath `top`, unless there is something of that name.
pub(crate) fn link(target: &str, top: &Path, path: &str) -> Result<()> {
    let dir = open(top)?;
    let path = Path::new(path);
    let cannot = || format!("{} cannot be made", top.join(path).display());
    let parent = path.parent().unwrap_or(Path::new(""));
    check_no_links(&dir, top, parent)?;
    if dir.symlink_metadata(path).is_ok() {
        return Ok(());
    }
    dir.create_dir_all(parent).with_context(cannot)?;
    dir.symlink(target, path).with_context(cannot)
}

/// Writes files into a folder and removes all others.
pub(crate) fn sync_folder(
    files: impl Iterator<Item = KitFile> + Clone,
    top: &Path,
    folder: &str,
) -> Result<()> {
    let dir = open(top)?;
    check_no_links(&dir, top, Path::new(folder))?;
    remove_others(&dir, Path::new(folder), Path::new(""), &files)?;
    write_files(files, top, folder)
}

fn open(top: &Path) -> Result<Dir> {
    let cannot = || format!("{} cannot be opened", top.display());
    fs::create_dir_all(top).with_context(cannot)?;
    Dir::open_ambient_dir(top, ambient_authority()).with_context(cannot)
}

/// Refuses a folder that is a link, or is beneath one.
fn check_no_links(dir: &Dir, top: &Path, folder: &Path) -> Result<()> {
    for ancestor in folder.ancestors() {
        let metadata = dir.symlink_metadata(ancestor);
        if metadata.is_ok_and(|metadata| metadata.is_symlink()) {
            bail!("{} is a link: remove it", top.join(ancestor).display());
        }
    }
    Ok(())
}

fn remove_others(
    dir: &Dir,
    folder: &Path,
    subfolder: &Path,
    files: &(impl Iterator<Item = KitFile> + Clone),
) -> Result<()> {
    let here = folder.join(subfolder);
    let Ok(entries) = dir.read_dir(&here) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let subfolder = subfolder.join(entry.file_name());
        let path = folder.join(&subfolder);
        let cannot = || format!("{} cannot be removed", path.display());
        let is_folder = entry.file_type().with_context(cannot)?.is_dir();
        let is_wanted = files
            .clone()
            .any(|file| Path::new(file.path).starts_with(&subfolder));
        match (is_wanted, is_folder) {
            (true, true) => remove_others(dir, folder, &subfolder, files)?,
            (true, false) => {}
            (false, true) => dir.remove_dir_all(&path).with_context(cannot)?,
            (false, false) => dir.remove_file(&path).with_context(cannot)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_kit_is_embedded_without_build_results() {
        for (kit, builds, begins) in [
            ("rust", "src/lib.rs", "src/lib.rs"),
            ("typescript", "build.mjs", "index.ts"),
            ("python", "build.py", "tool.py"),
        ] {
            let kit = Kit { name: kit };
            let has = |mut files: Box<dyn Iterator<Item = KitFile>>, path| {
                files.any(|file| file.path == path)
            };
            assert!(has(Box::new(kit.builder()), builds), "{kit:?}");
            for path in [begins, "goondan.yaml", ".gitignore", "README.md"] {
                assert!(has(Box::new(kit.template()), path), "{kit:?} {path}");
            }
        }
        assert!(contract().any(|file| file.path == "tool.wit"));
        for (path, _) in EMBEDDED {
            assert!(
                !path.contains("node_modules") && !path.contains("/test/"),
                "{path}"
            );
        }
        let embedded: usize = EMBEDDED.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(embedded < 3 << 19, "{embedded} bytes");
    }

    #[test]
    fn a_synced_folder_has_exactly_the_files_and_equal_files_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let kit = Kit::of(Language::Rust);
        let at = |path: &str| dir.path().join("kit").join(path);
        fs::create_dir_all(at("src/old")).unwrap();
        for stray in ["build.rs", "src/stray.rs", "src/old/x.rs"] {
            fs::write(at(stray), "").unwrap();
        }
        let files: Vec<_> = kit.builder().collect();
        sync_folder(files.iter().copied(), dir.path(), "kit").unwrap();
        assert!(
            !at("build.rs").exists() && !at("src/stray.rs").exists() && !at("src/old").exists()
        );
        let before = fs::metadata(at("src/lib.rs")).unwrap().modified().unwrap();
        sync_folder(files.iter().copied(), dir.path(), "kit").unwrap();
        assert_eq!(
            fs::metadata(at("src/lib.rs")).unwrap().modified().unwrap(),
            before
        );
        for file in files {
            assert_eq!(fs::read(at(file.path)).unwrap(), file.bytes);
        }
    }

    #[test]
    fn a_link_is_made_where_nothing_is_and_beneath_no_other_link() {
        let (project, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |path: &str| project.path().join(path);
        let make = || link("../sdk", project.path(), "node_modules/toolhost");
        make().unwrap();
        assert_eq!(
            fs::read_link(at("node_modules/toolhost")).unwrap(),
            Path::new("../sdk")
        );
        fs::remove_file(at("node_modules/toolhost")).unwrap();
        fs::write(at("node_modules/toolhost"), "kept").unwrap();
        make().unwrap();
        assert_eq!(fs::read(at("node_modules/toolhost")).unwrap(), b"kept");
        fs::remove_dir_all(at("node_modules")).unwrap();
        symlink(outside.path(), at("node_modules")).unwrap();
        assert!(make().is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn links_are_not_followed_when_files_are_written_or_removed() {
        let (project, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kit = Kit::of(Language::Rust);
        let files: Vec<_> = kit.builder().collect();
        let target = outside.path().join("lib.rs");
        fs::write(&target, "kept").unwrap();
        let lay = || sync_folder(files.iter().copied(), project.path(), "sdk/rust");
        // A folder on the way, and the folder itself.
        for link in ["sdk", "sdk/rust", "sdk/rust/src"] {
            let link = project.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(outside.path(), &link).unwrap();
            let _ = lay();
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "{link:?}");
            assert_eq!(fs::read(&target).unwrap(), b"kept", "{link:?}");
            let _ = fs::remove_file(&link);
            let _ = fs::remove_dir_all(project.path().join("sdk"));
        }
        lay().unwrap();
        let file = project.path().join("sdk/rust/src/lib.rs");
        fs::remove_file(&file).unwrap();
        symlink(&target, &file).unwrap();
        lay().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"kept");
        assert_ne!(fs::read(&file).unwrap(), b"kept");
    }
}
