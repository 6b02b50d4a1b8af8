//! Servers of others' programs and libraries, from npm, PyPI and crates.io, old and new. `cargo xtask test` installs
//! them.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost_mcp_client::{McpServer, McpServers, McpStatus, McpTransport, StdioServer};

use crate::support::{Place, config, until};

use self::servers::Row;

mod servers;

/// A program beneath the folder that a variable names. None, with a line that reports it, where it is not
/// installed.
fn installed(variable: &str, folder: &str, program: &str) -> Option<PathBuf> {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    let named = std::env::var_os(variable).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(target).join(folder));
    let program = folder.join(program);
    if program.exists() {
        return Some(program);
    }
    eprintln!(
        "NOT tested: {} is not installed: run `cargo xtask test` with Node 20 or newer, and Python 3.10 or newer",
        program.display()
    );
    None
}

/// The program of a server of npm.
fn program(name: &str) -> Option<PathBuf> {
    installed(
        "TOOLHOST_MCP_SERVERS",
        "mcp-servers",
        &format!("node_modules/.bin/{name}"),
    )
}

#[tokio::test]
async fn the_tools_of_servers_old_and_new_are_listed_and_called() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp-servers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("notes.txt"), "remember the milk").unwrap();
    let check = async |row: Row| {
        let line = format!("| {} |", row.server);
        let line = page.lines().find(|it| it.starts_with(&line));
        let line = line.unwrap_or_else(|| panic!("{} is not in the page", row.server));
        let Some(program) = installed(row.variable, row.folder, row.program) else {
            return;
        };
        let place = Place::new().await;
        let args: Vec<&str> = row.args.iter().map(String::as_str).collect();
        let mut config = config("srv", server(&program, &args));
        let startups = place.dir.path().join("startups");
        config.state_dir = Some(startups.clone());
        let server = McpServer::start(config, [place.agent()]).await.unwrap();
        assert_eq!(server.findings(), [], "{}", row.server);
        assert!(
            matches!(server.status(), McpStatus::Ready { .. }),
            "{}: {server:?}",
            row.server
        );
        let mut tools = Vec::new();
        for call in row.calls {
            let tool = format!("`{}`", call.tool.trim_start_matches("srv__"));
            if !tools.contains(&tool) {
                tools.push(tool);
            }
            let result = place.call(call.tool, call.input).await;
            let output = result.output().ok_or_else(|| result.tool_error());
            match (output, &call.end) {
                (Ok(output), Ok(expected)) => assert_eq!(output, expected, "{}", row.server),
                (Err(Some(error)), Err((code, message))) => {
                    assert_eq!(error.code.as_str(), *code, "{}: {error:?}", row.server);
                    assert!(error.message.contains(message), "{}: {error:?}", row.server);
                }
                (output, _) => panic!("{}: {}: {output:?}", row.server, call.tool),
            }
        }
        server.close().await;
        let tools = tools.join(", ");
        assert!(line.contains(&format!("| {tools} |")), "{tools}: {line}");
        // A slow machine starts others in vain, too.
        assert!(!line.contains("in vain") || startups.exists(), "{line}");
    };
    let rows = servers::rows(project.path()).into_iter().map(check);
    futures_util::future::join_all(rows).await;
}

fn server(program: &Path, args: &[&str]) -> McpTransport {
    let path = std::env::var("PATH").unwrap();
    let args = args.iter().copied();
    McpTransport::Stdio(StdioServer::new(program.to_str().unwrap(), args).env("PATH", path))
}

