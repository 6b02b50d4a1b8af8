//! What all peers do: the same inputs, and what their outputs contain.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost_tests::root;

/// Cities of the orders in the JSON document.
const CITIES: usize = 7;

/// Orders in the JSON document, of some 120 bytes each.
const ORDERS: usize = 625;

/// Rows of the CSV file.
const ROWS: usize = 500;

/// Calls of the program.
pub(super) const CALLS: u32 = 1_000;

/// The name of the work that is a program, which calls a tool.
pub(super) const PROGRAM: &str = "program";

const QUERY: &str = "map(select(.paid)) | group_by(.city) \
    | map({city: .[0].city, total: (map(.price * .count) | add)})";

/// One work.
#[derive(Clone)]
pub(super) struct Work {
    /// A short name, for options and plots.
    pub(super) key: &'static str,
    pub(super) title: String,
    /// Its name in the scripts of other runtimes.
    pub(super) in_scripts: &'static str,
    /// The bundle of the tool that does it, in `guest-examples`.
    pub(super) bundle: &'static str,
    /// The component of that tool, in the bundle's `.toolhost`.
    component: &'static str,
    pub(super) tool: &'static str,
    pub(super) input: Value,
    /// What the JSON of its output contains.
    pub(super) expects: String,
    /// The most calls in flight that are measured. 256 calls of a large tool take more memory than the
    /// default settings grant its calls together.
    pub(super) most_in_flight: usize,
}

impl Work {
    /// Returns the name of the handler in the component.
    pub(super) fn handler(&self) -> &'static str {
        self.tool.split_once("__").unwrap().1
    }

    pub(super) fn component(&self) -> Vec<u8> {
        let folder = root("guest-examples").join(self.bundle).join(".toolhost");
        std::fs::read(folder.join(self.component)).unwrap()
    }
}

/// Writes the files that the works read, and returns the works.
pub(super) fn all(workdir: &Path) -> Vec<Work> {
    let text = "some text of a file\n".repeat(4096 / 20) + "the last line";
    std::fs::write(workdir.join("text.txt"), &text).unwrap();
    let document = document();
    std::fs::write(workdir.join("orders.json"), document.to_string()).unwrap();
    std::fs::write(workdir.join("rows.csv"), rows()).unwrap();
    let mut works = vec![
        echo("echo-32", "echo of 32 bytes", 32),
        echo("echo-1k", "echo of 1 KB", 1_000),
        echo("echo-1m", "echo of 1 MB", 1_000_000),
    ];
    works.extend([
        file(
            "read",
            "read of a 4 KB file",
            json!({"path": "text.txt"}),
            "the last line",
        ),
        file(
            "write",
            "write of a 4 KB file",
            json!({"path": "written.txt", "content": text}),
            &text.len().to_string(),
        ),
    ]);
    works.extend([query(&document), replace(), count(), program()]);
    works
}

fn echo(key: &'static str, title: &str, bytes: usize) -> Work {
    let text = "0123456789abcdef".repeat(bytes / 16 + 1);
    let text = text.get(..bytes).unwrap().to_owned();
    Work {
        key,
        title: title.to_owned(),
        in_scripts: "echo",
        bundle: ".",
        component: "echo.wasm",
        tool: "echo__say",
        input: json!({"text": text}),
        expects: text,
        most_in_flight: if bytes > 100_000 { 16 } else { 256 },
    }
}

fn file(key: &'static str, title: &str, input: Value, expects: &str) -> Work {
    Work {
        key,
        title: title.to_owned(),
        in_scripts: key,
        bundle: ".",
        component: "file-system.wasm",
        tool: if key == "read" {
            "file-system__read"
        } else {
            "file-system__write"
        },
        input,
        expects: expects.to_owned(),
        most_in_flight: 256,
    }
}

fn query(document: &Value) -> Work {
    let first_city = document
        .as_array()
        .unwrap()
        .iter()
        .filter(|order| order["city"] == "city-0" && order["paid"] == true);
    let price = |order: &Value| order["price"].as_u64().unwrap() * order["count"].as_u64().unwrap();
    let total: u64 = first_city.map(price).sum();
    Work {
        key: "query",
        title: format!(
            "jq query of {} KB of JSON",
            document.to_string().len() / 1_000
        ),
        in_scripts: "query",
        bundle: "base",
        component: "json-query.wasm",
        tool: "json-query__query",
        input: json!({"query": QUERY, "path": "orders.json"}),
        expects: format!(r#"{{"city":"city-0","total":{total}}}"#),
        most_in_flight: 16,
    }
}

/// The TypeScript tool.
fn replace() -> Work {
    let text = "some text ".repeat(20);
    Work {
        key: "replace",
        title: "TypeScript tool, `text-transform__replace`".to_owned(),
        in_scripts: "replace",
        bundle: "typescript/text-transform",
        component: "text-transform.wasm",
        tool: "text-transform__replace",
        expects: text.replace("text", "words"),
        input: json!({"text": text, "find": "text", "with": "words"}),
        most_in_flight: 16,
    }
}

/// The Python tool.
fn count() -> Work {
    let first = ROWS.div_ceil(7);
    Work {
        key: "count",
        title: format!("Python tool, `csv-stats__count` of {ROWS} rows"),
        in_scripts: "count",
        bundle: "python/csv-stats",
        component: "csv-stats.wasm",
        tool: "csv-stats__count",
        input: json!({"path": "rows.csv", "by": "kind"}),
        expects: format!(r#"{{"value":"kind-0","count":{first}}}"#),
        most_in_flight: 16,
    }
}

/// A program that calls a tool.
fn program() -> Work {
    let input = json!({"calls": CALLS, "text": "hello"});
    Work {
        key: PROGRAM,
        title: "program that makes 1,000 calls of an echo".to_owned(),
        in_scripts: PROGRAM,
        bundle: "typescript/javascript",
        component: "javascript.wasm",
        tool: "javascript__script",
        expects: "hello".to_owned(),
        input,
        most_in_flight: 1,
    }
}

fn document() -> Value {
    let orders = (0..ORDERS).map(|number| {
        json!({
            "id": number,
            "customer": format!("customer-{}", number % 40),
            "city": format!("city-{}", number % CITIES),
            "price": 100 + number * 37 % 900,
            "count": 1 + number % 5,
            "paid": number % 3 != 0,
            "note": "to the door, please",
        })
    });
    orders.collect()
}

fn rows() -> String {
    let mut csv = String::from("n,kind\n");
    for row in 0..ROWS {
        writeln!(csv, "{row},kind-{}", row % 7).unwrap();
    }
    csv
}

/// Returns the folders that a CPython needs to import the Python tool.
pub(super) fn python_path() -> String {
    let folder = |path: &str| -> PathBuf { root(path) };
    let (tool, sdk) = (
        folder("guest-examples/python/csv-stats"),
        folder("guest-sdk/python/sdk"),
    );
    format!("{}:{}", tool.display(), sdk.display())
}
