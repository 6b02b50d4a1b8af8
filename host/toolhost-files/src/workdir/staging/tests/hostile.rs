use super::*;

const JOURNAL: &str = "journal";

/// A staging directory that a dead process left, with this journal.
fn planted(site: &Site, journal: &str) -> PathBuf {
    let inode = fs::metadata(&site.path).unwrap().ino();
    let dir = site
        .root
        .path()
        .join(format!("{inode:016x}-00000000000000aa"));
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(dir.join("f0"), "staged").unwrap();
    fs::write(dir.join(JOURNAL), journal).unwrap();
    fs::set_permissions(dir.join(JOURNAL), fs::Permissions::from_mode(0o600)).unwrap();
    dir
}

fn plan(site: &Site, ops: &str) -> String {
    let inode = fs::metadata(&site.path).unwrap().ino();
    let path = site.path.display();
    format!(
        "{{\"version\":1,\"workdir\":{{\"path\":\"{path}\",\"inode\":{inode}}},\"label\":\"\",\"ops\":[{ops}],\"left\":[]}}\n"
    )
}

#[test]
fn journals_with_names_that_lead_out_are_refused_and_nothing_is_touched() {
    for (staged, path) in [
        ("f0", "../secret"),
        ("f0", "a/../../secret"),
        ("f0", "/etc/secret"),
        ("f0", ""),
        ("f0", "."),
        ("f0", "a//b"),
        ("f0", "a/"),
        ("f0", "a\\u0000b"),
        ("../f0", "a"),
        ("f", "a"),
        ("f0/../../x", "a"),
        ("journal", "a"),
        ("/etc/passwd", "a"),
        ("f000000000000000000000", "a"),
    ] {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        fs::write(top.path().join("secret"), "secret").unwrap();
        let secret = fs::metadata(top.path().join("secret")).unwrap().ino();
        for op in [
            format!("{{\"take\":{{\"path\":\"{path}\",\"staged\":\"{staged}\",\"inode\":1}}}}"),
            format!(
                "{{\"put\":{{\"staged\":\"{staged}\",\"path\":\"{path}\",\"inode\":{secret}}}}}"
            ),
        ] {
            let dir = planted(&site, &plan(&site, &op));
            let mut before = Tree::new();
            add_tree(top.path(), "", &mut before);
            let recovered = site.root.recover().unwrap();
            assert_eq!(recovered.left.len(), 1, "{op}");
            assert_eq!(recovered.left[0].staging, dir);
            assert!(
                recovered.left[0].reason.contains("not a valid name"),
                "{recovered:?}"
            );
            // A commit to the same workdir leaves it alone too.
            let mut draft = site.begin();
            draft.write("own", "own");
            draft.commit().unwrap();
            site.undo().unwrap();
            let mut after = Tree::new();
            add_tree(top.path(), "", &mut after);
            after.retain(|path, _| !path.starts_with("state/staging/locks"));
            before.retain(|path, _| !path.starts_with("state/staging/locks"));
            assert_eq!(after, before, "{op}");
            fs::remove_dir_all(dir).unwrap();
        }
    }
}

#[test]
fn directories_that_lead_out_or_are_missing_are_refused() {
    for (dirs, dir) in [
        ("\"..\"", 0),
        ("\"a\",\"a/../..\"", 0),
        ("\"/etc\"", 0),
        ("\"\"", 0),
        ("\"a\"", 1),
        ("", 0),
    ] {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        let op =
            format!("{{\"take\":{{\"dir\":{dir},\"path\":\"x\",\"staged\":\"f0\",\"inode\":1}}}}");
        let plan = plan(&site, &op).replace("\"version\":1", "\"version\":2");
        let plan = plan.replace("\"ops\"", &format!("\"dirs\":[{dirs}],\"ops\""));
        let dir = planted(&site, &plan);
        let recovered = site.root.recover().unwrap();
        assert_eq!(recovered.left.len(), 1, "{plan}");
        assert!(recovered.left[0].reason.contains("journal is invalid"));
        assert!(dir.join("f0").exists() && site.tree().is_empty());
    }
}

#[test]
fn journals_of_both_versions_are_taken_back() {
    for (version, dirs, place) in [
        (1, "", "\"path\":\"dir/x\""),
        (2, "\"dirs\":[\"dir\"],", "\"dir\":0,\"path\":\"x\""),
    ] {
        let top = tempfile::tempdir().unwrap();
        let site = Site::at(top.path());
        fs::create_dir(site.path.join("dir")).unwrap();
        let dir = planted(&site, "");
        let inode = fs::metadata(dir.join("f0")).unwrap().ino();
        let op = format!("{{\"take\":{{{place},\"staged\":\"f0\",\"inode\":{inode}}}}}");
        let plan = plan(&site, &op).replace("\"version\":1", &format!("\"version\":{version}"));
        let plan = plan.replace("\"ops\"", &format!("{dirs}\"ops\""));
        fs::write(dir.join(JOURNAL), plan).unwrap();
        assert_eq!(site.root.recover().unwrap().taken_back, 1, "{version}");
        assert_eq!(site.read("dir/x").as_deref(), Some("staged"));
        assert!(!dir.exists());
    }
}

