use std::fs;

use super::*;

fn open(path: &Path, rules: &WorkdirRules) -> Result<Workdir, WorkdirError> {
    Workdir::open(path, rules, &Growths::default())
}

#[test]
fn refuses_the_root_and_what_is_no_directory() {
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
fn refuses_what_contains_or_lies_within_the_hosts_own_places() {
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
