//! `bash__exec` and `bash__script`: inputs, outputs, limits.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;
use toolhost::{Host, Policy, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::TestHost;

use super::{base, command, fails, output};

#[tokio::test]
async fn an_exit_code_is_part_of_the_output() {
    let test_host = base("").await;
    let result = test_host
        .call("bash__exec", command("echo out; echo err >&2; exit 3"))
        .await;
    assert_eq!(result.status(), ToolStatus::Ok);
    assert_eq!(
        *output(&result),
        json!({"stdout": "out\n", "stderr": "err\n", "exitCode": 3})
    );
}

#[tokio::test]
async fn scripts_use_the_files_of_the_workdir() {
    let test_host = base("").await;
    fs::write(test_host.work.path("in.txt"), "from the host\n").unwrap();
    let script = "cat /in.txt; cat in.txt | tr a-z A-Z > out.txt; mkdir -p d; cd d; pwd; ls ..";
    let result = test_host.call("bash__exec", command(script)).await;
    assert_eq!(
        output(&result)["stdout"],
        "from the host\n/d\nd\nin.txt\nout.txt\n"
    );
    let written = fs::read_to_string(test_host.work.path("out.txt")).unwrap();
    assert_eq!(written, "FROM THE HOST\n");
}

#[tokio::test]
async fn only_files_persist_between_calls() {
    let test_host = base("").await;
    let first = "x=kept; cd /; echo t > /tmp/t; alias l=ls; echo f > f; cat /tmp/t";
    let result = test_host.call("bash__exec", command(first)).await;
    assert_eq!(output(&result)["stdout"], "t\n");
    let second = "echo \"[$x]\"; cat /tmp/t; cat f";
    let result = test_host.call("bash__exec", command(second)).await;
    assert_eq!(output(&result)["stdout"], "[]\nf\n");
    // `/tmp` lies in the memory of the call.
    assert!(!test_host.work.path("tmp").exists());
}

#[tokio::test]
async fn a_call_sets_the_folder_the_variables_and_stdin() {
    let test_host = base("").await;
    fs::create_dir_all(test_host.work.path("a/b")).unwrap();
    let args = json!({
        "command": "pwd; read -r line; echo \"$line $GREETING\"; bash -c 'echo $GREETING'; cat",
        "cwd": "a/b", "env": {"GREETING": "hi there"}, "stdin": "first\nsecond\n",
    });
    let result = test_host.call("bash__exec", args).await;
    assert_eq!(
        output(&result)["stdout"],
        "/a/b\nfirst hi there\nhi there\nsecond\n"
    );
    // Without stdin, a reading command finds the end of input.
    let result = test_host
        .call("bash__exec", command("cat; read -r x; echo $?"))
        .await;
    assert_eq!(output(&result)["stdout"], "1\n");
}

#[tokio::test]
async fn a_script_in_the_workdir_runs_with_arguments() {
    let test_host = base("").await;
    let script = "#!/bin/bash\nset -e\nfor word; do echo \"$0: $word\"; done\nexit $#\n";
    fs::create_dir(test_host.work.path("bin")).unwrap();
    fs::write(test_host.work.path("bin/say.sh"), script).unwrap();
    let args = json!({"path": "bin/say.sh", "args": ["a b", "$HOME"]});
    let result = test_host.call("bash__script", args).await;
    assert_eq!(
        *output(&result),
        json!({"stdout": "bin/say.sh: a b\nbin/say.sh: $HOME\n", "stderr": "", "exitCode": 2})
    );
    // Its mode says whether it can be executed.
    let run = command("./bin/say.sh x");
    let path = test_host.work.path("bin/say.sh");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let result = test_host.call("bash__exec", run.clone()).await;
    assert_eq!(output(&result)["exitCode"], 126);
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let result = test_host.call("bash__exec", run).await;
    assert_eq!(output(&result)["stdout"], "./bin/say.sh: x\n");
}

#[tokio::test]
async fn scripts_see_set_and_keep_the_modes_and_times_of_files() {
    let state = tempfile::tempdir().unwrap();
    for workdir in ["direct", "transactional"] {
        let policy = Policy::parse(&format!("defaults: {{workdir: {workdir}}}"), "policy.yaml");
        let host = Host::builder().sandbox(sandbox()).policy(policy.unwrap());
        let host = host.state_root(state.path()).build().unwrap();
        let test_host = TestHost::with_tools_in(host, &[("bash", "bash", &["exec"])]).await;
        let path = |name: &str| test_host.work.path(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().mode() & 0o7777;
        for (name, bits) in [("run.sh", 0o755), ("secret", 0o600), ("plain", 0o644)] {
            fs::write(path(name), "#!/bin/sh\necho hi\n").unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(bits)).unwrap();
        }
        let run = async |script: &str| {
            let result = test_host.call("bash__exec", command(script)).await;
            let result = output(&result).clone();
            assert_eq!(result["stderr"], "", "{workdir}: {script}");
            result["stdout"].as_str().unwrap().to_owned()
        };
        let said = run("sed -i s/hi/ho/ run.sh secret; ./run.sh; echo >> secret").await;
        assert_eq!(
            (said.as_str(), mode("run.sh"), mode("secret")),
            ("ho\n", 0o755, 0o600)
        );
        let tests = "test -x run.sh && echo runs; test -x plain || echo plain";
        assert_eq!(run(tests).await, "runs\nplain\n");
        run("chmod u+x plain; ./plain; cp plain copy; chmod 700 copy; mv copy moved").await;
        assert_eq!((mode("plain") & 0o100, mode("moved")), (0o100, 0o700));
        let listed = run("ls -l run.sh secret moved | cut -c1-10").await;
        assert_eq!(listed, "-rwx------\n-rwxr-xr-x\n-rw-------\n");
        run("touch -d '2001-02-03 04:05:06' plain; cp -p plain again; touch later").await;
        let wide = test_host
            .call("bash__exec", command("chmod 777 later"))
            .await;
        let said = output(&wide)["stderr"].as_str().unwrap();
        assert_eq!(
            said.contains("not rwxrwxrwx"),
            mode("later") != 0o777,
            "{said}"
        );
        let modified = |name: &str| fs::metadata(path(name)).unwrap().mtime();
        assert_eq!(
            (modified("plain"), modified("again")),
            (981_173_106, 981_173_106)
        );
        let newer = run("find . -newer plain -name 'later'; find . -newer later -name plain").await;
        assert_eq!(newer, "./later\n");
    }
}

#[tokio::test]
async fn no_script_makes_a_file_run_as_its_owner() {
    let test_host = base("").await;
    fs::write(test_host.work.path("f"), "").unwrap();
    for bits in ["4755", "2755", "u+s", "g+s"] {
        let script = format!("chmod {bits} f && echo set");
        let result = test_host.call("bash__exec", command(&script)).await;
        assert_eq!(output(&result)["stdout"], "", "{bits}");
        let mode = fs::metadata(test_host.work.path("f")).unwrap().mode();
        assert_eq!(mode & 0o7000, 0, "{bits}");
    }
}

#[tokio::test]
async fn a_script_has_the_variables_that_the_policy_grants() {
    let policy = "tools: {bash: {env: {LANG: ko_KR.UTF-8, KEY: {secret: sk-12345}}}}";
    let test_host = base(policy).await;
    let script = "echo \"$LANG $HOME\"; test \"$KEY\" = sk-12345 && echo same; echo $KEY";
    let result = test_host.call("bash__exec", command(script)).await;
    assert_eq!(
        output(&result)["stdout"],
        "ko_KR.UTF-8 /\nsame\n[redacted:KEY]\n"
    );
    // Those of the arguments precede them.
    let args = json!({"command": "echo $LANG", "env": {"LANG": "C"}});
    let result = test_host.call("bash__exec", args).await;
    assert_eq!(output(&result)["stdout"], "C\n");
    let result = base("")
        .await
        .call("bash__exec", command("echo \"<$LANG>\""))
        .await;
    assert_eq!(output(&result)["stdout"], "<>\n");
}

#[tokio::test]
async fn invalid_input_gives_an_error_that_names_the_problem() {
    let test_host = base("").await;
    fs::write(test_host.work.path("file"), [0xff, 0xfe]).unwrap();
    for (tool, args, code, says) in [
        ("script", json!({"path": "no.sh"}), "NOT_FOUND", "no.sh"),
        ("script", json!({"path": "file"}), "NOT_TEXT", "file"),
        (
            "script",
            json!({"path": "../x.sh"}),
            "E_TOOL_DENIED",
            "../x.sh",
        ),
        (
            "exec",
            json!({"command": "ls", "cwd": "nowhere"}),
            "NOT_FOUND",
            "nowhere",
        ),
        (
            "exec",
            json!({"command": "ls", "cwd": "file"}),
            "NOT_DIRECTORY",
            "file",
        ),
        (
            "exec",
            json!({"command": "ls", "env": {"A=B": "x"}}),
            "INVALID_ENV",
            "A=B",
        ),
    ] {
        let result = test_host.call(&format!("bash__{tool}"), args).await;
        fails(&result, code, says);
    }
}

#[tokio::test]
async fn a_syntax_error_names_the_line() {
    let test_host = base("").await;
    let result = test_host
        .call("bash__exec", command("echo one\nif then fi\n"))
        .await;
    let output = output(&result);
    assert_eq!(output["exitCode"], 2);
    let stderr = output["stderr"].as_str().unwrap();
    assert!(
        stderr.contains("line 2: syntax error near unexpected token `then'"),
        "{stderr}"
    );
}

#[tokio::test]
async fn an_unavailable_command_gives_the_reason() {
    let test_host = base("").await;
    for (name, why) in [
        ("nc example.com 80", "`curl` sends HTTP"),
        ("ssh example.com", "`curl` sends HTTP"),
        ("python3 -c 'print(1)'", "`python__run`"),
        ("git status", "no programs can be started"),
        ("node -e 1", "`javascript__run`"),
        ("pip install x", "nothing can be installed"),
        ("frobnicate", "command not found"),
    ] {
        let result = test_host.call("bash__exec", command(name)).await;
        let output = output(&result);
        let stderr = output["stderr"].as_str().unwrap();
        assert_eq!(output["exitCode"], 127, "{name}: {stderr}");
        assert!(
            stderr.contains("command not found") && stderr.contains(why),
            "{name}: {stderr}"
        );
        assert_eq!(output["stdout"], "");
    }
    // As in bash, the following commands run.
    let result = test_host
        .call(
            "bash__exec",
            command("git x 2>/dev/null || echo \"no: $?\""),
        )
        .await;
    assert_eq!(output(&result)["stdout"], "no: 127\n");
}

#[tokio::test]
async fn a_timeout_keeps_the_output_and_files_written_before() {
    let test_host = base("").await;
    for endless in [
        "while :; do :; done",
        "sleep 1000",
        "until false; do true; done",
    ] {
        let script = format!("echo before; echo kept > kept.txt; {endless}; echo never");
        let args = json!({"command": script, "timeoutMs": 1000});
        let result = test_host.call("bash__exec", args).await;
        let output = output(&result);
        assert_eq!(output["timedOut"], true, "{endless}: {output}");
        assert_eq!(output["exitCode"], 124);
        assert_eq!(output["stdout"], "before\n", "{endless}");
        assert!(output["stderr"].as_str().unwrap().contains("1000 ms"));
        let kept = fs::read_to_string(test_host.work.path("kept.txt")).unwrap();
        assert_eq!(kept, "kept\n");
    }
}

#[tokio::test]
async fn long_output_is_truncated_with_the_number_of_omitted_bytes() {
    let test_host = base("").await;
    for flood in [
        "for ((i=0;i<20000;i++)); do echo \"line $i of a flood\"; done",
        // Each byte takes six bytes in JSON.
        "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2",
        "head -c 900000 /dev/zero | tr '\\0' x; head -c 900000 /dev/zero | tr '\\0' y >&2",
    ] {
        let result = test_host.call("bash__exec", command(flood)).await;
        let output = output(&result);
        assert_eq!(output["truncated"], true, "{flood}");
        assert!(
            output["stdout"]
                .as_str()
                .unwrap()
                .contains("bytes left out"),
            "{flood}"
        );
        assert_eq!(output["exitCode"], 0);
        let bytes = output.to_string().len();
        assert!(bytes < 1 << 20, "{flood}: {bytes}");
    }
    let head = "for ((i=0;i<20000;i++)); do echo \"line $i of a flood\"; done";
    let result = test_host.call("bash__exec", command(head)).await;
    let text = output(&result)["stdout"].as_str().unwrap();
    assert!(text.starts_with("line 0 of a flood\n") && text.ends_with("line 19999 of a flood\n"));
    // A pipe is not truncated.
    let result = test_host
        .call(
            "bash__exec",
            command("seq 100000 | tail -1; seq 100000 > f; wc -l < f"),
        )
        .await;
    assert_eq!(output(&result)["stdout"], "100000\n100000\n");
}

#[tokio::test]
async fn jq_has_the_options_and_exit_codes_of_jq() {
    let test_host = base("").await;
    fs::write(
        test_host.work.path("a.json"),
        "{\"b\":[1,{\"c\":\"é\"}],\"a\":null}\n",
    )
    .unwrap();
    fs::write(test_host.work.path("p.jq"), "# a program\n.b[1].c\n").unwrap();
    for (command, stdout, exit_code) in [
        (
            "jq -c . a.json",
            "{\"b\":[1,{\"c\":\"é\"}],\"a\":null}\n",
            0,
        ),
        ("jq . < a.json | head -3", "{\n  \"b\": [\n    1,\n", 0),
        ("jq -S --tab . a.json | tail -2", "\t]\n}\n", 0),
        ("jq --indent 1 .b[0:1] a.json", "[\n 1\n]\n", 0),
        (
            "jq -r '.b[1].c' a.json; jq -a '.b[1].c' a.json",
            "é\n\"\\u00e9\"\n",
            0,
        ),
        ("jq -rf p.jq a.json", "é\n", 0),
        (
            "printf '1 2' | jq -s add; printf 'x\\ny' | jq -R .; printf 'x\\ny' | jq -Rs .",
            "3\n\"x\"\n\"y\"\n\"x\\ny\"\n",
            0,
        ),
        (
            "echo '1 2' | jq -n '[inputs]' -c; jq -nj '\"a\", 1'",
            "[1,2]\na1",
            0,
        ),
        (
            "jq -nc --arg x 1 --argjson y '[2]' '[$x, $y, $ARGS.named.x]'",
            "[\"1\",[2],\"1\"]\n",
            0,
        ),
        (
            "jq -nc '$ARGS.positional' --args a b; jq -nc '$ARGS.positional' --jsonargs 1 '{}'",
            "[\"a\",\"b\"]\n[1,{}]\n",
            0,
        ),
        (
            "jq -nc --slurpfile s a.json --rawfile r p.jq '($s | length), ($r | length)'",
            "1\n20\n",
            0,
        ),
        ("X=5 jq -n 'env.X, $ENV.X'", "\"5\"\n\"5\"\n", 0),
        ("jq -e .a a.json", "null\n", 1),
        ("jq -ne empty", "", 4),
        ("jq -n 'error(\"no\")'", "", 5),
        ("jq -n '\"bye\" | halt_error(3)'", "", 3),
        ("jq -n '1 +'", "", 3),
        ("jq -n 'nothing'", "", 3),
        ("jq --frobnicate .", "", 2),
        ("jq . missing.json", "", 2),
        ("echo '{' | jq .", "", 5),
        (
            "echo '[1,[2]]' | jq -c --stream .",
            "[[0],1]\n[[1,0],2]\n[[1,0]]\n[[1]]\n",
            0,
        ),
    ] {
        let result = test_host.call("bash__exec", self::command(command)).await;
        let output = output(&result);
        assert_eq!(output["stdout"], stdout, "{command}: {output}");
        assert_eq!(output["exitCode"], exit_code, "{command}: {output}");
        let is_silent = output["stderr"].as_str().unwrap().is_empty();
        assert_eq!(
            is_silent,
            [0, 1, 4].contains(&exit_code),
            "{command}: {output}"
        );
    }
}
