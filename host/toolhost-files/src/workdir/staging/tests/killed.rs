//! Processes that are killed within a commit, a rollback, a recovery or an undo.
//!
//! The process is this test binary, with one test: [`process`].

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, WaitOptions, getpid, kill_process, waitpid};

use super::super::step::Step;
use super::*;

/// Starts the argument that tells the process what to do.
const ORDER: &str = "order:";

fn start(order: &str, top: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "workdir::staging::tests::killed::process",
            "--nocapture",
        ])
        .arg(format!("{ORDER}{order}:{}", top.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs an order in a process that is killed at the step of this number. Returns false if it ended before.
fn is_killed(order: &str, at: i64, top: &Path) -> bool {
    let ended = start(&format!("{order}:{at}"), top)
        .wait_with_output()
        .unwrap();
    assert!(
        ended.status.success() || ended.status.code().is_none(),
        "{order} {at}: {ended:?}"
    );
    !ended.status.success()
}

/// What a process does that another test starts. Does nothing else.
#[test]
fn process() {
    let order = std::env::args().find_map(|arg| Some(arg.strip_prefix(ORDER)?.to_owned()));
    let Some(order) = order else {
        return;
    };
    let [order, at, top] = order.splitn(3, ':').collect::<Vec<_>>()[..] else {
        panic!("{order}");
    };
    let site = Site::at(top.as_ref());
    if order == "loop" {
        return generations(&site);
    }
    let (left, renames) = (Cell::new(at.parse::<i64>().unwrap()), Cell::new(0));
    let (fails, gone) = (order == "fail", site.path.join("gone.txt"));
    let is_obstructed = order == "obstruct";
    on_step(Some(Box::new(move |step| {
        left.set(left.get() - 1);
        if left.get() == -1 {
            kill_process(getpid(), Signal::KILL)?;
        }
        if is_obstructed && step == Step::UndoMarked {
            fs::write(&gone, "later")?;
        }
        renames.set(renames.get() + i32::from(step == Step::Renamed));
        if fails && step == Step::Renamed && renames.get() == 16 {
            Err(failure())
        } else {
            Ok(())
        }
    })));
    match order {
        "commit" => drop(change_all(&site).commit().unwrap()),
        "run" => drop(change_all(&site).commit_with(&runs::options(1)).unwrap()),
        "stop" => stopped(&site),
        "fail" => drop(change_all(&site).commit().unwrap_err()),
        "recover" => drop(site.root.recover().unwrap()),
        "undo" => drop(site.undo().unwrap()),
        "hold" => drop(held::hold_all(&site)),
        "release" => {
            let held = fs::read_to_string(site.state.join("held")).unwrap();
            let (id, digest) = held.split_once(' ').unwrap();
            site.release(&(id.to_owned(), digest.to_owned())).unwrap();
        }
        "obstruct" => drop(site.undo().unwrap_err()),
        _ => panic!("{order}"),
    }
}

fn with_files(check: impl FnOnce(&Site)) {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    before_all(&site);
    check(&site);
}

fn recover(site: &Site) {
    let recovered = site.root.recover().unwrap();
    assert!(recovered.left.is_empty(), "{recovered:?}");
    let again = site.root.recover().unwrap();
    assert_eq!((again.taken_back, again.removed), (0, 0));
}

fn top(site: &Site) -> &Path {
    site.path.parent().unwrap()
}

#[test]
fn a_commit_that_is_killed_at_any_step_is_there_in_whole_or_not_at_all() {
    let (mut old, mut new) = (0, 0);
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            is_over = !is_killed("commit", at, top(site));
            recover(site);
            if site.tree() == before {
                old += 1;
                assert!(site.staged().is_empty());
            } else {
                new += 1;
                check_changed(site);
                site.undo().unwrap();
                assert_eq!(site.tree(), before);
            }
        });
        if is_over {
            break;
        }
    }
    assert!(old > 30 && new > 1, "{old} old, {new} new");
}

#[test]
fn a_rollback_that_is_killed_at_any_step_is_finished_at_the_next_start() {
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            is_over = !is_killed("fail", at, top(site));
            recover(site);
            assert_eq!(site.tree(), before, "step {at}");
            assert!(site.staged().is_empty());
        });
        if is_over {
            assert!(at > 50, "{at} steps");
            break;
        }
    }
}