#[tokio::test]
async fn the_tools_of_server_everything_work() {
    let Some(program) = program("mcp-server-everything") else {
        return;
    };
    let place = Place::new().await;
    let config = config("srv", server(&program, &["stdio"]));
    let server = McpServer::start(config, [place.agent()]).await.unwrap();
    assert_eq!(server.findings(), []);
    assert!(
        matches!(server.status(), McpStatus::Ready { tools: 13.. }),
        "{server:?}"
    );
    let sum = place.output("srv__get-sum", json!({"a": 2, "b": 3})).await;
    assert_eq!(sum, json!("The sum of 2 and 3 is 5."));
    let echo = place.output("srv__echo", json!({"message": "hi"})).await;
    assert_eq!(echo, json!("Echo: hi"));
    let weather = place
        .output(
            "srv__get-structured-content",
            json!({"location": "Chicago"}),
        )
        .await;
    assert!(weather["temperature"].is_number(), "{weather}");
    let catalog = place.agent().catalog();
    let structured = catalog.get("srv__get-structured-content").unwrap();
    assert!(structured.output_schema.is_some(), "the server has one");
    let image = place.output("srv__get-tiny-image", json!({})).await;
    let blocks = image["content"].as_array().unwrap();
    assert!(
        blocks.iter().any(|block| block["mimeType"] == "image/png"),
        "{image}"
    );
    let links = place
        .output("srv__get-resource-links", json!({"count": 2}))
        .await;
    let links = links["content"].as_array().unwrap();
    assert_eq!(
        links
            .iter()
            .filter(|block| block["type"] == "resource_link")
            .count(),
        2
    );
    // With progress, which is dropped.
    let long = json!({"duration": 1, "steps": 5});
    let long = place
        .output("srv__trigger-long-running-operation", long)
        .await;
    assert!(long.as_str().unwrap().contains("completed"), "{long}");
    server.close().await;
}

#[tokio::test]
async fn server_everything_works_over_http() {
    let Some(program) = program("mcp-server-everything") else {
        return;
    };
    let place = Place::new().await;
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut process = std::process::Command::new(&program)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("it listens", async || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    })
    .await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let http = toolhost_mcp_client::HttpServer::new(
        place.host.sandbox(),
        &url,
        toolhost::http::HttpGrant::default(),
    );
    let config = config("srv", McpTransport::Http(http.unwrap()));
    let server = McpServer::start(config, [place.agent()]).await.unwrap();
    assert!(
        matches!(server.status(), McpStatus::Ready { tools: 13.. }),
        "{server:?}"
    );
    let echo = place.output("srv__echo", json!({"message": "hi"})).await;
    assert_eq!(echo, json!("Echo: hi"));
    let long = json!({"duration": 1, "steps": 5});
    let long = place
        .output("srv__trigger-long-running-operation", long)
        .await;
    assert!(long.as_str().unwrap().contains("completed"), "{long}");
    server.close().await;
    process.kill().unwrap();
    process.wait().unwrap();
}

#[tokio::test]
async fn the_example_of_the_page_works_with_server_filesystem() {
    let Some(program) = program("mcp-server-filesystem") else {
        return;
    };
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp-servers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("notes.txt"), "remember the milk").unwrap();
    // The third is a policy for OAuth.
    let blocks = page.split("```yaml\n").skip(1).take(2);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    // As installed here, without a download.
    let installed = blocks.map(|block| {
        let command = "[npx, \"@modelcontextprotocol/server-filesystem\", /srv/project]";
        assert!(block.contains(command), "{block}");
        let program = program.display();
        let project = project.path().display();
        block
            .replace(command, &format!("[{program}, {project}]"))
            .replace(
                "inheritEnv: [PATH, HOME]",
                &format!("env: {{PATH: '{}'}}", std::env::var("PATH").unwrap()),
            )
    });
    let [bundle, policy] = &installed.collect::<Vec<_>>()[..] else {
        panic!("the page has a bundle and a policy");
    };
    let place = Place::with(bundle, policy).await.unwrap();
    assert_eq!(place.bundle.diagnostics(), []);
    let servers = McpServers::start(&place.bundle).await.unwrap();
    assert_eq!(servers.warnings(), Vec::<String>::new());
    assert_eq!(
        place.tools(),
        ["files__read_text_file", "files__list_directory"]
    );
    let notes = json!({"path": project.path().join("notes.txt")});
    let notes = place.output("files__read_text_file", notes).await;
    assert_eq!(notes["content"], json!("remember the milk"));
    let (code, message) = place
        .error("files__read_text_file", json!({"path": "/etc/passwd"}))
        .await;
    assert_eq!(code, "MCP_TOOL_ERROR");
    assert!(message.contains("Access denied"), "{message}");
    servers.close().await;
}
