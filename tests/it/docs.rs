//! Pages whose tables are generated from the code, and pages that cite tests.

mod readme_demo;

use std::fmt::Write;
use std::time::Duration;

use toolhost::Policy;
use toolhost_contract::{Locale, ToolErrorCode};
use toolhost_sandbox::{CompileLimits, Compiler, SandboxConfig};
use toolhost_tests::root;

/// Compares a page with its generated text; `UPDATE_DOCS=1` writes the page.
fn check(page: &str, generated: &str) {
    let path = root("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == generated,
        "docs/{page} is out of date: UPDATE_DOCS=1 cargo xtask test -- docs"
    );
}

#[test]
fn the_page_of_error_codes_matches_the_code() {
    let mut page = String::from(
        "# Error codes\n\n\
         Generated from the code table: `UPDATE_DOCS=1 cargo xtask test -- docs`.\n\n\
         A ToolResult's `error.code` is one of these, or a code of the handler's own \
         (`[A-Za-z0-9_.-]{1,64}`). A handler cannot use one of these, nor any code that begins with \
         `E_TOOL_`, `E_HOST`, `E_CONFIG_`, `E_COMPONENT_`, `E_MIDDLEWARE`, `AGENT_`, `IPC_` or \
         `CIRCULAR_`: it becomes `E_TOOL`. `E_CONFIG_…` and `E_COMPONENT_…` are findings of a bundle \
         when it loads; calls never have them.\n",
    );
    for code in ToolErrorCode::ALL {
        let (text, name) = (code.as_str(), code.error_name());
        let (english, korean) = (code.suggestion(Locale::En), code.suggestion(Locale::Ko));
        write!(page, "\n## {text}\n\n`{name}`. {english}\n\n> {korean}\n").unwrap();
    }
    check("errors.md", &page);
}

/// The fields of `SandboxConfig` that the tables describe, and three that are not limits.
const SANDBOX_FIELDS: [&str; 12] = [
    "live_calls",
    "parked_calls",
    "share_per_free",
    "describing",
    "waiting_calls",
    "queueing",
    "memory_bytes",
    "idle_memory_bytes",
    "compile",
    "compiler",
    "cache",
    "http",
];

/// Returns the names of the fields in the `{:#?}` text of a struct.
fn field_names(debug: &str) -> Vec<&str> {
    let fields = debug.lines().filter_map(|line| line.strip_prefix("    "));
    let own = fields.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    own.filter_map(|line| Some(line.split_once(':')?.0))
        .collect()
}

