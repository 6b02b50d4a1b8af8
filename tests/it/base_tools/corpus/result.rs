//! What a script did, as text: its exit code, its stdout, and what became of the files.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};

use super::script::corpus;

/// The name of the folder in which each script begins.
pub(super) const FOLDER: &str = "w";

/// The longest stdout that a result shows; it has the digest of longer ones.
const SHOWN_STDOUT_BYTES: usize = 1200;

/// The longest file that a result shows.
const SHOWN_FILE_BYTES: usize = 300;

/// When the files of every script were last modified: 2024-01-02 03:04:05.
const MODIFIED: Duration = Duration::from_secs(1_704_164_645);

/// A name in the folder, with its kind and its contents.
type Tree = BTreeMap<String, Vec<u8>>;

/// A new folder with the files of the corpus.
pub(super) struct Folder {
    pub(super) dir: tempfile::TempDir,
}

impl Folder {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(&corpus("files"), &dir.path().join(FOLDER));
        Self { dir }
    }

    /// Gives the files to a user.
    pub(super) fn give_to(&self, user: u32) {
        let mut paths = vec![self.dir.path().to_owned()];
        while let Some(path) = paths.pop() {
            chown(&path, Some(user), Some(user)).unwrap();
            let entries = fs::read_dir(path).into_iter().flatten();
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }

    /// Returns what a script did here. The path of the folder is `/w`, as the tool sees it.
    pub(super) fn result(&self, exit_code: i64, stdout: &str, stderr: &str) -> String {
        let root = self.dir.path().to_str().unwrap();
        let stdout = stdout.replace(root, "");
        let mut text = String::new();
        if exit_code != 0 {
            text += &format!("exit {exit_code}\n");
        }
        if !stderr.is_empty() {
            text += "stderr\n";
        }
        if stdout.len() > SHOWN_STDOUT_BYTES {
            text += &format!("stdout {}\n", summary(stdout.as_bytes()));
        } else {
            for line in stdout.split_inclusive('\n') {
                text += match line.strip_suffix('\n') {
                    Some(line) => format!("> {}\n", escape(line.as_bytes())),
                    None => format!(">~{}\n", escape(line.as_bytes())),
                }
                .as_str();
            }
        }
        static BEFORE: LazyLock<Tree> = LazyLock::new(|| tree(&corpus("files")));
        let after = tree(&self.dir.path().join(FOLDER));
        for name in BEFORE.keys().filter(|name| !after.contains_key(*name)) {
            text += &format!("- {}\n", escape(name.as_bytes()));
        }
        for (name, entry) in &after {
            if BEFORE.get(name) == Some(entry) {
                continue;
            }
            let shown = if entry.len() > SHOWN_FILE_BYTES {
                summary(entry)
            } else {
                escape(entry).replace(root, "")
            };
            text += &format!("+ {}: {shown}\n", escape(name.as_bytes()));
        }
        text
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
            continue;
        }
        fs::copy(entry.path(), &target).unwrap();
        // Git keeps only the executable bit.
        let executable = entry.metadata().unwrap().permissions().mode() & 0o100;
        let mode = if executable == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
        set_modified(&target);
    }
    fs::set_permissions(to, Permissions::from_mode(0o755)).unwrap();
    set_modified(to);
}

fn set_modified(path: &Path) {
    let time = SystemTime::UNIX_EPOCH + MODIFIED;
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// Returns every name beneath a folder. The bytes of an archive depend on the compressor and on times.
fn tree(dir: &Path) -> Tree {
    const ARCHIVES: [&str; 7] = ["gz", "tgz", "zip", "tar", "bz2", "xz", "jar"];
    let mut tree = Tree::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        // A script can remove even the folder in which it began.
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let what = if metadata.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display()).into_bytes()
            } else if metadata.is_dir() {
                folders.push(path.clone());
                b"folder".to_vec()
            } else {
                let executable = metadata.permissions().mode() & 0o100 != 0;
                let kind = if executable { "executable " } else { "" };
                let mut what = kind.as_bytes().to_vec();
                if ARCHIVES.contains(&&*extension) {
                    what.extend(b"archive");
                } else {
                    what.push(b'"');
                    // A file that nobody may read has its contents all the same.
                    what.extend(read(&path, &metadata));
                    what.push(b'"');
                }
                what
            };
            let name = path.strip_prefix(dir).unwrap().to_string_lossy();
            tree.insert(name.into_owned(), what);
        }
    }
    tree
}

fn read(path: &Path, metadata: &fs::Metadata) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|_| {
        let mode = metadata.permissions().mode();
        fs::set_permissions(path, Permissions::from_mode(mode | 0o400)).unwrap();
        fs::read(path).unwrap()
    })
}

fn summary(bytes: &[u8]) -> String {
    let digest = HEXLOWER.encode(digest(&SHA256, bytes).as_ref());
    format!("{} bytes, SHA-256 {:.16}", bytes.len(), digest)
}

/// Returns bytes as one line of UTF-8.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\n' => text += "\\n",
                '\t' => text += "\\t",
                '\\' => text += "\\\\",
                char if char.is_control() => text += &format!("\\x{:02x}", u32::from(char)),
                char => text.push(char),
            }
        }
        for byte in chunk.invalid() {
            text += &format!("\\x{byte:02x}");
        }
    }
    text
}