#[test]
fn a_recovery_that_is_killed_at_any_step_is_finished_by_the_next_one() {
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            assert!(is_killed("commit", 30, top(site)));
            assert_ne!(site.tree(), before);
            is_over = !is_killed("recover", at, top(site));
            recover(site);
            assert_eq!(site.tree(), before, "step {at}");
            assert!(site.staged().is_empty());
        });
        if is_over {
            assert!(at > 15, "{at} steps");
            break;
        }
    }
}

#[test]
fn an_undo_that_is_killed_at_any_step_is_there_in_whole_or_not_at_all() {
    let (mut old, mut new) = (0, 0);
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            change_all(site).commit().unwrap();
            is_over = !is_killed("undo", at, top(site));
            recover(site);
            if site.tree() == before {
                old += 1;
                assert!(site.staged().is_empty());
            } else {
                new += 1;
                check_changed(site);
                site.undo().unwrap();
                assert_eq!(site.tree(), before);
            }
        });
        if is_over {
            break;
        }
    }
    assert!(old > 15 && new > 0, "{old} undone, {new} not");
}

#[test]
fn a_release_that_is_killed_at_any_step_is_there_in_whole_or_not_at_all() {
    let (mut waiting, mut committed, mut conflicts) = (0, 0, 0);
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            let held = held::hold_all(site);
            fs::write(site.state.join("held"), format!("{} {}", held.0, held.1)).unwrap();
            is_over = !is_killed("release", at, top(site));
            // The next process may release it before it recovers anything.
            if at % 2 == 0 {
                recover(site);
            }
            match site.root.held(&held.0) {
                HeldState::Waiting => match site.release(&held) {
                    Ok(()) => waiting += 1,
                    // What was renamed and taken back has another time of change.
                    Err(HeldError::Commit(CommitError::Conflict { .. })) => {
                        conflicts += 1;
                        assert_eq!(site.tree(), before, "step {at}");
                        assert!(site.staged().is_empty());
                        return;
                    }
                    Err(error) => panic!("step {at}: {error:?}"),
                },
                HeldState::Committed => committed += 1,
                HeldState::Gone => panic!("step {at}"),
            }
            check_changed(site);
            recover(site);
            check_changed(site);
            assert!(matches!(site.release(&held), Err(HeldError::Changed)));
            site.undo().unwrap();
            assert_eq!(site.tree(), before, "step {at}");
        });
        if is_over {
            break;
        }
    }
    let counted = format!("{waiting} waiting, {conflicts} conflicts, {committed} committed");
    assert!(waiting > 3 && conflicts > 20 && committed > 1, "{counted}");
}

#[test]
fn a_run_that_is_killed_at_any_step_of_its_commit_is_committed_once() {
    let (mut again, mut committed) = (0, 0);
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            is_over = !is_killed("run", at, top(site));
            if at % 2 == 0 {
                recover(site);
            }
            match site
                .root
                .begin_run(&site.workdir, &runs::call(), runs::LIFE)
                .unwrap()
            {
                BegunRun::Committed(note) => {
                    assert_eq!(note, "note of 1");
                    committed += 1;
                }
                BegunRun::Begun(run) => {
                    assert_eq!(run, 2, "step {at}");
                    change_all(site).commit_with(&runs::options(2)).unwrap();
                    again += 1;
                }
                BegunRun::Ended => panic!("step {at}"),
            }
            check_changed(site);
            let last = site
                .root
                .begin_run(&site.workdir, &runs::call(), runs::LIFE);
            assert!(matches!(last, Ok(BegunRun::Committed(_))), "{last:?}");
        });
        if is_over {
            break;
        }
    }
    assert!(
        again > 20 && committed > 1,
        "{again} again, {committed} committed"
    );
}

/// Prints a line for each file that it stages. Commits the file, as the first run of a call, when it reads a line.
fn stopped(site: &Site) {
    for number in 0.. {
        let mut draft = site.begin();
        draft.write(&format!("paused {number}"), "text");
        println!("staged");
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).unwrap() == 0 {
            return;
        }
        let outcome = draft.commit_with(&runs::options_of(&runs::numbered(number), 1));
        println!(
            "{}",
            outcome.map_or_else(|error| error.to_string(), |_| "kept".to_owned())
        );
    }
}

