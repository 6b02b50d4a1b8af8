//! State in PostgreSQL: every command uses it, or says where it is.

use std::fs;

use toolhost_store::testing::{self, PASSWORD};

use crate::terminal::{Ran, Terminal};

#[test]
fn commands_without_the_policy_say_where_the_state_is_and_make_no_database() {
    let terminal = Terminal::new();
    let root = terminal.path("state");
    fs::create_dir(&root).unwrap();
    fs::write(
        root.join("database"),
        "postgres://u@db.example:5432/d schema s\n",
    )
    .unwrap();
    let bundle = terminal.bundle("b", &[("echo", &["say"])]);
    terminal.write("p.yaml", "budgets: {perDay: {calls: 9}}");
    let (bundle, policy) = (bundle.display().to_string(), terminal.path("p.yaml"));
    let policy = policy.display().to_string();
    for args in [
        vec!["approvals"],
        vec!["approve", "approval_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        vec!["budgets", &bundle, "--policy", &policy],
        vec!["auth", "ls"],
    ] {
        let mut command = terminal.toolhost(&args);
        let ran = Ran::of(command.arg("--state-root").arg(&root));
        let said = "is in postgres://u@db.example:5432/d schema s: use a policy";
        assert!(ran.stderr.contains(said), "{args:?}: {ran:?}");
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert!(!root.join("toolhost.db").exists(), "{args:?}");
    }
    let mut backup = terminal.toolhost(["backup"]);
    let ran = Ran::of(
        backup
            .arg(terminal.path("copy"))
            .arg("--state-root")
            .arg(&root),
    );
    assert!(
        ran.stderr.contains("are in postgres://u@db.example:5432/d"),
        "{ran:?}"
    );
    ran.exits(0);
    assert!(terminal.path("copy/database").exists());
}

#[test]
fn a_call_that_one_state_root_accepted_is_polled_in_another_and_no_password_is_printed() {
    let Some(server) = testing::server() else {
        return;
    };
    let terminal = Terminal::new();
    let url = format!(
        "postgres://toolhost@127.0.0.1:{}/postgres?sslmode=disable",
        server.port()
    );
    terminal.write("password", PASSWORD);
    let write = |url: &str, schema: &str| {
        let state = format!("{{url: '{url}', password: {{fromFile: password}}, schema: {schema}}}");
        terminal.write("p.yaml", format!("state: {{postgres: {state}}}"));
    };
    write(&url, "cli");
    let bundle = terminal.bundle("b", &[("pending", &["run"])]);
    let policy = terminal.path("p.yaml");
    let run = |args: &[&str], root: &str| {
        let mut command = terminal.toolhost(args);
        command.arg("--state-root").arg(terminal.path(root));
        Ran::of(command.arg("--policy").arg(&policy))
    };
    let bundle = bundle.display().to_string();
    let work = terminal.path("work");
    fs::create_dir(&work).unwrap();
    let work = work.display().to_string();
    let call = [
        "call",
        &bundle,
        "pending__run",
        "--args",
        r#"{"handle":"x"}"#,
        "--workdir",
        &work,
    ];
    let called = run(&call, "one").exits(0).json();
    let handle = called["handle"].as_str().unwrap().to_owned();
    let polled = run(&["poll", &bundle, &handle, "--workdir", &work], "two").exits(0);
    assert_eq!(polled.json()["status"], "pending");
    let listed = run(&["approvals"], "two").exits(0);
    assert!(listed.stdout.contains("no call waits for approval"));
    assert!(
        !terminal.path("one/toolhost.db").exists() && !terminal.path("two/toolhost.db").exists()
    );

    run(&["auth", "ls"], "grants").exits(0);
    assert!(terminal.path("grants/database").exists());
    write(&url, "another");
    let refused = run(&["approvals"], "two");
    for part in ["schema cli", "schema another", "to begin anew"] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }

    for (url, schema, says) in [
        (
            url.replace("toolhost@", "nobody@"),
            "cli",
            "password authentication failed",
        ),
        (
            url.replace("disable", "prefer"),
            "cli",
            "`sslmode` is verify-full or disable",
        ),
        (url.clone(), "A", "a schema has 1 to 63"),
        (
            url.replace("toolhost@", "toolhost:se%20cret@"),
            "cli",
            "the URL has a password",
        ),
    ] {
        write(&url, schema);
        let ran = run(&["approvals"], "three");
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            !printed.contains(PASSWORD) && !printed.contains("cret"),
            "{printed}"
        );
    }
}
