use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, mkfifoat, statat};

use super::*;

fn stamp(kind: FileKind) -> Stamp {
    Stamp {
        id: FileId {
            device: 1,
            inode: 2,
        },
        kind,
        size: 3,
        mtime: (4, 5),
        ctime: (6, 7),
    }
}

#[test]
fn a_file_conflicts_with_any_change_and_a_directory_with_another_one() {
    type Change = fn(&mut Stamp);
    let changes: [(&str, Change, bool, bool); 8] = [
        ("nothing", |_| (), true, true),
        ("device", |it| it.id.device = 9, false, false),
        ("inode", |it| it.id.inode = 9, false, false),
        ("size", |it| it.size = 9, false, false),
        ("seconds of the content", |it| it.mtime.0 = 9, false, false),
        (
            "nanoseconds of the content",
            |it| it.mtime.1 = 9,
            false,
            false,
        ),
        (
            "seconds of the attributes",
            |it| it.ctime.0 = 9,
            true,
            false,
        ),
        (
            "nanoseconds of the attributes",
            |it| it.ctime.1 = 9,
            true,
            false,
        ),
    ];
    for (what, change, is_same_content, is_unchanged) in changes {
        for kind in [FileKind::File, FileKind::Link, FileKind::Other] {
            let (before, mut now) = (stamp(kind), stamp(kind));
            change(&mut now);
            assert_eq!(
                before.is_same_content(&now),
                is_same_content,
                "{what} {kind:?}"
            );
            assert_eq!(before.is_unchanged(&now), is_unchanged, "{what} {kind:?}");
        }
        let (before, mut now) = (stamp(FileKind::Dir), stamp(FileKind::Dir));
        change(&mut now);
        let is_it = before.id == now.id;
        assert_eq!(before.is_same_content(&now), is_it, "{what}");
        assert_eq!(before.is_unchanged(&now), is_it, "{what}");
    }
    for (before, now) in [
        (FileKind::Dir, FileKind::File),
        (FileKind::File, FileKind::Dir),
        (FileKind::File, FileKind::Link),
    ] {
        assert!(!stamp(before).is_same_content(&stamp(now)), "{before:?}");
        assert!(!stamp(before).is_unchanged(&stamp(now)), "{before:?}");
    }
}

#[test]
fn the_stamp_of_metadata_is_that_of_the_system() {
    let top = tempfile::tempdir().unwrap();
    let dir = Dir::open_ambient_dir(top.path(), ambient_authority()).unwrap();
    dir.write("file", "four").unwrap();
    dir.create_dir("dir").unwrap();
    dir.symlink("file", "link").unwrap();
    mkfifoat(&dir, "pipe", Mode::RUSR).unwrap();
    for (name, kind) in [
        ("file", FileKind::File),
        ("dir", FileKind::Dir),
        ("link", FileKind::Link),
        ("pipe", FileKind::Other),
    ] {
        let of_system = of_stat(&statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).unwrap());
        let of_metadata = Stamp::of(&dir.symlink_metadata(name).unwrap());
        assert_eq!(of_system, of_metadata, "{name}");
        assert_eq!(of_system.kind, kind, "{name}");
        assert!(of_system.mtime.0 > 0 && of_system.ctime.0 > 0, "{name}");
        assert_eq!(
            kind == FileKind::File,
            of_system.size == 4 && name == "file"
        );
    }
}
