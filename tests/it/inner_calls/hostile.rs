//! Programs in JavaScript and Python that attack through the calls that they make.

use std::fs;

use serde_json::{Value, json};
use toolhost::middleware::{Next, ToolCallContext};
use toolhost::{Host, Policy, ToolResult};
use toolhost_tests::test_host::{TestHost, code, copy_program_tool, open_step, write_bundle, yaml};
use toolhost_tests::{Work, cache_of_builds, eventually, own_sandbox};

use super::TOOLS;

const LANGUAGES: [&str; 2] = ["javascript", "python"];

/// A program in each of the languages.
type Program<'a> = [&'a str; 2];

/// Returns a host with the tools that run programs; none where they are not built.
async fn host() -> Option<(TestHost, tempfile::TempDir)> {
    let run = &["script"] as &[&str];
    let more = [
        ("echo", "echo", &["say"] as &[&str]),
        ("javascript", "javascript", run),
        ("python", "python", run),
    ];
    let (bundle, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let manifest = yaml(&[&TOOLS[..], &more[..]].concat());
    write_bundle(
        bundle.path(),
        &manifest,
        &["call_tools", "file-system", "echo"],
    );
    if !LANGUAGES
        .iter()
        .all(|language| copy_program_tool(language, bundle.path()))
    {
        return None;
    }
    let policy = "{defaults: {limits: {toolCallBytes: 16MiB}}, tools: {javascript: {tools: ['*'], workdir: transactional}, python: {tools: ['*'], workdir: transactional}, other: {tools: ['*']}}}";
    let host = Host::builder()
        .sandbox(own_sandbox(|config| config.cache = Some(cache_of_builds())))
        .policy(Policy::parse(policy, "policy.yaml").unwrap())
        .state_root(state.path())
        .build()
        .unwrap();
    let loaded = host.load(bundle.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let refuses = |call: ToolCallContext, next: Next<ToolCallContext>| async move {
        if call.args.get("path") == Some(&json!("secret")) {
            return call.refuse("not this file");
        }
        next.run(call).await
    };
    let extended = agent.extend("refuses", |api| api.pipeline().tool_call(0, refuses));
    extended.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let work = Work {
        workdir: host.workdir(dir.path()).unwrap(),
        dir,
    };
    let step = open_step(&agent, "instance", &work.workdir).await;
    let host = TestHost {
        bundle,
        host,
        loaded,
        agent,
        step,
        work,
    };
    Some((host, state))
}

/// Runs a program in each language. `check` gets each result, and the workdir is empty again afterwards.
async fn each(program: Program<'_>, check: impl Fn(&TestHost, &ToolResult)) {
    let Some((host, _state)) = host().await else {
        return;
    };
    let sandbox = host.host.sandbox();
    for (language, code) in LANGUAGES.iter().zip(program) {
        let result = host
            .call(&format!("{language}__script"), json!({"code": code}))
            .await;
        check(&host, &result);
        eventually("all memory is free", || sandbox.memory_in_use() == 0).await;
        for entry in fs::read_dir(host.work.dir.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

/// Returns what a program returned.
#[track_caller]
fn returned(result: &ToolResult) -> &Value {
    let output = result.output().unwrap_or_else(|| panic!("{result:?}"));
    &output["result"]
}

/// Asserts that a program failed, with this text in its message.
#[track_caller]
fn failed(result: &ToolResult, says: &str) {
    assert_eq!(code(result), "E_SCRIPT");
    let message = &result.tool_error().unwrap().message;
    assert!(message.contains(says), "{message}");
}

fn names(host: &TestHost) -> Vec<String> {
    let entries = fs::read_dir(host.work.dir.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn of_ten_thousand_calls_a_thousand_are_made() {
    let javascript = r#"
        const codes = {};
        for (let n = 0; n < 10_000; n += 1) {
          const code = await tools.echo.say({ n }).then(() => "ok", (error) => error.code);
          codes[code] = (codes[code] ?? 0) + 1;
        }
        await tools.files.write({ path: "made", content: "x" }).catch(() => {});
        return codes;"#;
    let python = r#"
codes = {}
for n in range(10_000):
    try:
        await tools.echo.say(n=n)
        code = "ok"
    except ToolCallError as error:
        code = error.code
    codes[code] = codes.get(code, 0) + 1
try:
    await tools.files.write(path="made", content="x")
except ToolCallError:
    pass
return codes"#;
    let expected = json!({"ok": 1_000, "E_TOOL_CALL_LIMIT": 9_000});
    each([javascript, python], |host, result| {
        assert_eq!(*returned(result), expected);
        assert_eq!(names(host), [""; 0]);
        let calls = result.usage().tool_calls.as_ref().unwrap();
        assert_eq!((calls.count, calls.failed), (1_000, 0));
    })
    .await;
}

#[tokio::test]
async fn calls_that_recurse_without_end_end_at_the_limit() {
    let javascript = r#"
        const again = async (n) => { await tools.files.write({ path: "made", content: "x" }); return again(n + 1) };
        return again(0);"#;
    let python = r#"
async def again(n):
    await tools.files.write(path="made", content="x")
    return await again(n + 1)
return await again(0)"#;
    each([javascript, python], |host, result| {
        failed(result, "line ");
        assert!(result.usage().tool_calls.as_ref().unwrap().count <= 1_000);
        // All of it was one transaction.
        assert_eq!(names(host), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_program_cannot_run_itself_through_any_other_tool() {
    let javascript = r#"
        const code = 'await tools.files.write({ path: "made", content: "x" })';
        const [inner] = await tools.other.run({ steps: [{ do: "call", tool: "javascript__script", args: { code } }] });
        const other = `
try:
    await tools["javascript__script"](code=${JSON.stringify(code)})
except Exception as error:
    return error.code`;
        const own = await tools.call("javascript__script", { code }).catch((error) => error.code);
        return [own, inner.error.code, (await tools.python.script({ code: other })).result];"#;
    let python = r#"
code = 'await tools.files.write(path="made", content="x")'
try:
    own = await tools["python__script"](code=code)
except Exception as error:
    own = error.code
[inner] = await tools.other.run(steps=[{"do": "call", "tool": "python__script", "args": {"code": code}}])
other = "return tools.call('python__script', { code: args.code }).catch((error) => error.code)"
other = await tools.javascript.script(code=other, args={"code": code})
return [own, inner["error"]["code"], other["result"]]"#;
    each([javascript, python], |host, result| {
        let codes = returned(result).as_array().unwrap();
        let refusals = [json!("E_TOOL_CALL_LIMIT"), json!("E_TOOL_NOT_IN_CATALOG")];
        assert_eq!(codes.len(), 3);
        assert!(
            codes.iter().all(|code| refusals.contains(code)),
            "{codes:?}"
        );
        assert_eq!(names(host), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_thousand_arguments_of_a_mebibyte_end_at_the_limit_of_bytes() {
    let javascript = r#"
        const text = "x".repeat(1_048_000);
        const large = await tools.echo.say({ text: text + text }).catch((error) => error.code);
        for (let n = 0; n < 1_000; n += 1) {
          const code = await tools.echo.say({ text }).then(() => "ok", (error) => error.code);
          if (code !== "ok") return [large, n, code];
        }"#;
    let python = r#"
text = "x" * 1_048_000
try:
    await tools.echo.say(text=text + text)
except ToolCallError as error:
    large = error.code
for n in range(1_000):
    try:
        await tools.echo.say(text=text)
    except ToolCallError as error:
        return [large, n, error.code]"#;
    each([javascript, python], |_, result| {
        // Arguments and output have a mebibyte each, and 16 are allowed.
        let expected = json!(["E_TOOL_INVALID_ARGS", 8, "E_TOOL_CALL_LIMIT"]);
        assert_eq!(*returned(result), expected);
        assert!(
            result.usage().memory_peak < 128 << 20,
            "{:?}",
            result.usage()
        );
    })
    .await;
}

#[tokio::test]
async fn one_of_three_calls_at_once_that_a_middleware_refuses_is_not_made() {
    let javascript = r#"
        const write = (path) => tools.files.write({ path, content: "x" });
        const ended = await Promise.allSettled(["a", "secret", "b"].map(write));
        return ended.map(({ status, reason }) => reason?.code ?? status);"#;
    let python = r#"
writes = [tools.files.write(path=path, content="x") for path in ["a", "secret", "b"]]
ended = await asyncio.gather(*writes, return_exceptions=True)
return [getattr(end, "code", "fulfilled") for end in ended]"#;
    each([javascript, python], |host, result| {
        let expected = json!(["fulfilled", "E_MIDDLEWARE", "fulfilled"]);
        assert_eq!(*returned(result), expected);
        assert_eq!(names(host), ["a", "b"]);
    })
    .await;
    // Where the program does not expect it, it fails, and nothing is left of the other two.
    let javascript = r#"
        const write = (path) => tools.files.write({ path, content: "x" });
        return Promise.all(["a", "secret", "b"].map(write));"#;
    let python = r#"
writes = [tools.files.write(path=path, content="x") for path in ["a", "secret", "b"]]
return await asyncio.gather(*writes)"#;
    each([javascript, python], |host, result| {
        failed(result, "E_MIDDLEWARE");
        assert_eq!(names(host), [""; 0]);
    })
    .await;
}
