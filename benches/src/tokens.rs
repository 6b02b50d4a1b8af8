//! Counts the tokens that a model reads and writes for twenty tasks: with one call in each turn, and with one program.
//!
//! Both reach the same end, which is compared. In each turn the model reads the tools, the task and everything before, and
//! writes a call or the answer. The tokenizer is o200k, that of OpenAI's models since GPT-4o.

mod tasks;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;
use tokio::runtime::Runtime;
use toolhost::{Host, Policy, Step, ToolCall, ToolCatalog, ToolResult};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use tasks::{Task, tasks, write_files};

const POLICY: &str = "tools: {javascript: {tools: ['*']}}";

const PROGRAMS: &str = "javascript__script";

/// What a model read and wrote.
#[derive(Default, Clone, Copy)]
struct Tokens {
    /// The sum of what it read and wrote in all turns.
    in_all: usize,
    /// Each text counted once, as with a cache of prompts.
    once: usize,
    turns: usize,
}

/// A conversation that is counted.
struct Conversation<'a> {
    tokenizer: &'a CoreBPE,
    /// Tokens of everything so far.
    length: usize,
    used: Tokens,
}

impl<'a> Conversation<'a> {
    fn new(tokenizer: &'a CoreBPE, tools: &str, asked: &str) -> Self {
        let mut conversation = Self {
            tokenizer,
            length: 0,
            used: Tokens::default(),
        };
        conversation.give(tools);
        conversation.give(asked);
        conversation
    }

    /// Adds a text to what the model reads in its next turns.
    fn give(&mut self, text: &str) {
        let tokens = self.tokenizer.encode_ordinary(text).len();
        self.length += tokens;
        self.used.once += tokens;
    }

    /// The model reads everything so far, and writes a text.
    fn turn(&mut self, text: &str) {
        self.used.in_all += self.length;
        let before = self.length;
        self.give(text);
        self.used.in_all += self.length - before;
        self.used.turns += 1;
    }

    /// The model makes a call, and is given its result.
    fn call(&mut self, call: &ToolCall, result: &ToolResult) {
        self.turn(&json!({"name": call.name, "arguments": call.args}).to_string());
        self.give(&result.to_text());
    }
}

/// Writes a bundle of the base tools and the tool that runs programs. Returns whether all are built.
fn write_bundle(folder: &Path) -> bool {
    let examples = root("guest-examples");
    let manifest = fs::read_to_string(examples.join("base/goondan.yaml")).unwrap();
    let components = folder.join(".toolhost");
    fs::create_dir(&components).unwrap();
    let built = fs::read_dir(examples.join("base/.toolhost"))
        .into_iter()
        .flatten();
    for component in built.flatten() {
        if component.path().is_file() {
            fs::copy(component.path(), components.join(component.file_name())).unwrap();
        }
    }
    let javascript = examples.join("typescript/javascript");
    let programs = fs::read_to_string(javascript.join("goondan.yaml")).unwrap();
    // Without their agents: the implicit one has all tools.
    let tools = |manifest: &str| {
        let documents = manifest.split("\n---\n");
        let tools = documents.filter(|document| !document.contains("kind: Agent"));
        tools.collect::<Vec<_>>().join("\n---\n")
    };
    let (manifest, programs) = (tools(&manifest), tools(&programs));
    let programs = programs.replace("./index.ts", "./.toolhost/javascript.wasm");
    let copied = fs::copy(
        javascript.join(".toolhost/javascript.wasm"),
        components.join("javascript.wasm"),
    );
    fs::write(
        folder.join("goondan.yaml"),
        format!("{manifest}\n---\n{programs}"),
    )
    .unwrap();
    copied.is_ok()
}

fn execute(runtime: &Runtime, step: &Step, tool: &str, args: &Value) -> (ToolCall, ToolResult) {
    let call = crate::measure::call(tool, args.clone());
    let result = runtime.block_on(step.execute_without_message(call.clone()));
    (call, result)
}

/// Returns the files beneath a folder, with their contents.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// What both ways to do the tasks need.
struct Tools<'a> {
    runtime: &'a Runtime,
    host: Host,
    bundle: tempfile::TempDir,
    tokenizer: CoreBPE,
}

