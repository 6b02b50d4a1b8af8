//! `toolhost wit`: writes the contract as WIT.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::args::WitArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::terminal::{stdout, text};
use crate::toolchains::kit::{self, KitFile};

/// What is at the path of a file of the contract.
enum OnDisk {
    Nothing,
    Equal,
    /// Other content, a folder, a link, or something that cannot be read.
    Other,
}

pub(crate) fn wit(args: &WitArgs) -> Result<Exit, Failure> {
    let mut missing = Vec::new();
    let mut others = Vec::new();
    for file in kit::contract() {
        let path = args.folder.join(file.path);
        match find(&path, file.bytes) {
            OnDisk::Nothing => missing.push(file),
            OnDisk::Equal => {}
            OnDisk::Other => others.push(path),
        }
    }
    if !others.is_empty() {
        return Err(refusal(&others));
    }
    write(&missing, &args.folder)?;
    stdout::write(&report(&missing, &args.folder))?;
    Ok(Exit::Done)
}

fn find(path: &Path, bytes: &[u8]) -> OnDisk {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => OnDisk::Nothing,
        // The size first, so that a large file is not read.
        Ok(metadata) if metadata.is_file() && metadata.len() == bytes.len() as u64 => {
            match fs::read(path) {
                Ok(read) if read == bytes => OnDisk::Equal,
                _ => OnDisk::Other,
            }
        }
        _ => OnDisk::Other,
    }
}

fn refusal(others: &[PathBuf]) -> Failure {
    let names: Vec<_> = others.iter().map(|path| text::path(path)).collect();
    let error = match names.as_slice() {
        [one] => anyhow!("{one} exists with other content; nothing was written"),
        all => anyhow!(
            "{} exist with other content; nothing was written",
            all.join(", ")
        ),
    };
    Failure::from(error).hint("Remove what is there, or name another folder.")
}

fn write(files: &[KitFile], folder: &Path) -> Result<(), Failure> {
    let cannot = || {
        format!(
            "the contract cannot be written to {}",
            folder.to_string_lossy()
        )
    };
    let written = kit::write_files(files.iter().copied(), folder, "").with_context(cannot);
    written.hint("Name a folder in which you can write.")
}

fn report(written: &[KitFile], folder: &Path) -> String {
    if written.is_empty() {
        return format!("{} has the contract already", text::path(folder));
    }
    let paths = written.iter().map(|file| folder.join(file.path));
    let lines: Vec<_> = paths
        .map(|path| format!("wrote {}", text::path(&path)))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn wit_into(folder: &Path) -> Result<Exit, Failure> {
        wit(&WitArgs {
            folder: folder.to_owned(),
        })
    }

    #[test]
    fn writes_the_contract_and_the_packages_of_wasi_and_leaves_equal_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/wit");
        wit_into(&folder).unwrap();
        for file in kit::contract() {
            assert_eq!(fs::read(folder.join(file.path)).unwrap(), file.bytes);
        }
        assert!(folder.join("tool.wit").is_file() && folder.join("deps/http.wit").is_file());
        let before = fs::metadata(folder.join("tool.wit")).unwrap();
        // The author's own world stays, and what is missing is written again.
        fs::write(folder.join("world.wit"), "world my-tool { include tool; }").unwrap();
        fs::remove_file(folder.join("deps/io.wit")).unwrap();
        wit_into(&folder).unwrap();
        assert!(folder.join("world.wit").is_file() && folder.join("deps/io.wit").is_file());
        let after = fs::metadata(folder.join("tool.wit")).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    }

    #[test]
    fn writes_nothing_where_a_file_differs() {
        for path in ["tool.wit", "deps/cli.wit"] {
            let dir = tempfile::tempdir().unwrap();
            let other = dir.path().join(path);
            fs::create_dir_all(other.parent().unwrap()).unwrap();
            fs::write(&other, "package my:own;\n").unwrap();
            let message = wit_into(dir.path()).unwrap_err().message();
            assert!(message.contains(path), "{message}");
            assert_eq!(fs::read_to_string(&other).unwrap(), "package my:own;\n");
            assert!(!dir.path().join("deps/io.wit").exists(), "{path}");
        }
    }

    #[test]
    fn writes_through_no_link() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), dir.path().join("deps")).unwrap();
        wit_into(dir.path()).unwrap_err();
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

        let (dir, file) = (tempfile::tempdir().unwrap(), outside.path().join("kept"));
        fs::write(&file, "kept").unwrap();
        symlink(&file, dir.path().join("tool.wit")).unwrap();
        wit_into(dir.path()).unwrap_err();
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        assert!(!dir.path().join("deps").exists());
    }
}
