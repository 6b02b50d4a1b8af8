//! Reads the files of BFCL (PyPI `bfcl-eval`), which `cargo xtask bench search` fetches.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost::ToolCatalogItem;

/// The variable with the folder of the files.
const FOLDER: &str = "TOOLHOST_BFCL";

/// The files with functions.
const FILES: [&str; 13] = [
    "live_multiple",
    "live_simple",
    "live_parallel",
    "live_parallel_multiple",
    "live_relevance",
    "live_irrelevance",
    "irrelevance",
    "multiple",
    "parallel",
    "parallel_multiple",
    "simple_java",
    "simple_javascript",
    "simple_python",
];

/// Longest name of a handler that leaves room for that of its Tool.
const HANDLER_MAX: usize = 40;

/// Longest name of a Tool.
const TOOL_MAX: usize = 20;

/// A request of a user.
pub(crate) struct Case {
    /// What the user wrote.
    pub(crate) query: String,
    /// Names of the functions that answer it, as the file has them. None answers an unanswerable one.
    right: Vec<String>,
    /// The functions given with it.
    pub(crate) given: Vec<ToolCatalogItem>,
}

impl Case {
    pub(crate) fn is_right(&self, item: &ToolCatalogItem) -> bool {
        // The source has the name that the file has.
        let source = item.source.as_ref();
        source.is_some_and(|source| self.right.contains(&source.name))
    }
}

pub(crate) struct Dataset {
    tools: Vec<ToolCatalogItem>,
    cases: HashMap<&'static str, Vec<Case>>,
}

impl Dataset {
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark, which its task tells where the files are"
    )]
    pub(crate) fn read() -> Result<Self, String> {
        let folder = std::env::var_os(FOLDER).map(PathBuf::from);
        let folder =
            folder.ok_or_else(|| format!("{FOLDER} is not set: run `cargo xtask bench search`"))?;
        let mut names = HashMap::new();
        let (mut tools, mut cases) = (Vec::new(), HashMap::new());
        let mut taken = HashSet::new();
        for file in FILES {
            let answers = answers(&folder, file)?;
            let mut of_file = Vec::new();
            for line in lines(&folder.join(format!("BFCL_v4_{file}.json")))? {
                let functions = line["function"].as_array().cloned().unwrap_or_default();
                let mut given = Vec::new();
                for function in &functions {
                    let name = function["name"].as_str().unwrap_or_default().to_owned();
                    let known = names.get(&name).cloned();
                    let tool = known.unwrap_or_else(|| tool_name(&name, &mut taken));
                    let item = item(&tool, &name, function)?;
                    if names.insert(name, tool).is_none() {
                        tools.push(item.clone());
                    }
                    given.push(item);
                }
                let id = line["id"].as_str().unwrap_or_default();
                let right = answers.get(id).cloned().unwrap_or_default();
                let query = query(&line);
                of_file.push(Case {
                    query,
                    right,
                    given,
                });
            }
            if !answers.is_empty() {
                of_file.retain(|case| case.right.len() == 1);
            }
            cases.insert(file, of_file);
        }
        Ok(Self { tools, cases })
    }

    /// The functions, distinct by name.
    pub(crate) fn tools(&self) -> &[ToolCatalogItem] {
        &self.tools
    }

    pub(crate) fn cases(&self, file: &str) -> &[Case] {
        self.cases.get(file).map_or(&[], Vec::as_slice)
    }

    /// The functions as often as it takes for so many tools, under other names.
    pub(crate) fn repeated(&self, count: usize) -> Vec<ToolCatalogItem> {
        let tools = self.tools.iter().cycle().take(count).enumerate();
        let renamed = tools.map(|(number, item)| {
            let round = number / self.tools.len();
            let name = format!("r{round}{}", item.name).parse();
            let mut item = item.clone();
            item.name = name.unwrap_or(item.name);
            item
        });
        renamed.collect()
    }
}

fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: Result<Vec<Value>, _> = lines.collect();
    lines.map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the names of the functions that answer each request. None for a file without answers.
fn answers(folder: &Path, file: &str) -> Result<HashMap<String, Vec<String>>, String> {
    let path = folder.join(format!("possible_answer/BFCL_v4_{file}.json"));
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let answers = lines(&path)?.into_iter().map(|line| {
        let calls = line["ground_truth"].as_array().into_iter().flatten();
        let names = calls.filter_map(|call| call.as_object()?.keys().next().cloned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        (line["id"].as_str().unwrap_or_default().to_owned(), names)
    });
    Ok(answers.collect())
}

/// Returns what the user wrote, without what the system said.
fn query(line: &Value) -> String {
    let turns = line["question"].as_array().into_iter().flatten();
    let messages = turns.flat_map(|turn| turn.as_array().into_iter().flatten());
    let of_user = messages.filter(|message| message["role"] == "user");
    let texts: Vec<&str> = of_user
        .filter_map(|message| message["content"].as_str())
        .collect();
    texts.join("\n")
}

/// Returns a tool's name for that of a function: `weather__get-current` for `weather.getCurrent`.
fn tool_name(function: &str, taken: &mut HashSet<String>) -> String {
    let (space, name) = function.rsplit_once('.').unwrap_or(("f", function));
    let part = |text: &str, longest: usize| {
        let mut part = String::new();
        for c in text.chars() {
            if c.is_ascii_uppercase() && part.ends_with(|c: char| c.is_ascii_lowercase()) {
                part.push('-');
            }
            let c = c.to_ascii_lowercase();
            part.push(if c.is_ascii_alphanumeric() { c } else { '-' });
        }
        let start: String = part.trim_matches('-').chars().take(longest).collect();
        start.trim_matches('-').to_owned()
    };
    let (space, name) = (part(space, TOOL_MAX), part(name, HANDLER_MAX));
    let names = (1..).map(|number| match number {
        1 => format!("{space}__{name}"),
        number => format!("{space}{number}__{name}"),
    });
    let mut free = names.filter(|name| taken.insert(name.clone()));
    free.next().unwrap_or_default()
}

fn item(tool: &str, function: &str, definition: &Value) -> Result<ToolCatalogItem, String> {
    let mut parameters = definition["parameters"].clone();
    // The files say `dict`.
    parameters["type"] = "object".into();
    let item = json!({
        "name": tool,
        "description": definition["description"],
        "parameters": parameters,
        "source": {"type": "config", "name": function},
    });
    serde_json::from_value(item).map_err(|error| format!("{function}: {error}"))
}
