//! Reads the files of BFCL (PyPI `bfcl-eval`), which `cargo xtask bench search` fetches.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost::{ToolCatalogItem, ToolName};

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
        self.right.iter().any(|name| name == function(item))
    }

    /// Whether one of the functions given with it is given with another request too.
    pub(crate) fn shares_functions(&self, other: &Self) -> bool {
        let mut given = self.given.iter();
        given.any(|one| other.given.iter().any(|it| function(it) == function(one)))
    }
}

/// Returns the name of a function as the files have it.
fn function(item: &ToolCatalogItem) -> &str {
    item.source.as_ref().map_or("", |source| &source.name)
}

pub(crate) struct Dataset {
    /// All definitions: the files have many functions several times, in other words.
    definitions: Vec<ToolCatalogItem>,
    /// Names of the tools that are the first definition of a function.
    firsts: HashSet<ToolName>,
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
        let mut tools: HashMap<String, ToolCatalogItem> = HashMap::new();
        let (mut definitions, mut cases) = (Vec::new(), HashMap::new());
        let (mut taken, mut functions) = (HashSet::new(), HashSet::new());
        let mut firsts = HashSet::new();
        for file in FILES {
            let answers = answers(&folder, file)?;
            let mut of_file = Vec::new();
            for line in lines(&folder.join(format!("BFCL_v4_{file}.json")))? {
                let mut given = Vec::new();
                for definition in line["function"].as_array().into_iter().flatten() {
                    let text = definition.to_string();
                    if let Some(tool) = tools.get(&text) {
                        given.push(tool.clone());
                        continue;
                    }
                    let name = definition["name"].as_str().unwrap_or_default();
                    let tool = item(&tool_name(name, &mut taken), name, definition)?;
                    if functions.insert(name.to_owned()) {
                        firsts.insert(tool.name.clone());
                    }
                    definitions.push(tool.clone());
                    given.push(tool.clone());
                    tools.insert(text, tool);
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
        Ok(Self {
            definitions,
            firsts,
            cases,
        })
    }

    /// All definitions of functions.
    pub(crate) fn definitions(&self) -> &[ToolCatalogItem] {
        &self.definitions
    }

    /// Number of functions, distinct by name.
    pub(crate) fn functions(&self) -> usize {
        self.firsts.len()
    }

    /// Whether a definition is one of those that a request is searched among: one of each function. It is the one given
    /// with the request, if there is one, and otherwise the first of the files.
    pub(crate) fn is_among(&self, case: &Case, item: &ToolCatalogItem) -> bool {
        let mut given = case.given.iter();
        match given.find(|given| function(given) == function(item)) {
            Some(given) => given.name == item.name,
            None => self.firsts.contains(&item.name),
        }
    }

    pub(crate) fn cases(&self, file: &str) -> &[Case] {
        self.cases.get(file).map_or(&[], Vec::as_slice)
    }

    /// The functions as often as it takes for so many tools, under other names.
    pub(crate) fn repeated(&self, count: usize) -> Vec<ToolCatalogItem> {
        let tools = self.definitions.iter().cycle().take(count).enumerate();
        let renamed = tools.map(|(number, item)| {
            let round = number / self.definitions.len();
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