impl Tools<'_> {
    /// Does something in a workdir with the files of the tasks. Returns what it used, and the files that are there then.
    fn in_workdir(
        &self,
        work: impl FnOnce(&Step) -> Result<Tokens, String>,
    ) -> Result<(Tokens, BTreeMap<String, Vec<u8>>), String> {
        let dir = tempfile::tempdir().unwrap();
        write_files(dir.path());
        let loaded = self.runtime.block_on(self.host.load(self.bundle.path()));
        let agent = loaded.unwrap().only_agent().unwrap();
        let workdir = self.host.workdir(dir.path()).unwrap();
        let step = self.runtime.block_on(open_step(&agent, "bench", &workdir));
        let used = work(&step)?;
        Ok((used, files(dir.path())))
    }

    /// Does a task with one call in each turn, and with one program.
    fn both_ways(&self, task: &Task) -> Result<[Tokens; 2], String> {
        let (direct, left) = self.in_workdir(|step| Ok(self.one_call_a_turn(step, task)))?;
        let (program, same) = self.in_workdir(|step| self.one_program(step, task))?;
        let mut paths = left.keys().chain(same.keys());
        match paths.find(|path| left.get(*path) != same.get(*path)) {
            Some(path) => Err(format!("the program leaves another {path}")),
            None => Ok([direct, program]),
        }
    }

    fn one_call_a_turn(&self, step: &Step, task: &Task) -> Tokens {
        let direct = step.catalog().items().iter();
        let direct: ToolCatalog = direct
            .filter(|item| item.name.resource().as_str() != "javascript")
            .cloned()
            .collect();
        let tools = direct.to_openai().to_string();
        let mut conversation = Conversation::new(&self.tokenizer, &tools, task.asked);
        for (tool, args) in &task.calls {
            let (call, result) = execute(self.runtime, step, tool, args);
            conversation.call(&call, &result);
        }
        conversation.turn(&task.answer.to_string());
        conversation.used
    }

    fn one_program(&self, step: &Step, task: &Task) -> Result<Tokens, String> {
        let items = step.catalog().items().iter();
        let (script, others): (Vec<_>, Vec<_>) = items
            .cloned()
            .partition(|item| item.name.as_str() == PROGRAMS);
        let script: ToolCatalog = script.into_iter().collect();
        let others = others.into_iter();
        let others: ToolCatalog = others
            .filter(|item| item.name.resource().as_str() != "javascript")
            .collect();
        let tools = format!("{}\n{}", script.to_openai(), others.to_typescript());
        let mut conversation = Conversation::new(&self.tokenizer, &tools, task.asked);
        let args = json!({"code": task.program});
        let (call, result) = execute(self.runtime, step, PROGRAMS, &args);
        let answer = result.output().map(|output| &output["result"]);
        if answer != Some(&task.answer) {
            let error = result.tool_error().map(|error| &error.message);
            let expected = &task.answer;
            return Err(format!("{answer:?} in place of {expected}; {error:?}"));
        }
        conversation.call(&call, &result);
        conversation.turn(&task.answer.to_string());
        Ok(conversation.used)
    }
}

/// Prints the tokens of each task.
///
/// # Errors
/// A task is not done: the program returns another answer, or both ways leave other files.
pub(crate) fn print(runtime: &Runtime) -> Result<(), String> {
    let bundle = tempfile::tempdir().unwrap();
    if !write_bundle(bundle.path()) {
        return Err("the tool javascript is not built: run `cargo xtask guests`".to_owned());
    }
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(Policy::parse(POLICY, "policy.yaml").unwrap())
        .build();
    let tools = Tools {
        runtime,
        host: host.unwrap(),
        bundle,
        tokenizer: tiktoken_rs::o200k_base().unwrap(),
    };
    println!("tokens that a model reads and writes: one call in each turn, one program; less by");
    let mut sums = [Tokens::default(); 2];
    let mut undone = Vec::new();
    for task in tasks() {
        match tools.both_ways(&task) {
            Ok(used) => {
                let [direct, program] = used;
                row(task.asked, direct, program);
                for (sum, used) in sums.iter_mut().zip(used) {
                    sum.in_all += used.in_all;
                    sum.once += used.once;
                    sum.turns += used.turns;
                }
            }
            Err(why) => undone.push(format!("not done: {}: {why}", task.asked)),
        }
    }
    row("all", sums[0], sums[1]);
    if undone.is_empty() {
        Ok(())
    } else {
        Err(undone.join("\n"))
    }
}

fn row(what: &str, direct: Tokens, program: Tokens) {
    let less = |direct: usize, program: usize| 100.0 - 100.0 * program as f64 / direct as f64;
    let shown: String = what.chars().take(60).collect();
    println!(
        "  {shown:<60} {:>3} turns {:>8} · {:>3} turns {:>6}   {:>4.0} %   each text once {:>6} · {:>6} {:>4.0} %",
        direct.turns,
        direct.in_all,
        program.turns,
        program.in_all,
        less(direct.in_all, program.in_all),
        direct.once,
        program.once,
        less(direct.once, program.once),
    );
}