#[test]
fn a_process_that_is_stopped_before_its_commit_commits_nothing_once_the_call_runs_elsewhere() {
    #[expect(clippy::disallowed_methods, reason = "a longer run of this test")]
    let times = std::env::var("TOOLHOST_STOPS").map_or(20, |times| times.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let site = Site::at(directory.path());
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "workdir::staging::tests::killed::process",
            "--nocapture",
        ])
        .arg(format!("{ORDER}stop:-1:{}", directory.path().display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut wait_for = |part: &str| {
        let line = lines.find(|line| line.as_ref().unwrap().contains(part));
        line.unwrap_or_else(|| panic!("no line with {part}"))
            .unwrap();
    };
    let pid = rustix::process::Pid::from_child(&process);
    for number in 0..times {
        wait_for("staged");
        kill_process(pid, Signal::STOP).unwrap();
        // Each of its threads stops by itself.
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped(), "{status:?}");
        writeln!(stdin, "commit").unwrap();
        let call = runs::numbered(number);
        let begun = site
            .root
            .begin_run(&site.workdir, &call, runs::LIFE)
            .unwrap();
        assert_eq!(begun, BegunRun::Begun(2));
        let mut draft = site.begin();
        draft.write(&format!("done {number}"), "text");
        // It wakes before or after the commit that takes its place.
        if number % 2 == 0 {
            kill_process(pid, Signal::CONT).unwrap();
            wait_for("another run of the call has begun");
            draft.commit_with(&runs::options_of(&call, 2)).unwrap();
        } else {
            draft.commit_with(&runs::options_of(&call, 2)).unwrap();
            kill_process(pid, Signal::CONT).unwrap();
            wait_for("another run of the call was committed");
        }
    }
    drop(stdin);
    assert!(process.wait().unwrap().success());
    let tree = site.tree();
    assert_eq!(tree.len(), times, "{:?}", tree.keys());
    assert!(
        tree.keys().all(|path| path.starts_with("done ")),
        "{:?}",
        tree.keys()
    );
}

#[test]
fn an_undo_that_breaks_off_and_is_killed_is_finished_once_its_obstacle_is_gone() {
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            change_all(site).commit().unwrap();
            is_over = !is_killed("obstruct", at, top(site));
            let recovered = site.root.recover().unwrap();
            let gone = site.path.join("gone.txt");
            if let [left] = &recovered.left[..] {
                assert!(left.reason.contains("gone.txt"), "{left:?}");
                assert_eq!(fs::read_to_string(&gone).unwrap(), "later");
            }
            if site.read("gone.txt").as_deref() == Some("later") {
                fs::remove_file(&gone).unwrap();
            }
            recover(site);
            if site.tree() != before {
                check_changed(site);
                site.undo().unwrap();
            }
            assert_eq!(site.tree(), before, "step {at}");
        });
        if is_over {
            assert!(at > 30, "{at} steps");
            break;
        }
    }
}

#[test]
fn a_commit_finds_no_half_of_another_process_that_died() {
    with_files(|site| {
        let before = site.tree();
        assert!(is_killed("commit", 30, top(site)));
        assert_ne!(site.tree(), before);
        // No recovery: this process had started before.
        let mut draft = site.begin();
        draft.write("own", "own");
        draft.commit().unwrap();
        site.undo().unwrap();
        assert_eq!(site.tree(), before);
    });
}

#[test]
fn what_a_running_process_has_staged_is_left_alone() {
    with_files(|site| {
        let draft = change_all(site);
        assert!(!is_killed("recover", i64::MAX, top(site)));
        assert_eq!(site.root.recover().unwrap().removed, 0);
        draft.commit().unwrap();
        check_changed(site);
    });
}

/// The files of a generation, which say which one it is in many places.
fn write_generation(site: &Site, generation: u64) -> Draft<'_> {
    let mut draft = site.begin();
    let text = generation.to_string();
    for path in ["one", "dir/two", "dir/three"] {
        draft.write(path, &text);
    }
    let (old, new) = (
        format!("made-{}", generation - 1),
        format!("made-{generation}"),
    );
    match generation % 3 {
        0 => {
            draft.rename(&old, &new);
        }
        _ => {
            if draft.found(&old).is_some() {
                let file = format!("{old}/in");
                draft.remove(&file).remove(&old);
            }
            draft.make_dir(&new, &[("in", "in")]);
        }
    }
    draft
}

