//! The cache and the state root.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, access, statfs, statvfs};
use toolhost::text::shell_word;
use toolhost_files::{NotPrivate, PrivateDir, read_key};

use super::finding::Finding;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::text;

pub(super) const CACHE: &str = "cache";

pub(super) const STATE: &str = "state";

/// Free space that a large component and a kit need, in bytes.
const FREE_MIN: u64 = 500_000_000;

/// Folders of a state root.
const FOLDERS: [&str; 2] = ["runs", "workspaces"];

/// File systems by the numbers of `statfs`, and whether they are on another machine.
const FILE_SYSTEMS: [(u64, &str, bool); 15] = [
    (0xef53, "ext4", false),
    (0x5846_5342, "xfs", false),
    (0x9123_683e, "btrfs", false),
    (0xf2f5_2010, "f2fs", false),
    (0x2fc1_2fc1, "zfs", false),
    (0xca45_1a4e, "bcachefs", false),
    (0x0102_1994, "tmpfs", false),
    (0x794c_7630, "overlayfs", false),
    (0x6573_5546, "fuse", false),
    (0x6969, "nfs", true),
    (0xff53_4d42, "cifs", true),
    (0xfe53_4d42, "smb2", true),
    (0x0102_1997, "9p", true),
    (0x00c3_6400, "ceph", true),
    (0x5346_414f, "afs", true),
];

/// Examines the directory of compiled components, and the key that signs them.
pub(super) fn cache(settings: &Settings) -> Vec<Finding> {
    let Some(dir) = &settings.dirs.cache else {
        let finding = Finding::ok(
            CACHE,
            "directory",
            "not known: nothing that is compiled is kept",
        );
        return vec![finding.warning("Set HOME, or XDG_CACHE_HOME.")];
    };
    let mut findings = vec![directory(CACHE, dir, Readers::Anybody)];
    if dir.is_dir() {
        let (count, bytes) = files_in(dir);
        let value = format!("{} in {}", size(bytes), text::counted(count, "file"));
        findings.push(Finding::ok(CACHE, "compiled components", value));
        findings.push(free_space(CACHE, dir));
    }
    if let Some(root) = &settings.dirs.state_root {
        findings.push(key(&root.join("cache.key")));
    }
    findings
}

/// Examines the directory of workspaces, pending calls and events, but not the database in it.
pub(super) fn state_root(settings: &Settings) -> Vec<Finding> {
    let Some(dir) = &settings.dirs.state_root else {
        let finding = Finding::ok(STATE, "directory", "not known: each call needs --workdir");
        return vec![finding.warning("Set HOME, or pass --state-root DIR.")];
    };
    let mut findings = vec![directory(STATE, dir, Readers::Owner)];
    if dir.is_dir() {
        findings.extend(FOLDERS.iter().filter_map(|name| folder(dir, name)));
        findings.push(file_system(dir));
        findings.push(free_space(STATE, dir));
    }
    findings
}

/// Who may read a directory of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    Anybody,
    Owner,
}

/// Examines a directory as the parts that use it do, and whether it can be written. One that does not exist
/// is created when it is needed: the directory above it must be writable.
fn directory(area: &'static str, dir: &Path, readers: Readers) -> Finding {
    let display = dir.display();
    let finding = |value: String| Finding::ok(area, "directory", value);
    match PrivateDir::open(dir) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let ancestor = dir.ancestors().skip(1).find(|ancestor| ancestor.exists());
            let ancestor = ancestor.unwrap_or(Path::new("."));
            return if is_writable(ancestor) {
                finding(format!("{display}, is created when it is needed"))
            } else {
                finding(format!("{display} cannot be created")).error(other(area))
            };
        }
        Err(error) => return refused(area, "directory", dir, &error, other(area)),
    }
    let word = shell_word(&dir.to_string_lossy()).into_owned();
    let (owner, mode) = fs::metadata(dir).map_or((0, 0), |dir| (dir.uid(), dir.mode() & 0o7777));
    let value = format!("{display}, owner {owner}, mode {mode:04o}");
    if !is_writable(dir) {
        finding(format!("{value}: it cannot be written")).error(format!("chmod u+rwx {word}"))
    } else if readers == Readers::Owner && mode & 0o044 != 0 {
        finding(format!("{value}: other users can read it")).warning(format!("chmod 700 {word}"))
    } else {
        finding(value)
    }
}

/// Says why a part refuses a path, with the command that mends it, or `other`.
fn refused(
    area: &'static str,
    name: &'static str,
    path: &Path,
    error: &io::Error,
    other: &str,
) -> Finding {
    match NotPrivate::of(error) {
        Some(fault) => {
            let next = fault.command().unwrap_or_else(|| other.to_owned());
            Finding::ok(area, name, fault.finding()).error(next)
        }
        None => Finding::ok(area, name, format!("{}: {error}", path.display())).error(other),
    }
}

/// Examines a folder of the state root: the host follows no links there.
fn folder(root: &Path, name: &'static str) -> Option<Finding> {
    let path = root.join(name);
    let error = PrivateDir::open_beneath(root, &path).err()?;
    let word = shell_word(&path.to_string_lossy()).into_owned();
    (error.kind() != ErrorKind::NotFound)
        .then(|| refused(STATE, name, &path, &error, &format!("mv {word} {word}.bad")))
}

