//! Agents whose model is a script: the script lists the calls of each step, with references to earlier
//! results. Runs the whole specification without a model, for demonstrations and end-to-end tests.
//!
//! ```yaml
//! bundle: ./goondan.yaml          # beside the script
//! policy: ./policy.yaml           # default: none
//! start:                          # the first event
//!   agent: writer
//!   input: {topic: otters}
//! agents:
//!   writer:
//!     description: Writes a draft and has it reviewed
//!     steps:                      # the calls of one step run at the same time
//!       - draft: {tool: file-system__write, args: {path: draft.txt, content: "On ${input.topic}"}}
//!       - review:
//!           tool: agents__request
//!           args: {target: reviewer, input: {path: draft.txt}}
//!     answer: "${review.output.response.verdict}"
//!   reviewer:
//!     steps:
//!       - text: {tool: file-system__read, args: {path: "${input.path}"}}
//!     answer: {verdict: "${text.output.size} bytes: good"}
//! ```
//!
//! `${…}` names `input` (the input of the event), `responses` (the responses to asynchronous requests
//! that arrived before the step), or the ToolResult of a call in an earlier step:
//! `${draft.output.path}`, `${job.handle}`. A text that is one reference becomes the value itself; a
//! reference within a longer text is inserted as text.
//!
//! A call is `{tool, args?, expect?, background?}`; `{poll: HANDLE}` polls a pending call until it ends,
//! and `{cancel: HANDLE}` cancels it. `expect` is `ok` (the default), `pending`, `error`, or an error
//! code; any other result fails the turn. A step makes at most 256 calls, its references are replaced by at
//! most 32 MiB, and the results of a turn hold at most 64 MiB.

mod agent;
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use toolhost_contract::JsonObject;
use toolhost_contract::suggest::closest;

pub use agent::ScriptedAgent;
pub use reference::ReferenceError;

/// Largest script, in bytes.
const SCRIPT_MAX: usize = 1 << 20;

/// Most calls of one step. They run at the same time.
const CALLS_MAX: usize = 256;

/// Why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script {file} cannot be used: {reason}")]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// What is wrong, and where.
    pub reason: String,
}

/// A script: a bundle, what its agents do, and the first event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The bundle, relative to the script.
    pub bundle: PathBuf,
    /// The policy, relative to the script. `toolhost play` lets it read no secrets, grant no HTTP requests
    /// and raise no limits beyond the defaults; a policy passed with `--policy` may.
    #[serde(default)]
    pub policy: Option<PathBuf>,
    /// The first event.
    pub start: Start,
    /// What each agent does, by its name in the bundle.
    pub agents: BTreeMap<String, AgentScript>,
}

/// The first event of a script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The agent that receives it.
    pub agent: String,
    /// The input of the event.
    #[serde(default)]
    pub input: Value,
}

/// What an agent does in a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    /// The description that other agents read.
    #[serde(default)]
    pub description: Option<String>,
    /// The steps: named calls that run at the same time.
    #[serde(default)]
    pub steps: Vec<IndexMap<String, ScriptedCall>>,
    /// The answer of the turn, with references. Default: the results of the last step by name.
    #[serde(default)]
    pub answer: Option<Value>,
}

/// One call of a step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool that is called.
    #[serde(default)]
    pub tool: Option<String>,
    /// Its arguments, with references.
    #[serde(default)]
    pub args: JsonObject,
    /// Whether the call runs in the background and returns a handle.
    #[serde(default)]
    pub background: bool,
    /// The handle to poll until its call has ended, in place of a call.
    #[serde(default)]
    pub poll: Option<String>,
    /// The handle to cancel, in place of a call.
    #[serde(default)]
    pub cancel: Option<String>,
    /// `ok`, `pending`, `error`, or an error's code.
    #[serde(default)]
    pub expect: Option<String>,
}

impl Script {
    /// Parses a script. `file` is the name used in errors.
    ///
    /// # Errors
    /// [`ScriptError`], with the line if it is known.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let error = |reason: String| ScriptError {
            file: file.to_owned(),
            reason,
        };
        if text.len() > SCRIPT_MAX {
            return Err(error(format!("it is larger than {SCRIPT_MAX} bytes")));
        }
        let script: Self = toolhost_manifest::yaml::parse(text).map_err(error)?;
        script.check().map_err(error)?;
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        let first = &self.start.agent;
        if !self.agents.contains_key(first) {
            let names: Vec<&str> = self.agents.keys().map(String::as_str).collect();
            let similar = closest(first, &names);
            let similar = similar.map_or_else(String::new, |it| format!("; did you mean '{it}'?"));
            return Err(format!(
                "start.agent '{first}' is not among its agents{similar}"
            ));
        }
        for (agent, script) in &self.agents {
            let mut named = BTreeSet::new();
            for (index, step) in script.steps.iter().enumerate() {
                if step.len() > CALLS_MAX {
                    let calls = step.len();
                    return Err(format!(
                        "agents.{agent}.steps[{index}] makes {calls} calls at the same time: make at most \
                         {CALLS_MAX} in a step"
                    ));
                }
                for (name, call) in step {
                    let place = format!("agents.{agent}.steps[{index}].{name}");
                    let at = |reason: String| format!("{place}: {reason}");
                    if ["input", "responses"].contains(&name.as_str()) {
                        let reason = "is reserved for the event; choose another name";
                        return Err(at(format!("'{name}' {reason}")));
                    }
                    if !named.insert(name) {
                        return Err(at(format!("an earlier call is called '{name}'")));
                    }
                    call.check().map_err(|reason| at(reason.to_owned()))?;
                }
            }
        }
        Ok(())
    }
}

impl ScriptedCall {
    fn check(&self) -> Result<(), &'static str> {
        let actions = [&self.tool, &self.poll, &self.cancel];
        match actions.iter().filter(|one| one.is_some()).count() {
            1 => Ok(()),
            0 => Err("give one of tool, poll and cancel"),
            _ => Err("tool, poll and cancel exclude each other"),
        }
    }
}

#[cfg(test)]
mod tests;
