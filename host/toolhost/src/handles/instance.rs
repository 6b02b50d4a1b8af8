//! An instance of an agent: one conversation, one workspace.

use std::sync::Arc;

use toolhost_contract::{ToolName, ToolResult};
use toolhost_sandbox::Workdir;

use crate::agent::Agent;
use crate::budgets::{BudgetUse, BudgetsError};
use crate::call::scope::InstanceScope;
use crate::pending::PollReply;

/// An instance of an agent: its key and its workspace. Cheap to clone.
///
/// Pending results belong to it. A handle works again after a restart, with an instance of the same key:
///
/// ```no_run
/// # async fn example(bundle: toolhost::LoadedBundle) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::ToolStatus;
///
/// // A workspace of its own beneath the host's state root, in place of a directory of the user's.
/// let workspace = bundle.instance_workspace("user-1")?;
/// let instance = bundle.only_agent()?.instance("user-1", workspace);
/// let result = instance.poll("a handle of an earlier result").await;
/// if result.status() == ToolStatus::Pending {
///     instance.cancel("a handle of an earlier result").await;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Instance(pub(crate) Arc<InstanceScope>);

impl Agent {
    /// Creates an instance of the agent. Instances of one key share their state and pending results.
    ///
    /// Guests see `workdir` as `/`: one from [`Host::workdir`](crate::Host::workdir) or
    /// [`LoadedBundle::instance_workspace`](crate::LoadedBundle::instance_workspace). If the host has a
    /// state root, the instance's events are logged in its directory there, whatever its workdir is.
    pub fn instance(&self, key: impl Into<String>, workdir: Workdir) -> Instance {
        Instance(InstanceScope::open(self, key.into(), workdir))
    }
}

impl Instance {
    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// Key of the instance.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Returns the workdir of the instance.
    pub fn workdir(&self) -> &Workdir {
        &self.0.workdir
    }

    /// Returns the limits of the budgets that calls of this instance count for, and what is used of each: those of its
    /// agent, of each tool and of all together.
    ///
    /// # Errors
    /// [`BudgetsError`] if the database cannot be read.
    pub async fn budgets(&self) -> Result<Vec<BudgetUse>, BudgetsError> {
        let agent = self.0.agent.0.as_ref();
        let mut budgets = agent.host.policy.budgets();
        budgets.retain(|budget| {
            let mut of_agent = budget.agent.iter();
            of_agent.all(|name| name.as_str() == agent.name)
        });
        agent.host.budgets.uses(budgets, &self.0.caller()).await
    }

    /// Polls the result of a pending call: returns it, or `pending` again. A component runs in the
    /// workdir of this instance: it should be the one that the call had.
    ///
    /// The result is `E_TOOL_UNKNOWN_HANDLE`, with an empty call id and tool name, for a handle that
    /// is not this instance's, has expired or never existed; and `E_TOOL_INTERRUPTED` for a call whose
    /// host died while it ran. The host never runs such a call again.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn poll(&self, handle: &str) -> ToolResult {
        self.poll_reply(handle).await.result
    }

    /// Polls as [`Self::poll`] does, and returns also whether the call has ended. A poll that the host
    /// stopped, for example at its deadline, returns an error although the call has not ended.
    pub async fn poll_reply(&self, handle: &str) -> PollReply {
        self.0.pending().poll(&self.0, handle).await
    }

    /// Returns the tool whose component a poll of this handle, or its cancellation, runs: its Tool must be
    /// [loaded](crate::Host::load_tools). None for a call that has ended or runs in the background, and for a handle
    /// that is not this instance's.
    pub async fn polled_tool(&self, handle: &str) -> Option<ToolName> {
        let name = self.0.pending().polled_tool(&self.0, handle).await?;
        ToolName::parse(&name).ok()
    }

    /// Cancels a pending call. A background call of this process is stopped; of one in another process,
    /// only the result is dropped. Returns what the handle stands for from now on: `E_TOOL_CANCELLED`,
    /// or the result that the call already had.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn cancel(&self, handle: &str) -> ToolResult {
        self.0.pending().cancel(&self.0, handle).await
    }
}