/// How to use another directory.
fn other(area: &str) -> &'static str {
    if area == STATE {
        "Pass --state-root DIR, or set TOOLHOST_STATE_ROOT, with a directory of your own."
    } else {
        "Set XDG_CACHE_HOME to a directory of your own."
    }
}

fn is_writable(dir: &Path) -> bool {
    access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Counts the files of a directory, without those of folders, and adds up their sizes.
fn files_in(dir: &Path) -> (usize, u64) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    });
    sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
}

fn free_space(area: &'static str, dir: &Path) -> Finding {
    let finding = |value: String| Finding::ok(area, "free space", value);
    match statvfs(dir) {
        Ok(space) => {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            let next = format!("df -h {}", shell_word(&dir.to_string_lossy()));
            match free {
                0..FREE_MIN => finding(format!("{}: it may not suffice", size(free))).warning(next),
                FREE_MIN..10_000_000_000 => finding(size(free)),
                _ => finding(format!("{} GB", free / 1_000_000_000)),
            }
        }
        Err(error) => finding(format!("not known: {error}")),
    }
}

fn file_system(dir: &Path) -> Finding {
    let finding = |value: String| Finding::ok(STATE, "file system", value);
    let Ok(system) = statfs(dir) else {
        return finding("not known".to_owned());
    };
    // The numbers have 32 bits; some systems extend the sign.
    let number = u64::try_from(system.f_type & 0xffff_ffff).unwrap_or_default();
    let entry = FILE_SYSTEMS.iter().find(|(id, ..)| *id == number);
    match entry {
        Some((_, name, true)) => {
            let what = "the database needs locks that network file systems may lack";
            finding(format!("{name}: {what}"))
                .warning("Pass --state-root DIR with a directory on a local disk.")
        }
        Some((_, name, false)) => finding((*name).to_owned()),
        None => finding(format!("number {number:#x}")),
    }
}

/// Examines the key, as the cache does before it uses it. Whoever has read it can sign components.
fn key(path: &Path) -> Finding {
    const NAME: &str = "signature key";
    let word = shell_word(&path.to_string_lossy()).into_owned();
    let remove = format!("rm {word}   # components are compiled again");
    match read_key(path) {
        Ok(_) => Finding::ok(CACHE, NAME, format!("valid, {}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Finding::ok(CACHE, NAME, "is created with the first component")
        }
        Err(error) => match NotPrivate::of(&error) {
            Some(fault) => Finding::ok(CACHE, NAME, fault.finding()).error(remove),
            None => Finding::ok(CACHE, NAME, error.to_string()).error(remove),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::finding::State;
    use super::*;

    #[test]
    fn a_directory_that_others_can_write_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let check = |mode, readers, state| {
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            let finding = directory(STATE, dir.path(), readers);
            assert_eq!(finding.state, state, "{mode:o} {finding:?}");
        };
        check(0o700, Readers::Owner, State::Ok);
        check(0o755, Readers::Owner, State::Warning);
        check(0o755, Readers::Anybody, State::Ok);
        check(0o777, Readers::Owner, State::Error);
        check(0o770, Readers::Anybody, State::Error);
    }

    #[test]
    fn a_folder_of_the_state_root_that_is_a_link_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let state = || folder(dir.path(), "runs").map(|finding| finding.state);
        assert_eq!(state(), None);
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        symlink("elsewhere", dir.path().join("runs")).unwrap();
        assert_eq!(state(), Some(State::Error));
        fs::remove_file(dir.path().join("runs")).unwrap();
        fs::rename(dir.path().join("elsewhere"), dir.path().join("runs")).unwrap();
        assert_eq!(state(), None);
        let open = Permissions::from_mode(0o777);
        fs::set_permissions(dir.path().join("runs"), open).unwrap();
        assert_eq!(state(), Some(State::Error));
    }

    #[test]
    fn a_directory_that_does_not_exist_is_no_error_and_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("a/b");
        assert_eq!(
            directory(CACHE, &missing, Readers::Anybody).state,
            State::Ok
        );
        assert!(!dir.path().join("a").exists());
        fs::write(dir.path().join("file"), "").unwrap();
        let below = dir.path().join("file/b");
        assert_eq!(
            directory(CACHE, &below, Readers::Anybody).state,
            State::Error
        );
    }

    #[test]
    fn a_key_that_the_cache_refuses_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache.key");
        let check = |state| {
            let finding = key(&path);
            assert_eq!(finding.state, state, "{finding:?}");
        };
        check(State::Ok);
        let write = |bytes: &[u8], mode| {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        write(&[7; 32], 0o600);
        check(State::Ok);
        write(&[7; 32], 0o644);
        check(State::Error);
        write(&[7; 31], 0o600);
        check(State::Error);
        fs::rename(&path, dir.path().join("other")).unwrap();
        symlink("other", &path).unwrap();
        check(State::Error);
    }

    #[test]
    fn the_file_system_of_a_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let finding = file_system(dir.path());
        assert_ne!(finding.state, State::Error, "{finding:?}");
        assert_ne!(finding.value, "not known");
    }
}
