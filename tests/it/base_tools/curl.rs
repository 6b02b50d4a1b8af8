//! `curl` and `wget` of the shell against real servers on loopback.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};
use toolhost::tool::Denial;
use toolhost_tests::test_host::{TestHost, open_step, tool_call};

use super::output;
use crate::http::server::{Server, ok};

/// Loads the shell with a policy that allows these origins.
async fn shell(allow: &[String]) -> TestHost {
    let policy = json!({"tools": {"bash": {"http": {"allow": allow}}}}).to_string();
    TestHost::with_tools(&[("bash", "bash", &["exec"])], &policy).await
}

/// Runs a command line in a new folder with these files.
async fn run(host: &TestHost, command: &str, files: &[(&str, &str)]) -> (Value, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let workdir = host.host.workdir(dir.path()).unwrap();
    let step = open_step(&host.agent, "instance", &workdir).await;
    let call = tool_call("bash__exec", json!({"command": command}));
    let result = step.execute_without_message(call).await;
    (output(&result).clone(), dir)
}

/// Answers by the path of a request.
fn server() -> Server {
    Server::does(|request, stream| {
        let mut words = request.split(' ');
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let status = |status: &str, headers: &str, body: &str| {
            let length = body.len();
            let body = if method == "HEAD" { "" } else { body };
            format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
        };
        let (_, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        let answer = match path.split('?').next().unwrap_or_default() {
            "/404" => status("404 Not Found", "", "nothing\n"),
            "/503" => status("503 Busy", "retry-after: 0\r\n", "busy\n"),
            "/r" => status(
                "302 Found",
                "location: /page\r\nset-cookie: id=1; path=/\r\n",
                "moved\n",
            ),
            "/307" => status("307 Moved", "location: /echo\r\n", ""),
            "/loop" => status("302 Found", "location: /loop\r\n", ""),
            "/name" => status(
                "200 OK",
                "content-disposition: attachment; filename=\"../named.txt\"\r\n",
                "named\n",
            ),
            "/range" => status(
                "206 Partial Content",
                "content-range: bytes 3-5/6\r\n",
                "DEF",
            ),
            "/empty" => status("200 OK", "", ""),
            "/cut" => "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfive\n".to_owned(),
            "/nothing" => String::new(),
            "/echo" => status("200 OK", "", &request.replace("\r\n", "\n")),
            "/body" => status("200 OK", "", body),
            "/method" => status("200 OK", "", &format!("{method} {path}\n")),
            "/gzip" => {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 26\r\n\r\n";
                let _sent = stream.write_all(head.as_bytes());
                // `printf 'hello\n' | gzip -n`.
                let body = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\0\x20\x30\x3a\x36\x06\0\0\0";
                let _sent = stream.write_all(body);
                return;
            }
            _ => status(
                "200 OK",
                "content-type: text/plain\r\netag: \"x\"\r\n",
                "page\n",
            ),
        };
        let _sent = stream.write_all(answer.as_bytes());
    })
}

/// A command line, in which `$U` is the server's origin: its output, a text in stderr, its exit code.
type Row = (&'static str, &'static str, &'static str, i64);

const ROWS: &[Row] = &[
    ("curl -s $U/page", "page\n", "", 0),
    ("curl $U/page | wc -c", "5\n", "", 0),
    ("curl -s $U/a $U/{b,c} $U/[1-2] | wc -l", "5\n", "", 0),
    ("curl -sS $U/404", "nothing\n", "", 0),
    (
        "curl -sS -f $U/404",
        "",
        "curl: (22) The requested URL returned error: 404\n",
        22,
    ),
    ("curl -s -f $U/404", "", "", 22),
    ("curl -sS --fail-with-body $U/404", "nothing\n", "(22)", 22),
    ("curl -fsSL $U/404 -o x; echo $?; ls", "22\nf\n", "(22)", 0),
    (
        "curl -s -o /dev/null -w '%{http_code}\\n' $U/404",
        "404\n",
        "",
        0,
    ),
    (
        "curl -s -o p -w '%{http_code} %{size_download} %{content_type} %{filename_effective} %{num_redirects}\\n' -L $U/r; cat p",
        "200 5 text/plain p 1\npage\n",
        "",
        0,
    ),
    (
        "curl -s -w '%{json}' -o p $U/page | jq -c '[.http_code,.method,.scheme,.exitcode,.errormsg,.size_download]'",
        "[200,\"GET\",\"HTTP\",0,null,5]\n",
        "",
        0,
    ),
    (
        "curl -s -o p -w '%header{etag} %{stderr}%{bogus}to stderr' $U/page",
        "\"x\" ",
        "curl: unknown --write-out variable: 'bogus'\nto stderr",
        0,
    ),
    (
        "curl -sI $U/page",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\n",
        "",
        0,
    ),
    (
        "curl -si $U/404 | head -1",
        "HTTP/1.1 404 Not Found\r\n",
        "",
        0,
    ),
    (
        "curl -sD h -o b $U/page; head -1 h; cat b",
        "HTTP/1.1 200 OK\r\npage\n",
        "",
        0,
    ),
    ("curl -s $U/r", "moved\n", "", 0),
    (
        "curl -sL -D - $U/r | grep -c HTTP/1.1; curl -sD - $U/page | tail -1",
        "2\npage\n",
        "",
        0,
    ),
    ("curl -sLi $U/r | grep -c HTTP/1.1", "2\n", "", 0),
    (
        "curl -sS -L --max-redirs 2 $U/loop",
        "",
        "curl: (47) Maximum (2) redirects followed\n",
        47,
    ),
    (
        "curl -s -o /dev/null -w '%{redirect_url}' $U/r | grep -o '/page$'",
        "/page\n",
        "",
        0,
    ),
    (
        "curl -sL -c jar $U/r; tail -1 jar | cut -f 3-7; curl -sb jar $U/echo | grep -i ^cookie",
        "page\n/\tFALSE\t0\tid\t1\ncookie: id=1\n",
        "",
        0,
    ),
    (
        "curl -s -b 'a=1; b=2' $U/echo | grep -i ^cookie",
        "cookie: a=1; b=2\n",
        "",
        0,
    ),
    (
        "curl -s -d a=1 -d b=2 --data-urlencode 'c=x y&z' $U/body",
        "a=1&b=2&c=x+y%26z",
        "",
        0,
    ),
    (
        "curl -s -d @f --data-binary @f --data-raw @f $U/body",
        "onetwo&one\ntwo\n&@f",
        "",
        0,
    ),
    (
        "echo '{\"a\":1}' | curl -s -d @- $U/body",
        "{\"a\":1}",
        "",
        0,
    ),
    (
        "curl -s --json '{\"a\":1}' $U/echo | grep -iE '^(POST|content-type|accept)' | sort -f",
        "accept: application/json\ncontent-type: application/json\nPOST /echo HTTP/1.1\n",
        "",
        0,
    ),
    (
        "curl -s -G -d a=1 --data-urlencode 'b= ' $U/method?x",
        "GET /method?x&a=1&b=+\n",
        "",
        0,
    ),
    (
        "curl -s -X DELETE $U/method; curl -s -X PURGE $U/method",
        "DELETE /method\nPURGE /method\n",
        "",
        0,
    ),
    (
        "curl -s -T f $U/method; curl -s -T f $U/body; curl -s -T f $U/method/",
        "PUT /method\none\ntwo\npage\n",
        "",
        0,
    ),
    (
        "curl -sL -d a=1 $U/307 | sed -n '1p;$p'",
        "POST /echo HTTP/1.1\na=1",
        "",
        0,
    ),
    ("curl -sL -d a=1 $U/r", "page\n", "", 0),
    (
        "curl -s -F 'a=1;type=text/x' -F 'f=@f;filename=q.txt' -F 'g=<f' $U/body | tr -d '\\r' | grep -v -- ^--toolhost",
        "Content-Disposition: form-data; name=\"a\"\nContent-Type: text/x\n\n1\nContent-Disposition: form-data; name=\"f\"; filename=\"q.txt\"\nContent-Type: application/octet-stream\n\none\ntwo\n\nContent-Disposition: form-data; name=\"g\"\n\none\ntwo\n\n",
        "",
        0,
    ),
    (
        "curl -s -H 'X-A: 1' -H 'Accept:' -H 'X-Empty;' -A me -e there -u me:pw -r 0-2 $U/echo | grep -E '^(a|r|u|x)' | sort | tr '\\n' '|'",
        "authorization: Basic bWU6cHc=|range: bytes=0-2|referer: there|user-agent: me|x-a: 1|x-empty: |",
        "",
        0,
    ),
    (
        "curl -s --oauth2-bearer T $U/echo | grep -i ^auth",
        "authorization: Bearer T\n",
        "",
        0,
    ),
    (
        "curl -s --compressed $U/gzip; curl -s $U/gzip | wc -c",
        "hello\n26\n",
        "",
        0,
    ),
    (
        "curl -sO $U/dir/file.txt && cat file.txt; curl -sS -O $U/; echo $?",
        "page\n23\n",
        "no length",
        0,
    ),
    (
        "curl -sOJ $U/name; ls; curl -sSOJ $U/name",
        "f\nnamed.txt\n",
        "named.txt exists",
        23,
    ),
    (
        "curl -s --create-dirs --output-dir a/b -o '#1.txt' \"$U/{x,y}\"; ls a/b; curl -sS -o no/x $U/",
        "x.txt\ny.txt\n",
        "curl: (23)",
        23,
    ),
    (
        "curl -s -o /tmp/x $U/page; cat /tmp/x; curl -s $U/page > f; cat f",
        "page\npage\n",
        "",
        0,
    ),
    (
        "curl -s -o e $U/empty; test -f e && echo there",
        "there\n",
        "",
        0,
    ),
    (
        "printf ABC > r; curl -s -C - -o r $U/range; cat r",
        "ABCDEF",
        "",
        0,
    ),
    ("curl -sS $U/cut", "five\n", "(18)", 18),
    (
        "curl -sS $U/nothing",
        "",
        "curl: (52) Empty reply from server\n",
        52,
    ),
    ("curl -sS --max-filesize 3 $U/page", "", "curl: (63)", 63),
    (
        "curl -sS --retry 2 --retry-delay 0 -f $U/503",
        "",
        "curl: (22)",
        22,
    ),
    ("curl -sS 'http://a b/'", "", "curl: (3)", 3),
    (
        "curl -sS ftp://host/x",
        "",
        "curl: (1) Protocol \"ftp\" not supported",
        1,
    ),
    ("curl --proto =https -sS $U/page", "", "curl: (1)", 1),
    ("curl -sS -d @missing $U/body", "", "curl: (26)", 26),
    ("curl", "", "try 'curl --help'", 2),
    ("curl -s", "", "no URL specified", 2),
    ("curl -k $U/page", "", "--insecure cannot be", 2),
    ("curl -x proxy:1 $U/page", "", "--proxy cannot be", 2),
    (
        "curl --trace t $U/page",
        "",
        "--trace is not implemented here; these are:",
        2,
    ),
    ("curl --max-time=1 $U/page", "", "not implemented", 2),
    (
        "curl -d a -I $U/page",
        "",
        "only select one HTTP request method",
        2,
    ),
    (
        "curl -sS -H 'Host: other' $U/page",
        "",
        "`host` cannot be sent",
        2,
    ),
    (
        "curl -sv $U/page -o /dev/null 2>&1 | grep -cE '^[<>] (GET /page HTTP/1.1|HTTP/1.1 200 OK)'",
        "2\n",
        "",
        0,
    ),
    (
        "wget -q $U/page && cat page; wget -q $U/page; ls",
        "page\nf\npage\npage.1\n",
        "",
        0,
    ),
    (
        "wget -qO- $U/r; wget -O x -nv $U/page; cat x",
        "page\npage\n",
        "URL:",
        0,
    ),
    (
        "wget $U/404; echo $?; ls; wget -q --spider $U/page; echo $?",
        "8\nf\n0\n",
        "ERROR 404: Not Found.",
        0,
    ),
    (
        "wget -qO- --post-data a=1 --header 'X-A: 2' $U/echo | grep -E '^(POST|x-a|a=1)'",
        "POST /echo HTTP/1.1\nx-a: 2\na=1\n",
        "",
        0,
    ),
    ("wget -r $U/page", "", "not implemented", 2),
    ("wget --no-check-certificate $U/page", "", "cannot be", 2),
];

#[tokio::test]
async fn command_lines_have_the_results_of_the_table() {
    let server = server();
    let host = shell(&[server.origin()]).await;
    let mut failures = Vec::new();
    for (command, stdout, stderr, code) in ROWS {
        let line = format!("U={}\n{command}", server.origin());
        let (output, _dir) = run(&host, &line, &[("f", "one\ntwo\n")]).await;
        let is_same = output["stdout"] == *stdout
            && output["stderr"].as_str().unwrap().contains(stderr)
            && (!stderr.is_empty() || output["stderr"] == "")
            && output["exitCode"] == *code;
        if !is_same {
            failures.push(format!("{command}: {output}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn a_request_beyond_the_policy_reaches_no_server() {
    let closed = Server::says(&ok("never"));
    let origin = closed.origin();
    let open = Server::says(&format!(
        "HTTP/1.1 302 Found\r\nlocation: {origin}/secret\r\ncontent-length: 0\r\n\r\n"
    ));
    let allowed = shell(&[open.origin()]).await;
    let none = shell(&[]).await;
    for (host, command) in [
        (&none, format!("curl -sS {origin}")),
        (&none, format!("curl -sS -o x -d secret {origin}")),
        (&none, format!("wget -O - {origin}")),
        (&allowed, format!("curl -sS {origin}")),
        (&allowed, format!("curl -sSL -u me:pw {}", open.origin())),
        (&allowed, format!("wget -O- {}", open.origin())),
    ] {
        let (output, dir) = run(host, &command, &[]).await;
        let code = if command.starts_with("curl") { 7 } else { 4 };
        assert_eq!(output["exitCode"], code, "{command}: {output}");
        assert_eq!(output["stdout"], "", "{command}");
        let advice = format!("`--allow-http {origin}`");
        assert!(
            output["stderr"].as_str().unwrap().contains(&advice),
            "{output}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{command}");
    }
    assert_eq!(closed.accepted(), 0);
}

#[tokio::test]
async fn secrets_stay_with_the_origin_that_they_are_for() {
    let other = Server::echo();
    let first = Server::says(&format!(
        "HTTP/1.1 302 Found\r\nlocation: {}/next\r\ncontent-length: 0\r\n\r\n",
        other.origin()
    ));
    let host = shell(&[first.origin(), other.origin()]).await;
    let (one, two) = (first.origin(), other.origin());
    let user = one.replace("http://", "http://me:pw@");
    for command in [
        format!("curl -sL -u me:pw {one}"),
        format!("curl -sL -b 'a=1' -H 'Cookie: b=2' --oauth2-bearer T -H 'X-Api-Key: k' {one}"),
        format!("curl -s {user} {two}"),
        format!("wget -qO- {user} {two}"),
        format!("wget -qO- --user me --password pw {one}"),
    ] {
        let (output, _dir) = run(&host, &command, &[]).await;
        let stdout = output["stdout"].as_str().unwrap().to_lowercase();
        assert!(stdout.starts_with("get /"), "{command}: {output}");
        for secret in ["authorization", "cookie", "x-api-key"] {
            assert!(!stdout.contains(secret), "{command}: {output}");
        }
    }
    let sent = first.requests().join("\n").to_lowercase();
    assert_eq!(
        sent.matches("authorization: basic bwu6chc=").count(),
        4,
        "{sent}"
    );
    assert!(
        sent.contains("cookie: b=2; a=1") && sent.contains("authorization: bearer t"),
        "{sent}"
    );
    let command = format!("curl -sL --location-trusted -u me:pw {one} | grep -c '^authorization'");
    let (output, _dir) = run(&host, &command, &[]).await;
    assert_eq!(output["stdout"], "1\n", "{output}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_ends_with_the_time_of_the_command_or_the_shell() {
    let server = Server::does(|request, stream| {
        if request.starts_with("GET /half") {
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf\n");
            let _sent = stream.flush();
        }
        let mut byte = [0];
        let _closed = std::io::Read::read(stream, &mut byte);
    });
    let host = shell(&[server.origin()]).await;
    let origin = server.origin();
    for (command, stdout, stderr) in [
        (
            format!("curl -sS -m 0.3 {origin}/"),
            "",
            "with 0 bytes received",
        ),
        (
            format!("curl -sS -m 0.3 {origin}/half"),
            "half\n",
            "with 5 out of 10 bytes received",
        ),
    ] {
        let (output, _dir) = run(&host, &command, &[]).await;
        assert_eq!(output["exitCode"], 28, "{output}");
        assert_eq!(output["stdout"], stdout, "{output}");
        let said = output["stderr"].as_str().unwrap();
        assert!(
            said.starts_with("curl: (28) Operation timed out after ") && said.contains(stderr),
            "{said}"
        );
    }
    let args = json!({"command": format!("echo before; curl -sS {origin}/; echo after"), "timeoutMs": 400});
    let result = host.call("bash__exec", args).await;
    let output = output(&result);
    assert_eq!(
        (&output["timedOut"], &output["stdout"]),
        (&json!(true), &json!("before\n")),
        "{output}"
    );
}

#[tokio::test]
async fn a_large_body_is_written_to_a_file_while_it_arrives() {
    let bytes = 40 << 20;
    let server = Server::does(move |_, stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
        let _sent = stream.write_all(head.as_bytes());
        for _ in 0..bytes >> 16 {
            let _sent = stream.write_all(&[b'x'; 1 << 16]);
        }
    });
    let policy = json!({"tools": {"bash": {"http": {"allow": [server.origin()]}, "limits": {"memoryBytes": 32 << 20}}}});
    let host = TestHost::with_tools(&[("bash", "bash", &["exec"])], &policy.to_string()).await;
    let (output, dir) = run(
        &host,
        &format!("curl -sS -o big {0}; stat -c %s big", server.origin()),
        &[],
    )
    .await;
    assert_eq!(output["stdout"], "41943040\n", "{output}");
    assert_eq!(fs::metadata(dir.path().join("big")).unwrap().len(), bytes);
}

#[tokio::test]
async fn the_requests_of_a_command_are_counted_and_denials_recorded() {
    let server = server();
    let host = shell(&[server.origin()]).await;
    let command = format!(
        "curl -s {0}/page; curl -sL {0}/r; curl -s http://denied.example",
        server.origin()
    );
    let result = host.call("bash__exec", json!({"command": command})).await;
    assert_eq!(output(&result)["exitCode"], 7);
    let usage = result.usage();
    assert_eq!(usage.http_requests, 3);
    let denied = "GET http://denied.example/".to_owned();
    assert_eq!(usage.denials, [Denial::HttpRequest(denied)]);
}
