//! Agents whose model is a script: what each step calls is written down, with references to what
//! came before. The whole specification without a model, for demonstrations and end-to-end tests.
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
//! `${…}` names `input` (the event's), `responses` (those of asynchronous requests that came before
//! the step), or a call of an earlier step, which is its ToolResult: `${draft.output.path}`,
//! `${job.handle}`. A text that is one reference becomes the value itself; within a longer text it is
//! put in as text.
//!
//! A call is `{tool, args?, expect?, background?}`; `{poll: HANDLE}` and `{cancel: HANDLE}` ask for a
//! pending one. `expect` is `ok` (the default), `pending`, `error`, or the error's code; what comes
//! otherwise fails the turn.

mod agent;
mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use toolhost_contract::JsonObject;

pub use agent::ScriptedAgent;
pub use reference::ReferenceError;

/// Largest script, in bytes.
const SCRIPT_MAX: usize = 1 << 20;

/// Why a text is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script {file} cannot be used: {reason}")]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// Why, and where.
    pub reason: String,
}

/// A script: a bundle, what its agents do, and how it begins.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The bundle, relative to the script.
    pub bundle: PathBuf,
    /// The policy it is played under, relative to the script. `toolhost play` takes no secret of the
    /// machine's, no HTTP and no limit beyond the defaults from it, but with `--policy`.
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
    /// The agent it is for.
    pub agent: String,
    /// What it is given.
    #[serde(default)]
    pub input: Value,
}

/// What an agent does in a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    /// What the agent is for, as other agents read it.
    #[serde(default)]
    pub description: Option<String>,
    /// Its steps: named calls, which run at the same time.
    #[serde(default)]
    pub steps: Vec<IndexMap<String, ScriptedCall>>,
    /// What the turn answers. Default: the results of the last step by name.
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
    /// Whether it runs in the background and answers with a handle.
    #[serde(default)]
    pub background: bool,
    /// The handle that is asked for, instead of a call: until its call has ended.
    #[serde(default)]
    pub poll: Option<String>,
    /// The handle that is cancelled, instead of a call.
    #[serde(default)]
    pub cancel: Option<String>,
    /// `ok`, `pending`, `error`, or an error's code.
    #[serde(default)]
    pub expect: Option<String>,
}

impl Script {
    /// Parses a script; `file` is the name it is shown under.
    ///
    /// # Errors
    /// [`ScriptError`] says what is wrong, and in which line.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let wrong = |reason: String| ScriptError {
            file: file.to_owned(),
            reason,
        };
        if text.len() > SCRIPT_MAX {
            return Err(wrong(format!("it is larger than {SCRIPT_MAX} bytes")));
        }
        let script: Self = toolhost_manifest::yaml::parse(text).map_err(wrong)?;
        script.check().map_err(wrong)?;
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        if !self.agents.contains_key(&self.start.agent) {
            return Err(format!(
                "start.agent '{}' is not among its agents",
                self.start.agent
            ));
        }
        for (agent, script) in &self.agents {
            let mut named = BTreeSet::new();
            for (index, step) in script.steps.iter().enumerate() {
                for (name, call) in step {
                    let place = format!("agents.{agent}.steps[{index}].{name}");
                    if ["input", "responses"].contains(&name.as_str()) {
                        return Err(format!(
                            "{place}: '{name}' is what the event gave; call it otherwise"
                        ));
                    }
                    if !named.insert(name) {
                        return Err(format!("{place}: an earlier call is called '{name}'"));
                    }
                    call.check()
                        .map_err(|reason| format!("{place}: {reason}"))?;
                }
            }
        }
        Ok(())
    }
}

impl ScriptedCall {
    fn check(&self) -> Result<(), String> {
        let asked = [&self.tool, &self.poll, &self.cancel];
        match asked.iter().filter(|one| one.is_some()).count() {
            1 => Ok(()),
            0 => Err("say one of tool, poll and cancel".to_owned()),
            _ => Err("tool, poll and cancel exclude each other".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
