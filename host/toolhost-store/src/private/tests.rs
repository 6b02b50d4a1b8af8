use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[track_caller]
fn is_refused(made: io::Result<()>, text: &str) {
    let error = made.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn directories_are_made_for_this_user_alone() {
    let top = temp();
    let (root, dir) = (top.path().join("a/root"), top.path().join("a/root/b/c"));
    for _ in 0..2 {
        make_private_beneath(&root, &dir).unwrap();
        check_private_beneath(&root, &dir).unwrap();
    }
    for made in [&root, &root.join("b"), &dir] {
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
    }
    for outside in [top.path(), &root.join("../b")] {
        let made = make_private_beneath(&root, outside).unwrap_err();
        assert_eq!(made.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused_with_the_command_that_mends_it() {
    let top = temp();
    let root = top.path().join("it's");
    let dir = root.join("b");
    make_private_beneath(&root, &dir).unwrap();
    for (path, mode) in [(&root, 0o777), (&root, 0o720), (&dir, 0o1702)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let command = format!("chmod go-w {}", quoted(path));
        let text = format!("run `{command}`");
        is_refused(make_private_beneath(&root, &dir), &text);
        is_refused(check_private_beneath(&root, &dir), &text);
        let ran = std::process::Command::new("sh")
            .args(["-c", &command])
            .status();
        assert!(ran.unwrap().success());
        make_private_beneath(&root, &dir).unwrap();
    }
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    make_private_beneath(&root, &dir).unwrap();
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
    is_refused(make_private(root), "belongs to user ");
}

#[test]
fn links_beneath_the_root_are_refused_and_the_root_may_be_one() {
    let (top, victim) = (temp(), temp());
    let root = top.path().join("root");
    make_private(&root).unwrap();
    symlink(victim.path(), root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    for (name, text) in [
        ("link", "is a symbolic link: remove it with `rm '"),
        ("link/b", "is a symbolic link"),
        ("dangling", "is a symbolic link"),
        ("file", "is not a directory: move it away"),
    ] {
        is_refused(make_private_beneath(&root, &root.join(name)), text);
        is_refused(check_private_beneath(&root, &root.join(name)), text);
    }
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 0);
    assert!(!root.join("nowhere").exists());

    let linked = top.path().join("linked");
    symlink(&root, &linked).unwrap();
    make_private_beneath(&linked, &linked.join("b")).unwrap();
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
    open_own(&path("file")).unwrap();
    for name in ["link", "device", "dir", "fifo", "socket"] {
        is_refused(open_own(&path(name)).map(drop), name);
        is_refused(own_file(&path(name)).map(drop), name);
    }
    assert!(own_file(&path("missing")).unwrap().is_none());
}