fn generation_of(site: &Site) -> u64 {
    let generation = site.read("one").unwrap();
    for path in ["dir/two", "dir/three"] {
        assert_eq!(site.read(path).as_ref(), Some(&generation), "{path}");
    }
    let made: Vec<_> = site
        .tree()
        .into_keys()
        .filter(|path| path.starts_with("made"))
        .collect();
    if generation != "0" {
        let folder = format!("made-{generation}");
        assert_eq!(made, [folder.clone(), format!("{folder}/in")]);
    }
    generation.parse().unwrap()
}

/// Commits one generation after another, and undoes one of seven.
fn generations(site: &Site) {
    let mut generation = generation_of(site);
    let mut out = io::stdout();
    loop {
        generation += 1;
        write_generation(site, generation).commit().unwrap();
        if generation.is_multiple_of(7) {
            site.undo().unwrap();
            write_generation(site, generation).commit().unwrap();
        }
        writeln!(out, "generation {generation}").unwrap();
    }
}

#[test]
fn after_200_kills_at_random_moments_every_generation_is_whole() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    for path in ["one", "dir/two", "dir/three"] {
        site.write(path, "0");
    }
    let (mut random, mut last) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let (mut taken_back, mut removed) = (0, 0);
    // More than 200 on a machine on which none of them hits a commit.
    for kill in 0.. {
        if kill >= 200 && taken_back > 0 && removed > 0 {
            break;
        }
        assert!(kill < 2_000, "{taken_back} taken back, {removed} removed");
        let mut child = start("loop:0", top.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut reported = last;
        let mut next = || {
            let line = lines.next()?.unwrap();
            let generation = line
                .split_once("generation ")
                .map(|(_, number)| number.parse());
            Some(generation.and_then(Result::<u64, _>::ok))
        };
        // Until the first generation is there.
        while let Some(line) = next() {
            if let Some(generation) = line {
                reported = generation;
                break;
            }
        }
        // A xorshift: the moments are the same in each run, as far as a machine allows.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 5_000));
        child.kill().unwrap();
        child.wait().unwrap();
        while let Some(line) = next() {
            reported = line.unwrap_or(reported);
        }
        let recovered = site.root.recover().unwrap();
        assert!(recovered.left.is_empty(), "{recovered:?}");
        taken_back += recovered.taken_back;
        removed += recovered.removed;
        let found = generation_of(&site);
        // An undo goes back by one.
        assert!(
            found + 1 >= reported && found <= reported + 1,
            "kill {kill}: {found} {reported}"
        );
        last = found;
    }
}

#[test]
fn what_others_write_into_a_commit_that_died_is_not_removed() {
    let steps_of_change = Cell::new(0);
    for at in 0.. {
        let mut is_over = false;
        with_files(|site| {
            let before = site.tree();
            is_over = !is_killed("commit", at, top(site));
            // Not what it was before, but already what the commit makes of it.
            let mut others = Vec::new();
            if !is_over && site.read("a.txt").as_deref() == Some("new a") {
                others.push("a.txt");
            }
            if !is_over && site.path.join("made/deep").is_dir() {
                others.push("made/deep/other");
            }
            for path in &others {
                site.write(path, "of another program");
            }
            let recovered = site.root.recover().unwrap();
            for path in &others {
                let now = site.read(path);
                assert_eq!(
                    now.as_deref(),
                    Some("of another program"),
                    "step {at}: {path}"
                );
            }
            if let [left] = &recovered.left[..] {
                let reason = "another program changed what the commit had put there";
                assert!(left.reason.contains(reason), "{left:?}");
                steps_of_change.set(steps_of_change.get() + 1);
                for path in &others {
                    fs::remove_file(site.path.join(path)).unwrap();
                }
                recover(site);
                assert_eq!(site.tree(), before, "step {at}");
            }
        });
        if is_over {
            break;
        }
    }
    assert!(steps_of_change.get() > 15, "{}", steps_of_change.get());
}
