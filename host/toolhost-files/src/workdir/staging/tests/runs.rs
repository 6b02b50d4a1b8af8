//! Several runs of one call, of which one commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost_contract::WorkerCallId;

use super::super::runs::{BegunRun, CommitRun};
use super::*;

pub(super) const LIFE: Duration = Duration::from_secs(60);

pub(super) fn call() -> WorkerCallId {
    WorkerCallId::parse(&"a".repeat(32)).unwrap()
}

/// The id of another call. Base32 has the digits from 2 on.
pub(super) fn numbered(number: usize) -> WorkerCallId {
    let letters = format!("{number:0>32b}")
        .replace('0', "a")
        .replace('1', "b");
    WorkerCallId::parse(&letters).unwrap()
}

pub(super) fn options(run: u64) -> CommitOptions {
    options_of(&call(), run)
}

pub(super) fn options_of(call: &WorkerCallId, run: u64) -> CommitOptions {
    CommitOptions {
        run: Some(CommitRun {
            call: call.clone(),
            run,
            until: Instant::now() + LIFE,
            life: LIFE,
            note: Arc::new(move |_| format!("note of {run}")),
        }),
        ..CommitOptions::default()
    }
}

fn begin(site: &Site) -> BegunRun {
    site.root.begin_run(&site.workdir, &call(), LIFE).unwrap()
}

fn site() -> (tempfile::TempDir, Site) {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    (top, site)
}

fn put<'a>(site: &'a Site, path: &str) -> Draft<'a> {
    let mut draft = site.begin();
    draft.write(path, "text");
    draft
}

#[test]
fn a_run_commits_nothing_once_a_later_one_has_begun() {
    let (_top, site) = site();
    let early = put(&site, "early");
    assert_eq!(begin(&site), BegunRun::Begun(2));
    let error = early.commit_with(&options(1)).unwrap_err();
    assert!(matches!(error, CommitError::Superseded), "{error:?}");
    assert!(site.tree().is_empty() && site.staged().is_empty());

    assert_eq!(begin(&site), BegunRun::Begun(3));
    let error = put(&site, "second").commit_with(&options(2)).unwrap_err();
    assert!(matches!(error, CommitError::Superseded), "{error:?}");
    put(&site, "third").commit_with(&options(3)).unwrap();
    assert_eq!(site.tree().into_keys().collect::<Vec<_>>(), ["third"]);
}

#[test]
fn no_run_of_a_call_that_has_ended_commits() {
    let (_top, site) = site();
    let early = put(&site, "early");
    assert_eq!(
        site.root.end_runs(&site.workdir, &call(), LIFE).unwrap(),
        None
    );
    assert_eq!(begin(&site), BegunRun::Ended);
    for (draft, run) in [
        (early, 1),
        (put(&site, "late"), 2),
        (put(&site, "later"), 9),
    ] {
        let error = draft.commit_with(&options(run)).unwrap_err();
        assert!(matches!(error, CommitError::Superseded), "{error:?}");
    }
    assert!(site.tree().is_empty() && site.staged().is_empty());

    let other = numbered(1);
    put(&site, "first")
        .commit_with(&options_of(&other, 1))
        .unwrap();
    let note = site.root.end_runs(&site.workdir, &other, LIFE).unwrap();
    assert_eq!(note.as_deref(), Some("note of 1"));
}

#[test]
fn the_note_of_the_run_that_was_committed_is_what_later_runs_get() {
    let (_top, site) = site();
    put(&site, "first").commit_with(&options(1)).unwrap();
    assert_eq!(begin(&site), BegunRun::Committed("note of 1".to_owned()));
    // It would conflict with what was committed.
    let error = put(&site, "first").commit_with(&options(1)).unwrap_err();
    assert!(
        matches!(&error, CommitError::Committed { note } if note == "note of 1"),
        "{error:?}"
    );
    assert_eq!(site.tree().into_keys().collect::<Vec<_>>(), ["first"]);

    // Other calls, and commits without a run, are not concerned.
    put(&site, "other").commit().unwrap();
    let begun = site.root.begin_run(&site.workdir, &numbered(1), LIFE);
    assert_eq!(begun.unwrap(), BegunRun::Begun(2));
}

#[test]
fn runs_are_forgotten_when_none_of_them_may_commit_any_more() {
    let (_top, site) = site();
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let calls: Vec<_> = (0..4).map(numbered).collect();
    for (call, life) in calls.iter().zip([LIFE, LIFE, hours(1), hours(24)]) {
        site.root.begin_run(&site.workdir, call, life).unwrap();
    }
    let runs = site.state.join("staging/runs");
    for call in &calls[1..] {
        let file = fs::File::options()
            .write(true)
            .open(runs.join(call.as_str()));
        let long_ago = std::time::SystemTime::now() - hours(3);
        file.unwrap().set_modified(long_ago).unwrap();
    }
    site.root.forget_old_runs().unwrap();
    let kept = |call: &WorkerCallId| runs.join(call.as_str()).exists();
    let kept: Vec<_> = calls.iter().map(kept).collect();
    assert_eq!(kept, [true, false, false, true]);
}

#[test]
fn a_run_is_known_as_committed_after_its_undo_record_was_removed() {
    let (_top, site) = site();
    put(&site, "first").commit_with(&options(1)).unwrap();
    // As if the process had died before it noted the end.
    let path = site.state.join("staging/runs").join(call().as_str());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""isCommitted":true"#), "{text}");
    fs::write(&path, text.replace("true", "false")).unwrap();
    for number in 0..20 {
        put(&site, &format!("later {number}")).commit().unwrap();
    }
    assert_eq!(site.staged().len(), UndoLimits::default().commits);
    assert_eq!(begin(&site), BegunRun::Committed("note of 1".to_owned()));
}

#[test]
fn a_run_whose_renames_were_taken_back_lets_the_next_one_commit() {
    let (_top, site) = site();
    on_step(Some(Box::new(|step| {
        if step == Step::Renamed {
            return Err(io::Error::other("refused"));
        }
        Ok(())
    })));
    let error = put(&site, "one").commit_with(&options(1)).unwrap_err();
    on_step(None);
    assert!(matches!(error, CommitError::Failed { .. }), "{error:?}");
    assert!(site.tree().is_empty());
    assert_eq!(begin(&site), BegunRun::Begun(2));
    put(&site, "second").commit_with(&options(2)).unwrap();
    assert_eq!(begin(&site), BegunRun::Committed("note of 2".to_owned()));
}

#[test]
fn files_that_are_no_runs_are_refused() {
    let (_top, site) = site();
    assert_eq!(begin(&site), BegunRun::Begun(2));
    let path = site.state.join("staging/runs").join(call().as_str());
    for text in [
        "",
        "{}",
        "[]",
        r#"{"run":1,"staging":"../x","isCommitted":false,"note":""}"#,
    ] {
        fs::write(&path, text).unwrap();
        let begun = site.root.begin_run(&site.workdir, &call(), LIFE);
        let is_harmless = matches!(begun, Ok(BegunRun::Begun(2)) if text.contains(".."));
        assert!(begun.is_err() || is_harmless, "{text}: {begun:?}");
    }
    fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    assert!(site.root.begin_run(&site.workdir, &call(), LIFE).is_err());
    assert!(put(&site, "one").commit_with(&options(2)).is_err());
    assert!(site.tree().is_empty() && site.staged().is_empty());
}
