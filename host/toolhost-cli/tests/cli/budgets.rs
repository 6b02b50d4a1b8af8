//! Budgets of the policy across processes, and `toolhost budgets`.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal};

const TOOLS: [(&str, &[&str]); 2] = [("file-system", &["write"]), ("spin_forever", &["run"])];

/// A bundle, a policy and a state root of their own.
struct Shop(Terminal);

impl Shop {
    fn new(policy: &str) -> Self {
        let terminal = Terminal::new();
        terminal.bundle("b", &TOOLS);
        terminal.write("policy.yaml", policy);
        Self(terminal)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.toolhost([words[0], "../b"]);
        command.args(&words[1..]);
        command.args(["--policy", "../policy.yaml", "--state-root", "../state"]);
        command
    }

    fn write(&self, path: &str) -> Command {
        let args = json!({"path": path, "content": "x".repeat(100)}).to_string();
        self.command(&[
            "call",
            "file-system__write",
            "--args",
            &args,
            "--workdir",
            "../D",
        ])
    }

    fn budgets(&self) -> Vec<Value> {
        let ran = Ran::of(&mut self.command(&["budgets", "--json"])).exits(0);
        ran.json()["budgets"].as_array().unwrap().clone()
    }
}

#[test]
fn processes_share_a_budget_and_the_command_prints_what_is_used() {
    let shop =
        Shop::new("tools: {file-system: {budgets: {perDay: {calls: 3, bytesWritten: 1MiB}}}}");
    let of = |budget: &Value| (budget["kind"].clone(), budget["used"].clone());
    assert_eq!(of(&shop.budgets()[0]), (json!("calls"), json!(0)));
    // Six at once, of which three may run.
    let children: Vec<_> = (0..6)
        .map(|number| {
            let mut call = shop.write(&format!("f{number}"));
            call.stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let results = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["error"]["code"].clone()
    });
    let mut codes: Vec<_> = results.map(|code| code.to_string()).collect();
    codes.sort();
    let refused = "\"E_TOOL_BUDGET\"";
    assert_eq!(codes, [refused, refused, refused, "null", "null", "null"]);
    assert_eq!(shop.0.names("D").len(), 3, "a refused call writes nothing");

    let budgets = shop.budgets();
    assert_eq!(of(&budgets[0]), (json!("calls"), json!(3)));
    assert_eq!(of(&budgets[1]), (json!("bytesWritten"), json!(300)));
    assert_eq!(budgets[0]["isUsedUp"], true);
    let resets = budgets[0]["resetsAt"].as_str().unwrap();
    assert!(resets.ends_with("T00:00:00.000Z"), "{resets}");
    let text = Ran::of(&mut shop.command(&["budgets"])).exits(0).stdout;
    let line = format!("tool 'file-system': 3 of 3 calls per day, resets at {resets}, in ");
    assert!(text.starts_with(&line), "{text}");
    assert!(
        text.contains("tool 'file-system': 300B of 1MiB written per day"),
        "{text}"
    );
}

#[test]
fn a_call_of_a_process_that_is_killed_is_counted() {
    let policy = "
defaults: {limits: {deadlineMs: 60000}}
agents: {default: {budgets: {eachInstance: {perDay: {calls: 1, wallSeconds: 3600}}}}}
";
    let shop = Shop::new(policy);
    let mut call = shop.command(&["call", "spin_forever__run", "--instance", "ann"]);
    let mut killed = call
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let used = || shop.budgets()[0]["used"].clone();
    let mut tries = 0;
    while used() != 1 {
        tries += 1;
        assert!(tries < 600, "it never begins");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(used(), 1);
    let by = |instance: &str| {
        let mut call = shop.write("f");
        Ran::of(call.args(["--instance", instance]))
    };
    let refused = by("ann").exits(1).json();
    assert_eq!(refused["error"]["code"], "E_TOOL_BUDGET", "{refused}");
    assert!(shop.0.names("D").is_empty());
    by("bob").exits(0);
    let instances: Vec<_> = shop
        .budgets()
        .iter()
        .map(|it| it["instance"].clone())
        .collect();
    assert_eq!(instances, ["ann", "ann", "bob", "bob"]);
}

#[test]
fn a_policy_without_budgets_has_none_and_no_database_is_made_to_look() {
    let shop = Shop::new("{}");
    let ran = Ran::of(&mut shop.command(&["budgets"])).exits(0);
    assert_eq!(ran.stdout, "the policy has no budgets\n");
    assert!(!shop.0.path("state").exists());
    let missing = shop
        .0
        .run(["budgets", "../none", "--policy", "../policy.yaml"]);
    missing.fails(2, "there is no bundle ../none");
    shop.0.write("policy.yaml", "budgets: {perDay: {call: 1}}");
    let refused = Ran::of(&mut shop.command(&["budgets"])).exits(2);
    assert!(
        refused.stderr.contains("Did you mean 'calls'"),
        "{refused:?}"
    );
}
