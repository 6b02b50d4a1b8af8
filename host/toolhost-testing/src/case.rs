//! A test case: what is called, with which files, and what is expected.

mod expect;

use toolhost_contract::JsonObject;
use toolhost_manifest::{Place, Policy};

use crate::work_tree::Content;

pub use expect::{ErrorIs, Expect, FileIs, LogIs, TextIs};

/// One case of a case file.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name, unique within a file.
    pub name: String,
    /// Where the case begins.
    pub place: Place,
    /// The tool that is called: `notes__count`.
    pub tool: String,
    /// Where the tool is named.
    pub tool_place: Place,
    /// The arguments. They need not fit the schema: that may be what is tested.
    pub args: JsonObject,
    /// The context of the call.
    pub context: CaseContext,
    /// What the workdir holds before the call: path and content.
    pub files: Vec<(String, Content)>,
    /// The operator's policy for this case. Default: the policy of the run.
    pub policy: Option<Policy>,
    /// The answers to the tool's HTTP requests.
    pub http: Vec<StubResponse>,
    /// What is expected.
    pub expect: Expect,
    /// How often the case runs, one run after another. 1 to 1000, default 1.
    pub repeat: u32,
    /// How often the case runs at the same time, each run in a workdir of its own. 1 to 64, default 1.
    pub parallel: u32,
    /// The search that the case makes, in the place of a call. `tool` is then the tool that it is to find, or
    /// [`NOTHING`].
    pub search: Option<SearchCase>,
}

/// What a search is to find that has no answer.
pub const NOTHING: &str = "nothing";

/// A search of the tools of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCase {
    /// What is searched for.
    pub query: String,
    /// Among how many of the first hits the tool must be. 1 to 50, default 5.
    pub within: usize,
}

/// The context that a case calls in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseContext {
    /// The agent. Default: the first one that has the tool.
    pub agent_name: Option<String>,
    /// Where the agent is named.
    pub agent_place: Option<Place>,
    /// Key of the agent instance. Default: the case's name.
    pub instance_key: Option<String>,
    /// Id of the turn. Default: `turn`.
    pub turn_id: Option<String>,
    /// Id of the trace.
    pub trace_id: Option<String>,
    /// The text of the assistant message that holds the call. Default: none.
    pub message: Option<String>,
}

/// The answer to an HTTP request, sent by a stub server in place of the real one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubResponse {
    /// The method of the request. Default: any.
    pub method: Option<String>,
    /// Host and port of the request: `api.example.com`, `localhost:8080`.
    pub authority: String,
    /// Path and query of the request: `/x?y=1`.
    pub path: String,
    /// The status of the answer. 200 to 599, default 200.
    pub status: u16,
    /// Headers of the answer.
    pub headers: Vec<(String, String)>,
    /// The body of the answer.
    pub body: Vec<u8>,
    /// How long the answer is delayed, in milliseconds. At most 600,000.
    pub delay_ms: u64,
}