/// The page with the limits of calls, of the sandbox and of compiling.
fn limits() -> String {
    let mut page = String::from(
        "# Limits\n\n\
         Every limit, its default, and what happens beyond it. [SECURITY.md](../SECURITY.md) says what \
         they protect.\n\n\
         Generated from the code: `UPDATE_DOCS=1 cargo xtask test -- docs`.\n\n\
         ## Of a call\n\nKeys of a policy's `limits`. Sizes are written `64MiB`.\n\n\
         | key | default | a policy may set | what it counts | beyond it |\n|---|---|---|---|---|\n",
    );
    for limit in Policy::limits() {
        let (name, what, beyond) = (limit.name, limit.what, limit.beyond);
        let (default, range) = (limit.default_value(), limit.range());
        writeln!(
            page,
            "| `{name}` | {default} | {range} | {what} | {beyond} |"
        )
        .unwrap();
    }
    page.push_str(
        "\n## Over time\n\n\
         Keys of a policy's [`budgets`](policy.md#budgets), for an hour or a day. Without the key there is no limit. Beyond \
         it: `E_TOOL_BUDGET`.\n\n\
         | key | a policy may set | what it counts | when |\n|---|---|---|---|\n",
    );
    for kind in Policy::budget_kinds() {
        let (name, what, range) = (kind.name, kind.what, kind.range());
        let when = if kind.is_reserved() {
            "before the call"
        } else {
            "when the call ends"
        };
        writeln!(page, "| `{name}` | {range} | {what} | {when} |").unwrap();
    }
    // A new field fails here until it is added to a table.
    let debug = format!("{:#?}", SandboxConfig::default());
    assert_eq!(field_names(&debug), SANDBOX_FIELDS);
    let SandboxConfig {
        live_calls,
        parked_calls,
        share_per_free,
        describing,
        waiting_calls,
        queueing,
        memory_bytes,
        idle_memory_bytes,
        compile,
        ..
    } = SandboxConfig::default();
    let CompileLimits {
        bytes,
        functions,
        function_bytes,
        types,
        modules,
        globals,
        nesting,
        definitions,
        adapters,
        instance_bytes,
        elements,
        segments,
        initialiser_bytes,
        local_blocks,
        nested_loops,
        time,
        time_per_mib,
    } = compile;
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let seconds = |time: Duration| format!("{} s", time.as_secs());
    let table = |page: &mut String, title: &str, rows: &[(&str, String, &str)]| {
        write!(
            page,
            "\n## {title}\n\n| field | default | beyond it |\n|---|---|---|\n"
        )
        .unwrap();
        for (field, default, beyond) in rows {
            writeln!(page, "| `{field}` | {default} | {beyond} |").unwrap();
        }
    };
    table(
        &mut page,
        "Of all calls: `SandboxConfig`",
        &[
            ("live_calls", live_calls.to_string(), "a call waits"),
            ("waiting_calls", waiting_calls.to_string(), "`E_TOOL_BUSY`"),
            ("queueing", seconds(queueing), "`E_TOOL_BUSY`"),
            (
                "share_per_free",
                share_per_free.to_string(),
                "a tool waits that already runs this many times as many calls as there are free slots",
            ),
            (
                "parked_calls",
                parked_calls.to_string(),
                "the tool gets an error: it cannot wait for an agent",
            ),
            ("memory_bytes", mib(memory_bytes), "`E_TOOL_BUSY`"),
            (
                "idle_memory_bytes",
                mib(idle_memory_bytes),
                "memory is returned to the kernel after each call",
            ),
            (
                "describing",
                seconds(describing),
                "`E_COMPONENT_DESCRIBE_FAILED`",
            ),
        ],
    );
    let refused = "`E_COMPONENT_TOO_LARGE`";
    let process = Compiler::new("compiler", [""; 0]).address_space;
    table(
        &mut page,
        "Of a component: `CompileLimits` and `Compiler`",
        &[
            ("bytes", mib(bytes), refused),
            ("functions", functions.to_string(), refused),
            ("function_bytes", mib(function_bytes), refused),
            ("types", types.to_string(), refused),
            ("modules", modules.to_string(), refused),
            ("globals", globals.to_string(), refused),
            ("nesting", nesting.to_string(), refused),
            ("definitions", definitions.to_string(), refused),
            ("adapters", adapters.to_string(), refused),
            ("instance_bytes", mib(instance_bytes), refused),
            ("elements", elements.to_string(), refused),
            ("segments", segments.to_string(), refused),
            ("initialiser_bytes", mib(initialiser_bytes), refused),
            ("local_blocks", local_blocks.to_string(), refused),
            ("nested_loops", nested_loops.to_string(), refused),
            (
                "time, time_per_mib",
                format!("{}, and {} per MiB", seconds(time), seconds(time_per_mib)),
                refused,
            ),
            ("address_space", mib(process), refused),
        ],
    );
    page
}

#[test]
fn the_tables_of_limits_match_the_code() {
    check("limits.md", &limits());
}

#[test]
fn the_files_in_which_to_add_something_exist() {
    let page = std::fs::read_to_string(root("docs/design/adding.md")).unwrap();
    let spans = page.split('`').skip(1).step_by(2);
    let paths: Vec<_> = spans
        .filter(|span| span.contains('/') && !span.contains(' '))
        .collect();
    assert!(paths.len() > 40, "{paths:?}");
    for path in paths {
        let is_known = |part: &&str| !part.contains("LANGUAGE") && !part.contains("NAME");
        let known: Vec<_> = path.split('/').take_while(is_known).collect();
        let known = known.join("/");
        // Paths in crates of the host leave out their folder.
        let exists = root(&known).exists() || root(&format!("host/{known}")).exists();
        assert!(exists, "adding.md: {path}");
    }
}

