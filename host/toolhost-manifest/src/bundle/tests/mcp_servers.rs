//! The resource `kind: McpServer`.

use super::*;

#[test]
fn an_mcp_server_has_a_command_or_a_url() {
    use toolhost_contract::McpTransportSpec;

    let stdio = "{transport: {stdio: {command: [npx, a, '-y'], env: {B: '2', A: '1'}}}, tools: [read], prefix: my-files}";
    let http = "{transport: {http: {url: https://a.example/mcp}}}";
    let text = format!(
        "{}---\n{}",
        mcp_server("files", stdio),
        mcp_server("search", http)
    );
    let bundle = parse(&text).unwrap();
    let [(files, place), (search, _)] = bundle.mcp_servers() else {
        panic!("{bundle:?}");
    };
    assert_eq!(place.position.unwrap().line, 3);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        files.spec.transport,
        McpTransportSpec::Stdio {
            command: ["npx", "a", "-y"].map(str::to_owned).to_vec(),
            env: vec![pair("A", "1"), pair("B", "2")],
        }
    );
    assert_eq!(files.spec.tools.as_deref(), Some(&["read".to_owned()][..]));
    assert_eq!(files.spec.prefix.as_str(), "my-files");
    let url = "https://a.example/mcp".to_owned();
    assert_eq!(search.spec.transport, McpTransportSpec::Http { url });
    assert_eq!(
        (search.spec.tools.clone(), search.spec.prefix.as_str()),
        (None, "search")
    );
}

#[test]
fn an_mcp_server_that_is_not_complete_is_refused_with_its_place() {
    let at = |path: &str| format!("error[E_CONFIG_SCHEMA_INVALID] documents[0].spec{path}");
    for (spec, path, message) in [
        ("{}", "", "'transport' is missing"),
        (
            "{transport: {}}",
            ".transport",
            "a transport is either 'stdio' or 'http'",
        ),
        (
            "{transport: {stdio: {command: [a]}, http: {url: x}}}",
            ".transport",
            "a transport is either 'stdio' or 'http'",
        ),
        (
            "{transport: {stdio: {}}}",
            ".transport.stdio",
            "'command' is missing",
        ),
        (
            "{transport: {stdio: {command: []}}}",
            ".transport.stdio.command",
            "'command' is empty: its first item is the program",
        ),
        (
            "{transport: {stdio: {command: ['']}}}",
            ".transport.stdio.command",
            "the program is empty",
        ),
        (
            "{transport: {stdio: {command: [a, 1]}}}",
            ".transport.stdio.command[1]",
            "expected a string but got an integer",
        ),
        (
            "{transport: {stdio: {command: [a], env: {'A=B': x}}}}",
            ".transport.stdio.env.A=B",
            "'A=B' cannot be the name of an environment variable",
        ),
        (
            "{transport: {stdio: {command: [a], env: {A: {secret: abcd}}}}}",
            ".transport.stdio.env.A",
            "expected a string but got a mapping",
        ),
        (
            "{transport: {http: {}}}",
            ".transport.http",
            "'url' is missing",
        ),
        (
            "{transport: {http: {url: 'https://a.example/'}}, tool: [a]}",
            ".tool",
            "unknown key 'tool'",
        ),
    ] {
        let lines = found(&mcp_server("srv", spec));
        let expected = format!("{}: {message}", at(path));
        assert_eq!(lines.len(), 1, "{spec}: {lines:?}");
        assert!(lines[0].ends_with(&expected), "{spec}: {lines:?}");
    }
}

#[test]
fn the_tools_of_two_resources_cannot_have_the_same_prefix() {
    let http = "{transport: {http: {url: https://a.example/mcp}}, prefix: t}";
    let text = format!(
        "{}---\n{}",
        tool_spec("{entry: a.wasm, exports: [{name: x}]}"),
        mcp_server("srv", http)
    );
    check(
        &text,
        &[
            "8:18: error[E_CONFIG_DUPLICATE_NAME] documents[1].metadata.name: the tools of McpServer/srv begin with 't__', as others do",
        ],
    );
}
