use std::fs;

use super::*;

fn open(path: &Path, rules: &WorkdirRules) -> Result<Workdir, WorkdirError> {
    Workdir::open(path, rules, &WorkdirUsages::default())
}

#[test]
fn refuses_the_root_and_non_directories() {
    let rules = WorkdirRules::default();
    let refused = open(Path::new("/"), &rules);
    assert!(matches!(refused, Err(WorkdirError::Contains { .. })));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        open(&file, &rules),
        Err(WorkdirError::NotADirectory { .. })
    ));
    assert!(matches!(
        open(&dir.path().join("none"), &rules),
        Err(WorkdirError::Open { .. })
    ));
}

#[test]
fn refuses_file_systems_of_the_kernel() {
    let rules = WorkdirRules::default();
    let top = tempfile::tempdir().unwrap();
    let link = top.path().join("link");
    std::os::unix::fs::symlink("/proc/self", &link).unwrap();
    for (path, name) in [
        ("/proc", "proc"),
        ("/proc/self/task", "proc"),
        ("/sys", "sysfs"),
        ("/sys/kernel", "sysfs"),
        (link.to_str().unwrap(), "proc"),
    ] {
        for opened in [
            open(Path::new(path), &rules),
            Workdir::open_own(Path::new(path), &WorkdirUsages::default()),
        ] {
            let Err(WorkdirError::OfKernel { file_system, .. }) = opened else {
                panic!("{path}: {opened:?}")
            };
            assert_eq!(file_system, name, "{path}");
        }
    }
}

#[test]
fn refuses_directories_that_contain_or_lie_within_protected_paths() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    for dir in ["home/state/deep", "home/project", "elsewhere"] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    fs::write(at("home/policy.yaml"), "").unwrap();
    std::os::unix::fs::symlink(at("home/state"), at("elsewhere/link")).unwrap();
    let mut rules = WorkdirRules::default();
    rules.keep_private("the state root", &at("home/state"));
    rules.keep_out_of("the policy file", &at("home/policy.yaml"));
    rules.keep_out_of("nothing", &at("missing"));

    for contains in [
        "",
        "home",
        "home/state",
        "elsewhere/link",
        "home/project/..",
    ] {
        assert!(
            matches!(
                open(&at(contains), &rules),
                Err(WorkdirError::Contains { .. })
            ),
            "{contains}"
        );
    }
    for within in ["home/state/deep", "elsewhere/link/deep"] {
        assert!(
            matches!(open(&at(within), &rules), Err(WorkdirError::Within { .. })),
            "{within}"
        );
    }
    for fine in ["home/project", "elsewhere"] {
        assert!(open(&at(fine), &rules).is_ok(), "{fine}");
    }
}

#[test]
fn refuses_directories_with_a_symlink_to_a_protected_path() {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    for dir in ["work/deep", "op/state", "other", "chain"] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    fs::write(at("op/policy.yaml"), "").unwrap();
    let link = |link: &str, target: &str| std::os::unix::fs::symlink(target, at(link)).unwrap();
    link("work/deep/policy.yaml", "../../op/policy.yaml");
    link("chain/policy.yaml", "../work/deep/policy.yaml");
    link("work/state", "../op/state");
    let open = |rules: &WorkdirRules, path: &str| open(&at(path), rules);

    for (kept, refused, fine) in [
        (
            "work/deep/policy.yaml",
            ["work", "work/deep"],
            ["other", "chain"],
        ),
        (
            "chain/policy.yaml",
            ["chain", "work/deep"],
            ["other", "op/state"],
        ),
        ("work/state", ["work", "op"], ["other", "work/deep"]),
    ] {
        for is_private in [false, true] {
            let mut rules = WorkdirRules::default();
            if is_private {
                rules.keep_private("it", &at(kept))
            } else {
                rules.keep_out_of("it", &at(kept))
            }
            for path in refused {
                let refused = open(&rules, path);
                assert!(
                    matches!(refused, Err(WorkdirError::Contains { .. })),
                    "{kept}, {path}"
                );
            }
            for path in fine {
                let opened = open(&rules, path);
                assert!(opened.is_ok(), "{kept}, {path}: {opened:?}");
            }
        }
    }
    let mut rules = WorkdirRules::default();
    rules.keep_private("it", &at("work/state"));
    fs::create_dir(at("op/state/deep")).unwrap();
    assert!(matches!(
        open(&rules, "op/state/deep"),
        Err(WorkdirError::Within { .. })
    ));
}

#[test]
fn a_file_that_replaces_one_that_runs_as_its_owner_does_not() {
    use std::os::unix::fs::PermissionsExt;
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    for dir in ["state", "contents", "work"] {
        fs::create_dir(at(dir)).unwrap();
    }
    fs::write(at("work/run"), "old").unwrap();
    fs::set_permissions(at("work/run"), fs::Permissions::from_mode(0o6755)).unwrap();
    fs::write(at("contents/new"), "new").unwrap();
    let expected = {
        use sha2::{Digest, Sha256};
        Sha256::digest("old").into()
    };
    let replacement = FileReplacement {
        path: "run".to_owned(),
        content: Some("new".to_owned()),
        expected: Some(expected),
    };
    let workdir = open(&at("work"), &WorkdirRules::default()).unwrap();
    let root = StagingRoot::open(&at("state")).unwrap();
    let contents = at("contents");
    let replaced = workdir.replace_files(&root, &contents, &[replacement], "");
    replaced.unwrap();
    assert_eq!(fs::read_to_string(at("work/run")).unwrap(), "new");
    let mode = fs::metadata(at("work/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}