/// The source folder of each crate or test binary that the pages name.
const SOURCES: [(&str, &str); 22] = [
    ("toolhost-contract", "host/toolhost-contract/src"),
    ("toolhost-sandbox", "host/toolhost-sandbox/src"),
    ("toolhost-store", "host/toolhost-store/src"),
    ("toolhost-agents", "host/toolhost-agents/src"),
    ("toolhost-files", "host/toolhost-files/src"),
    ("toolhost-egress", "host/toolhost-egress/src"),
    ("toolhost-runtime", "host/toolhost-runtime/src"),
    ("toolhost-schema", "host/toolhost-schema/src"),
    ("toolhost-manifest", "host/toolhost-manifest/src"),
    ("toolhost", "host/toolhost/src"),
    ("toolhost-rpc", "host/toolhost-rpc/src"),
    ("toolhost-mcp", "host/toolhost-mcp/src"),
    ("cli", "host/toolhost-cli/tests/cli"),
    ("bin/toolhost", "host/toolhost-cli/src"),
    ("it", "tests/it"),
    ("mcp-client", "host/toolhost-mcp-client/tests/it"),
    ("toolhost-mcp-client", "host/toolhost-mcp-client/src"),
    ("toolhost-oauth", "host/toolhost-oauth/src"),
    ("oauth", "host/toolhost-oauth/tests/it"),
    ("toolhost-package", "host/toolhost-package/src"),
    ("toolhost-testing", "host/toolhost-testing/src"),
    ("toolhost-changesets", "host/toolhost-changesets/src"),
];

const LEVELS: [&str; 4] = ["MUST", "MUST NOT", "SHOULD", "MAY"];

/// The number of rules of each document, by level and by section. `12.2` is a rule in the
/// prose of a section, `12.2:4` are four numbered rules.
/// Each MUST, MUST NOT, SHOULD or MAY in a document is one rule, whether in brackets after
/// a sentence, in the level column of a table, or in a comment of an interface (in reading order).
/// tool-module-v1 has no levels: its numbered rules count.
const RULES: [(&str, [usize; 4], &str); 5] = [
    (
        "tool-spec-v2",
        [45, 4, 6, 3],
        "2.1:4 2.2:4 2.3:4 2.4:5 2.5:4 2.6:7 2.7:4 4.3:6 5.1 5.2:4 6.2 7.2 9.1:4 10.1:2 10.3 11.3:6",
    ),
    (
        "tool-spec-v2-earlier",
        [27, 3, 6, 2],
        "1.2:4 2.3:6 3.1 3.2:4 4.2 5.2 5.3:4 7.1:4 8.1:2 8.3 8.3:4 9.3:6",
    ),
    (
        "requirements-v2",
        [21, 2, 4, 2],
        "12.1:4 12.2 12.2:4 12.3:4 12.4.1 12.4.1:4 12.5 12.5:4 12.6.1:6",
    ),
    ("tool-module-v1", [4, 0, 0, 0], "rules:4"),
    (
        "requirements-v1",
        [28, 1, 8, 2],
        "12.1 12.2:4 12.3.1 12.3.1:4 12.4 12.4:3 12.5:4 12.6 12.6.1:6 12.6.3:4 12.6.4:5 12.6.5:2 \
         12.6.6 12.6.6:2",
    ),
];

/// A row of a table of `docs/spec.md`.
#[derive(Debug)]
struct Row<'a> {
    document: &'a str,
    places: Vec<&'a str>,
    level: &'a str,
    held_by: &'a str,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let mut document = "";
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            document = title;
        } else if line.starts_with("| §") {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let &[places, level, _, held_by] = &*cells else {
                panic!("a row has four cells: {line}");
            };
            rows.push(Row {
                document,
                places: places.split(", ").collect(),
                level,
                held_by,
            });
        }
    }
    rows
}

/// Whether the tests, the reference or the status of a row is valid.
fn is_held(row: &Row<'_>, rows: &[Row<'_>]) -> bool {
    if let Some(same) = row.held_by.strip_prefix("as ") {
        let (document, place) = same.split_once(' ').unwrap_or_default();
        let of_level = rows.iter().filter(|other| other.level == row.level);
        let mut others = of_level.filter(|other| other.document == document);
        return others.any(|other| other.places.contains(&place) && other.held_by.starts_with('`'));
    }
    if row.held_by == "open" {
        let may_be = |place: &&str| place.starts_with("§12.4") || place.starts_with("§12.6");
        return row.document == "requirements-v1" && row.places.iter().all(may_be);
    }
    let is_removed = row.document != "tool-spec-v2" && row.held_by.starts_with("removed: ");
    is_removed || row.held_by.split(", ").all(is_test)
}

