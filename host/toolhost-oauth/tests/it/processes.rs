//! Several processes that share a state root.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolhost_oauth::OAuthFlow;

use super::support::*;

/// What a process needs that this test starts: a state root and an issuer.
const ROOT: &str = "TOOLHOST_OAUTH_TEST_ROOT";
const ISSUER: &str = "TOOLHOST_OAUTH_TEST_ISSUER";

/// Before each token in the output of a process.
const TOKEN: &str = "token: ";

#[test]
fn all_of_it_is_so_in_postgresql() {
    toolhost_store::testing::rerun("processes::", &[]);
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(root: &Path, issuer: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "processes::one_process_of_several",
                "--nocapture",
            ])
            .env(ROOT, root)
            .env(ISSUER, issuer)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    fn token(&mut self) -> String {
        let tokens = self.output.by_ref().map(Result::unwrap);
        let mut tokens = tokens.filter_map(|line| Some(line.split_once(TOKEN)?.1.to_owned()));
        tokens.next().expect("a token")
    }
}

/// Prints a token for each time on standard input, as a process. Does nothing unless the test below starts it.
#[tokio::test]
async fn one_process_of_several() {
    let (Some(root), Ok(issuer)) = (std::env::var_os(ROOT), std::env::var(ISSUER)) else {
        return;
    };
    let clock = Arc::new(Forward::default());
    let oauth = open(&PathBuf::from(root), &clock);
    let app = app(&issuer, "public", OAuthFlow::AuthorizationCode);
    println!("{TOKEN}{}", ready(token(&oauth, &app).await));
    for line in std::io::stdin().lines() {
        clock
            .0
            .store(line.unwrap().parse().unwrap(), Ordering::SeqCst);
        println!("{TOKEN}{}", ready(token(&oauth, &app).await));
    }
}

// requirements-v1 §12.6.3 (4)
#[tokio::test]
async fn five_processes_that_refresh_at_once_send_one_request() {
    let Some(provider) = Provider::start() else {
        return;
    };
    let (root, clock) = (tempfile::tempdir().unwrap(), Arc::new(Forward::default()));
    let oauth = open(root.path(), &clock);
    let app = provider.app("public", OAuthFlow::AuthorizationCode);
    let mut last = login(&provider, &oauth, &app).await;
    let start = |_| Process::start(root.path(), &provider.issuer);
    let mut processes: Vec<Process> = (0..5).map(start).collect();
    for process in &mut processes {
        assert_eq!(process.token(), last);
    }
    for round in 1..=5 {
        for process in &mut processes {
            writeln!(process.input, "{}", 3601 * round).unwrap();
        }
        let mut tokens: Vec<String> = processes.iter_mut().map(Process::token).collect();
        tokens.dedup();
        assert_eq!(tokens.len(), 1, "all have the same token");
        assert_ne!(tokens[0], last);
        last = tokens.remove(0);
        assert_eq!(
            provider.refreshes(),
            vec![200; round],
            "one request in each round"
        );
    }
    for process in processes {
        let Process {
            mut child, input, ..
        } = process;
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}