#[test]
fn bent_journals_are_refused_and_what_is_staged_is_kept() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let good = plan(&site, "");
    for journal in [
        String::new(),
        "\n".into(),
        "not JSON\n".into(),
        good.replace("\"version\":1", "\"version\":3"),
        good.replace("\"label\"", "\"other\""),
        good.replace("[]", "[{\"remove\":{\"path\":\"a\"}}]"),
        format!("{good}{{\"unknown\":1}}\n"),
        // Its workdir is another directory.
        good.replace("\"inode\":", "\"inode\":9"),
        good.replace("/work\"", "/elsewhere\""),
    ] {
        let dir = planted(&site, &journal);
        let recovered = site.root.recover().unwrap();
        assert_eq!(recovered.left.len(), 1, "{journal}");
        assert!(
            dir.join("f0").exists() && site.tree().is_empty(),
            "{journal}"
        );
        fs::remove_dir_all(dir).unwrap();
    }
    let dir = planted(&site, &good);
    assert_eq!(site.root.recover().unwrap().taken_back, 1);
    assert!(!dir.exists());
}

#[test]
fn journals_that_are_links_pipes_or_shared_are_not_read() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let good = plan(&site, "");
    let outside = top.path().join("outside");
    fs::write(&outside, &good).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    type Make = fn(&Path, &Path);
    let cases: [Make; 5] = [
        |journal, outside| symlink(outside, journal).unwrap(),
        |journal, outside| fs::hard_link(outside, journal).unwrap(),
        |journal, _| fs::create_dir(journal).unwrap(),
        |journal, _| {
            let made = std::process::Command::new("mkfifo").arg(journal).status();
            assert!(made.unwrap().success());
        },
        |journal, outside| {
            fs::copy(outside, journal).unwrap();
            fs::set_permissions(journal, fs::Permissions::from_mode(0o666)).unwrap();
        },
    ];
    for (case, make) in cases.into_iter().enumerate() {
        let dir = planted(&site, "");
        fs::remove_file(dir.join(JOURNAL)).unwrap();
        make(&dir.join(JOURNAL), &outside);
        let recovered = site.root.recover().unwrap();
        assert_eq!(
            (recovered.left.len(), recovered.taken_back),
            (1, 0),
            "{case}"
        );
        assert!(dir.join("f0").exists());
        assert_eq!(fs::read_to_string(&outside).unwrap(), good);
        fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn other_names_and_links_in_the_staging_root_are_left_alone() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let victim = top.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "file").unwrap();
    let inode = fs::metadata(&site.path).unwrap().ino();
    let at = |name: &str| site.root.path().join(name);
    symlink(&victim, at(&format!("{inode:016x}-00000000000000ab"))).unwrap();
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/file"), "").unwrap();
    let shared = at(&format!("{inode:016x}-00000000000000ac"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let recovered = site.root.recover().unwrap();
    assert_eq!(
        (recovered.removed, recovered.left.len()),
        (0, 2),
        "{recovered:?}"
    );
    assert!(victim.join("file").exists() && at("other/file").exists() && shared.exists());
}

#[test]
fn what_is_removed_with_a_transaction_is_not_followed() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    fs::create_dir(top.path().join("victim")).unwrap();
    fs::write(top.path().join("victim/file"), "file").unwrap();
    let draft = site.begin();
    let (_, dir) = draft.new_path();
    fs::create_dir(&dir).unwrap();
    symlink(top.path().join("victim"), dir.join("link")).unwrap();
    symlink("../../../../victim", draft.new_path().1).unwrap();
    drop(draft);
    assert!(site.staged().is_empty());
    assert!(top.path().join("victim/file").exists());
}

#[test]
fn directories_that_became_links_are_not_followed_by_a_commit() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("dir/file", "old");
    let outside = top.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut draft = site.begin();
    draft.write("dir/new", "new");
    let dir = site.path.join("dir");
    on_step(Some(Box::new(move |step| {
        if step == super::super::step::Step::JournalNamed {
            fs::rename(&dir, dir.with_extension("away"))?;
            symlink("../outside", &dir)?;
        }
        Ok(())
    })));
    let committed = draft.commit();
    on_step(None);
    assert!(
        matches!(committed, Err(CommitError::Conflict { .. })),
        "{committed:?}"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!site.path.join("dir.away/new").exists());
}