/// Whether a citation such as "`it execute::failures::name`" names a test that is not ignored.
fn is_test(quoted: &str) -> bool {
    let (of, path) = quoted.trim_matches('`').split_once(' ').unwrap_or_default();
    let (module, name) = path.rsplit_once("::").unwrap_or_default();
    if let Some(language) = of.strip_prefix("kit-") {
        return is_test_of_kit(language, module, name);
    }
    let Some((_, source)) = SOURCES.iter().find(|(known, _)| *known == of) else {
        return false;
    };
    let read = |module: &str| {
        let file = format!("{source}/{}.rs", module.replace("::", "/"));
        std::fs::read_to_string(root(&file))
    };
    // A `mod tests` has its own file, or is in the file that it tests.
    let inline = module.strip_suffix("::tests").unwrap_or(module);
    let text = read(module).or_else(|_| read(inline)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let function = format!("fn {name}(");
    let is_function = |line: &&str| line.trim_start_matches("async ").starts_with(&function);
    let before = lines.iter().position(is_function).unwrap_or(0);
    let is_above = |line: &&&str| line.starts_with("#[") || line.starts_with("//");
    let above: Vec<_> = lines[..before].iter().rev().take_while(is_above).collect();
    let has = |beginning: &str| above.iter().any(|line| line.starts_with(beginning));
    (has("#[test]") || has("#[tokio::test")) && !has("#[ignore")
}

/// Whether `guest-sdk` has a test that its own runner runs. Names in TypeScript have spaces.
fn is_test_of_kit(language: &str, module: &str, name: &str) -> bool {
    let (file, test) = match language {
        "python" => (format!("{module}.py"), format!("    def test_{name}(self)")),
        "typescript" => {
            let name = name.replace('_', " ");
            (format!("{module}.test.mjs"), format!("test('{name}', "))
        }
        _ => return false,
    };
    let text = std::fs::read_to_string(root(&format!("guest-sdk/{language}/test/{file}")));
    text.is_ok_and(|text| text.lines().any(|line| line.starts_with(&test)))
}

/// Number of groups of attacks in `docs/hostile.md`.
const HOSTILE_GROUPS: usize = 43;

#[test]
fn every_attack_cites_existing_tests() {
    let page = std::fs::read_to_string(root("docs/hostile.md")).unwrap();
    let groups: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(groups.len(), HOSTILE_GROUPS);
    for (group, number) in groups.iter().zip(1..) {
        assert!(group.starts_with(&format!("{number}. ")), "{group}");
        let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| attack |");
        let rows: Vec<&str> = group.lines().filter(is_row).collect();
        assert!(
            !rows.is_empty() || group.contains("\nNot tested: "),
            "{group}"
        );
        for row in rows {
            let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let &[_, _, held_by, _] = &*cells else {
                panic!("a row has four cells: {row}");
            };
            let missing: Vec<_> = held_by.split(", ").filter(|test| !is_test(test)).collect();
            assert!(missing.is_empty(), "group {number}: {missing:?} in {row}");
        }
    }
}

#[test]
fn every_promise_cites_existing_tests() {
    let page = std::fs::read_to_string(root("SECURITY.md")).unwrap();
    let (_, promises) = page.split_once("## What is promised").unwrap();
    let (promises, _) = promises.split_once("\n## ").unwrap();
    let rows: Vec<&str> = promises
        .lines()
        .filter(|line| line.starts_with("| **"))
        .collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let (_, held_by) = row.trim_matches('|').rsplit_once(" | ").unwrap();
        assert!(held_by.trim().split(", ").all(is_test), "{row}");
    }
}

#[test]
fn every_rule_of_the_specification_cites_existing_tests() {
    let page = std::fs::read_to_string(root("docs/spec.md")).unwrap();
    let rows = rows(&page);
    let missing: Vec<_> = rows.iter().filter(|row| !is_held(row, &rows)).collect();
    assert!(missing.is_empty(), "docs/spec.md: {missing:#?}");
}

#[test]
fn every_rule_of_the_specification_has_one_row() {
    let page = std::fs::read_to_string(root("docs/spec.md")).unwrap();
    let rows = rows(&page);
    for (document, levels, sections) in RULES {
        let mut expected = Vec::new();
        for section in sections.split(' ') {
            match section.split_once(':') {
                None => expected.push(format!("§{section}")),
                Some((section, count)) => {
                    let numbers = 1..=count.parse::<usize>().unwrap();
                    expected.extend(numbers.map(|number| format!("§{section}({number})")));
                }
            }
        }
        let of_level = |level| {
            let rows = rows.iter();
            let rows = rows.filter(move |row| (row.document, row.level) == (document, level));
            rows.flat_map(|row| row.places.clone())
        };
        let mut found: Vec<_> = LEVELS.into_iter().flat_map(of_level).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{document}");
        let counts = LEVELS.map(|level| of_level(level).count());
        assert_eq!(counts, levels, "{document}");
    }
}
