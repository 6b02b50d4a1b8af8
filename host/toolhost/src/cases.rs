//! Test cases of tools: what is called, with which files, and what must come of it.
//!
//! ```yaml
//! - name: counts a text file
//!   tool: notes__count
//!   args: { path: poem.txt }
//!   files: { poem.txt: "one two\nthree\n" }
//!   expect:
//!     output: { lines: 2, words: 3 }
//! ```
//!
//! A case file is a list of cases; `docs/testing.md` has every key. Here is what a case is, what it lays
//! into its workdir, how a result is judged, and which cases follow from a tool's own schema. Who calls
//! the tool is somebody else: `toolhost test`.

mod edit;
mod expect;
mod generate;
mod judge;
mod mismatch;
mod read;
mod surroundings;
mod tree;

use toolhost_contract::JsonObject;

use toolhost_manifest::bundle::{Diagnostic, Place, YamlSource};
use toolhost_manifest::policy::Policy;
use toolhost_manifest::yaml::Node;

pub use edit::{EditError, Edited};
pub use expect::{ErrorIs, Expect, FileIs, LogIs, TextIs};
pub use generate::{Generated, GeneratedKind, generated};
pub use judge::{LogLine, Outcome};
pub use mismatch::{Change, Mismatch};
pub use surroundings::{HOSTILE_LINK, Surroundings};
pub use tree::{Content, FileState, WorkTree};

/// A case file: its cases, and its text for changing what they expect.
#[derive(Debug, Clone)]
pub struct CaseFile {
    source: YamlSource,
    node: Node,
    cases: Vec<Case>,
}

impl CaseFile {
    /// Parses a case file.
    ///
    /// # Errors
    /// Every finding at once.
    pub fn parse(source: &YamlSource) -> Result<Self, Vec<Diagnostic>> {
        let (node, cases) = read::cases(source)?;
        Ok(Self {
            source: source.clone(),
            node,
            cases,
        })
    }

    /// The cases, in the order written.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The text, for whoever shows its lines.
    #[must_use]
    pub fn source(&self) -> &YamlSource {
        &self.source
    }

    /// The text with other expectations; all else, comments too, stays as it is written.
    ///
    /// # Errors
    /// [`EditError`] where the text cannot be changed in this way and nowhere else.
    pub fn edited(&self, changes: &[Change]) -> Result<Edited, EditError> {
        edit::edited(&self.source, &self.node, changes)
    }
}

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, of which there is one in a file.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The tool that is called: `notes__count`.
    pub tool: String,
    /// Where that is said.
    pub tool_place: Place,
    /// The arguments. They need not fit the schema: that may be what is tested.
    pub args: JsonObject,
    /// On whose behalf.
    pub context: CaseContext,
    /// What the workdir holds before the call: path and content.
    pub files: Vec<(String, Content)>,
    /// The operator's policy for this case; none: that of the run.
    pub policy: Option<Policy>,
    /// What is answered to the tool's HTTP requests.
    pub http: Vec<CannedAnswer>,
    /// What must come of it.
    pub expect: Expect,
    /// How often it runs, one after another. 1 to 1000, default 1.
    pub repeat: u32,
    /// How often it runs at the same time, each in a workdir of its own. 1 to 64, default 1.
    pub parallel: u32,
}

/// On whose behalf a case calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseContext {
    /// The agent; default: the first one that has the tool.
    pub agent_name: Option<String>,
    /// Where that is said.
    pub agent_place: Option<Place>,
    /// Key of the instance; default: the case's name.
    pub instance_key: Option<String>,
    /// Id of the turn; default `turn`.
    pub turn_id: Option<String>,
    /// Id of the trace.
    pub trace_id: Option<String>,
    /// What the assistant says in the message that holds the call; default: nothing.
    pub message: Option<String>,
}

/// What is answered to an HTTP request, instead of the server it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannedAnswer {
    /// The method; none: any.
    pub method: Option<String>,
    /// Host and port as the request names them: `api.example.com`, `localhost:8080`.
    pub authority: String,
    /// Path and query: `/x?y=1`.
    pub path: String,
    /// The status. 200 to 599, default 200.
    pub status: u16,
    /// Headers of the answer.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// How long it is held back, in milliseconds. At most 600,000.
    pub delay_ms: u64,
}

#[cfg(test)]
mod tests;
