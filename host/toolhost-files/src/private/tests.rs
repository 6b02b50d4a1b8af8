use std::fs::{self, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::OFlags;

use super::error::quoted;
use super::*;

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(made: io::Result<T>, text: &str) {
    let error = made.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn directories_are_made_for_this_user_alone() {
    let top = temp();
    let (root, dir) = (top.path().join("a/root"), top.path().join("a/root/b/c"));
    for _ in 0..2 {
        PrivateDir::make_beneath(&root, &dir).unwrap();
        PrivateDir::open_beneath(&root, &dir).unwrap();
    }
    for made in [&root, &root.join("b"), &dir] {
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
    }
    for outside in [top.path(), &root.join("../b")] {
        let made = PrivateDir::make_beneath(&root, outside).unwrap_err();
        assert_eq!(made.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused_with_the_command_that_mends_it() {
    let top = temp();
    let root = top.path().join("it's");
    let dir = root.join("b");
    PrivateDir::make_beneath(&root, &dir).unwrap();
    for (path, mode) in [(&root, 0o777), (&root, 0o720), (&dir, 0o1702)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let command = format!("chmod go-w {}", quoted(path));
        let text = format!("run `{command}`");
        is_refused(PrivateDir::make_beneath(&root, &dir), &text);
        is_refused(PrivateDir::open_beneath(&root, &dir), &text);
        let ran = std::process::Command::new("sh")
            .args(["-c", &command])
            .status();
        assert!(ran.unwrap().success());
        PrivateDir::make_beneath(&root, &dir).unwrap();
    }
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    PrivateDir::make_beneath(&root, &dir).unwrap();
}

#[test]
fn a_directory_of_another_user_is_refused() {
    // The top directory belongs to root. If root runs the test, a directory is given away instead.
    let top = temp();
    let root = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(top.path(), Some(12_345), None).unwrap();
        top.path()
    } else {
        Path::new("/")
    };
    is_refused(PrivateDir::make(root), "belongs to user ");
}

#[test]
fn links_beneath_the_root_are_refused_and_the_root_may_be_one() {
    let (top, victim) = (temp(), temp());
    let root = top.path().join("root");
    PrivateDir::make(&root).unwrap();
    symlink(victim.path(), root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    for (name, text) in [
        ("link", "is a symbolic link: run `rm '"),
        ("link/b", "is a symbolic link"),
        ("dangling", "is a symbolic link"),
        ("file", "is not a directory: move it away"),
    ] {
        is_refused(PrivateDir::make_beneath(&root, &root.join(name)), text);
        is_refused(PrivateDir::open_beneath(&root, &root.join(name)), text);
    }
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 0);
    assert!(!root.join("nowhere").exists());

    let linked = top.path().join("linked");
    symlink(&root, &linked).unwrap();
    PrivateDir::make_beneath(&linked, &linked.join("b")).unwrap();
    assert!(root.join("b").is_dir());
}

#[test]
fn only_regular_files_of_this_user_are_opened() {
    let top = temp();
    let path = |name: &str| top.path().join(name);
    fs::write(path("file"), "x").unwrap();
    symlink("file", path("link")).unwrap();
    symlink("/dev/zero", path("device")).unwrap();
    fs::create_dir(path("dir")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(path("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    PrivateFile::open_own(&path("file"), OFlags::RDONLY).unwrap();
    for name in ["link", "device", "dir", "fifo", "socket"] {
        is_refused(PrivateFile::open(&path(name), OFlags::RDONLY), name);
        is_refused(
            PrivateFile::open_and_restrict(&path(name), OFlags::RDWR),
            name,
        );
        is_refused(PrivateFile::stat_own(&path(name)), name);
    }
    assert!(PrivateFile::stat_own(&path("missing")).unwrap().is_none());
}

#[test]
fn a_file_that_others_can_read_or_write_is_refused_with_the_command_that_mends_it() {
    let top = temp();
    let path = top.path().join("file");
    let open = || PrivateFile::open(&path, OFlags::RDONLY);
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610] {
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        is_refused(open(), &format!("run `chmod go-rwx {}`", quoted(&path)));
        let handle = fs::File::open(&path).unwrap();
        is_refused(PrivateFile::check(&handle, &path), "can read or write");
        PrivateFile::open_and_restrict(&path, OFlags::RDWR).unwrap();
        let mut text = String::new();
        (&*open().unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    // A file of root. If root runs the test, a file is given away instead.
    let top = temp();
    let path = if rustix::process::geteuid().is_root() {
        let path = top.path().join("file");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        path
    } else {
        "/etc/passwd".into()
    };
    is_refused(PrivateFile::open(&path, OFlags::RDONLY), "belongs to user ");
    is_refused(PrivateFile::stat_own(&path), "belongs to user ");
    is_refused(
        PrivateFile::open_and_restrict(&path, OFlags::RDONLY),
        "belongs to user ",
    );
}

#[test]
fn a_directory_that_others_could_exchange_is_refused() {
    let top = temp();
    let shared = top.path().join("shared");
    let root = shared.join("a/root");
    PrivateDir::make(&root).unwrap();
    let linked = top.path().join("linked");
    symlink(&root, &linked).unwrap();
    let beside = shared.join("link");
    symlink(top.path(), &beside).unwrap();
    for (mode, is_private) in [
        (0o777, false),
        (0o702, false),
        (0o1777, true),
        (0o770, true),
    ] {
        fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
        // The third way leads out of the shared directory, through a link that others could exchange.
        for path in [&root, &linked, &beside.join("other")] {
            let made = PrivateDir::make(path);
            if is_private {
                made.unwrap();
            } else {
                let command = format!(
                    "run `chmod o-w {}`",
                    quoted(&shared.canonicalize().unwrap())
                );
                is_refused(made, &command);
            }
        }
    }
}

#[test]
fn a_key_is_made_once_and_only_this_user_can_read_it() {
    let top = temp();
    let path = top.path().join("key");
    assert_eq!(read_key(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    let keys: Vec<_> = std::thread::scope(|scope| {
        let make = |_| scope.spawn(|| read_or_make_key(&path).unwrap());
        let threads: Vec<_> = (0..8).map(make).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_ne!(*keys[0], [0; 32]);
    assert!(keys.iter().all(|key| **key == *keys[0]));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    fs::write(&path, "short").unwrap();
    let short = read_or_make_key(&path).unwrap_err();
    assert_eq!(short.kind(), io::ErrorKind::InvalidData);
}
