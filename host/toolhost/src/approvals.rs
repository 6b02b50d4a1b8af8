//! Calls that wait for a person's consent, and decisions about them.
//!
//! A policy says with `ask` which calls wait, and for what. The result of such a call is `pending`, and
//! [`ToolResult::awaits_approval`] says so. Somebody else than the agent decides: the first decision counts. What was
//! approved is done once, by the process whose instance made the call, or by the one that polls it next:
//! exactly what was shown, or nothing, and then it is asked for anew.
//!
//! ```
//! # async fn example(host: &toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
//! let approvals = host.approvals();
//! for waiting in approvals.waiting().await? {
//!     println!("{} of {} wants {}: {}", waiting.tool, waiting.agent, waiting.effect, waiting.what);
//!     approvals.approve(&waiting.id, "alice", None).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`ToolResult::awaits_approval`]: crate::ToolResult::awaits_approval

mod approvers;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;
use toolhost_contract::text::shorten;
use toolhost_contract::{Timestamp, ToolError, ToolName};
use toolhost_sandbox::{StagingError, StagingRoot};
use toolhost_store::{Database, Store, StoreError};

use crate::agent::Agent;
use crate::call::consent;
use crate::handles::instance::Instance;
use crate::host::Host;
use crate::pending::PendingCalls;
use crate::pending::record::{
    ApprovalId, Decided, Decision, Handle, OwnedHold, Owner, Records, SCHEMA, TEXT_MAX,
};

pub use self::approvers::Approvers;
pub use toolhost_contract::{AwaitingApproval, HeldEffect, approval_address};
pub use toolhost_manifest::policy::{
    ApprovalRules, ApprovalWebhook, Ask, AskDecision, AskRule, AskRules, AskVerdict, EffectRules,
};

/// Most approvals of a list.
pub const LISTED_MAX: usize = 1_000;

/// A call that waits or waited for consent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Approval {
    /// Its id: who asks again gets another one.
    pub id: String,
    /// Handle of the call: a [poll](crate::Instance::poll) of it does what was approved.
    pub handle: String,
    /// How it is.
    pub state: ApprovalState,
    /// Whether the call still waits for it: what was decided is not done yet.
    pub is_open: bool,
    /// Key of the bundle, as in the path of its workspaces.
    pub bundle: String,
    /// The agent that made the call.
    pub agent: String,
    /// Key of the agent's instance.
    pub instance: String,
    /// Id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What kind of effect waits.
    pub effect: HeldEffect,
    /// What will be done, without secrets: `{tool, args}` of a call, `{files, truncated}` of changes with a `diff` of each
    /// file that can be shown, `{method, url, headers, secretHeaders, body}` of a request, or
    /// `{operation, target, instanceKey, type, input, …}` of a message. Null once the call was cancelled before anybody
    /// decided, and in lists if it has more than 64 KiB.
    pub what: Value,
    /// SHA-256 of what will be done.
    pub digest: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Until when somebody may decide.
    pub expires_at: Timestamp,
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
}

/// How an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalState {
    /// Nobody has decided.
    Waiting,
    /// Somebody has consented.
    Approved,
    /// Somebody has refused.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// The call was cancelled, or asked for something else since.
    Ended,
}

impl ApprovalState {
    /// Returns `waiting`, `approved`, `denied`, `expired` or `ended`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Ended => "ended",
        }
    }
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalDecision {
    /// Who decided.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why; of a refusal, the model reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a decision does not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// There is no such id here.
    #[error("no approval has the id '{id}'")]
    Unknown {
        /// The id.
        id: String,
    },
    /// Somebody decided before.
    #[error("it was {what} already, by {by} at {at}")]
    Decided {
        /// `approved` or `denied`.
        what: &'static str,
        /// Who decided.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// It is too late.
    #[error("it has expired: the agent has to make the call again")]
    Expired,
    /// The call was cancelled, or asked for something else since.
    #[error(
        "the call does not wait for it any more: it was cancelled, or asked for something else since"
    )]
    Ended,
    /// The store of the state root cannot be used.
    #[error("the state root cannot be used")]
    Store(#[from] StoreError),
    /// The staging directory of the state root cannot be used.
    #[error("the state root cannot be used")]
    Staging(#[from] StagingError),
    /// The store of the host cannot be opened. The log has the reason.
    #[error("{}", .0.message)]
    Host(Box<ToolError>),
}

/// The approvals of a state root, of a host or of one instance. Cheap to clone.
///
/// It is for the operator: no agent gets it.
#[derive(Debug, Clone)]
pub struct Approvals {
    source: Source,
    owner: Option<Owner>,
}

#[derive(Debug, Clone)]
enum Source {
    Host(Arc<PendingCalls>),
    StateRoot(Records, StagingRoot),
}

impl Host {
    /// Returns the approvals of all instances of the state root; of this host's alone, if it has none.
    pub fn approvals(&self) -> Approvals {
        Approvals {
            source: Source::Host(Arc::clone(&self.0.pending)),
            owner: None,
        }
    }
}

impl Instance {
    /// Returns the approvals of the instance's calls.
    pub fn approvals(&self) -> Approvals {
        Approvals {
            source: Source::Host(Arc::clone(self.0.pending())),
            owner: Some(self.0.owner()),
        }
    }
}

impl Agent {
    /// Returns what becomes of a call of this agent's tool by the policy's `ask`, and which rule says it, in words; none if
    /// the policy has no `ask` for the tool. A tool that is not loaded, such as that of an MCP server, counts as native.
    pub fn ask_decision(&self, tool: &ToolName, args: &Value) -> Option<String> {
        let permit = self.0.permit(tool.resource());
        let (rules, registry) = (permit.ask.as_ref()?, self.0.tools.registry());
        let loaded = registry.as_ref().and_then(|tools| tools.get(tool.as_str()));
        let runs = loaded.map(|tool| &tool.runs);
        Some(match consent::decide(rules, runs, tool, args) {
            Some(decision) => decision.to_string(),
            None => "allowed: what it calls is decided about by itself".to_owned(),
        })
    }
}

impl Approvals {
    /// Opens the approvals of a state root, also while other processes use it. What is approved is done by the process
    /// whose instance made the call, within a second, or by the next poll. Blocks for some seconds at most.
    ///
    /// # Errors
    /// [`ApprovalError::Store`], [`ApprovalError::Staging`].
    pub fn open(state_root: &Path) -> Result<Self, ApprovalError> {
        Self::open_on(state_root.into(), state_root)
    }

    /// Opens the approvals in a database, with a state root of this machine for what calls staged on it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(database: Database, state_root: &Path) -> Result<Self, ApprovalError> {
        database.mark(state_root)?;
        let store = Store::open(database, &SCHEMA)?;
        let staging = StagingRoot::open(state_root)?;
        let records = Records::new(store, toolhost_contract::Locale::En);
        Ok(Self {
            source: Source::StateRoot(records, staging),
            owner: None,
        })
    }

    async fn records(&self) -> Result<&Records, ApprovalError> {
        match &self.source {
            Source::StateRoot(records, _) => Ok(records),
            Source::Host(pending) => {
                let records = pending.records().await;
                records.map_err(|error| ApprovalError::Host(Box::new(error)))
            }
        }
    }

    /// Returns what waits, the newest first: at most [`LISTED_MAX`], and of each instance the oldest 100 if these are the
    /// approvals of several. [`Self::waiting_count`] says how many wait.
    ///
    /// # Errors
    /// [`ApprovalError::Store`], [`ApprovalError::Host`].
    pub async fn waiting(&self) -> Result<Vec<Approval>, ApprovalError> {
        self.list(true).await
    }

    /// Counts what waits, also beyond the list.
    ///
    /// # Errors
    /// As [`Self::waiting`].
    pub async fn waiting_count(&self) -> Result<u64, ApprovalError> {
        let records = self.records().await?;
        let now = SystemTime::now();
        Ok(records.waiting_count(self.owner.clone(), now).await?)
    }

    /// Returns what waits and what was decided, as long as the results of the calls are kept: the newest first, at most
    /// [`LISTED_MAX`].
    ///
    /// # Errors
    /// As [`Self::waiting`].
    pub async fn all(&self) -> Result<Vec<Approval>, ApprovalError> {
        self.list(false).await
    }

    async fn list(&self, is_open: bool) -> Result<Vec<Approval>, ApprovalError> {
        let now = SystemTime::now();
        let most = u32::try_from(LISTED_MAX).unwrap_or(u32::MAX);
        let records = self.records().await?;
        let holds = records
            .holds(self.owner.clone(), is_open, now, most)
            .await?;
        Ok(holds
            .into_iter()
            .map(|hold| approval_of(hold, now))
            .collect())
    }

    /// Returns an approval.
    ///
    /// # Errors
    /// [`ApprovalError::Unknown`], and those of [`Self::waiting`].
    pub async fn get(&self, id: &str) -> Result<Approval, ApprovalError> {
        let known = parse(id)?;
        let records = self.records().await?;
        let hold = records.hold_by_id(&known, self.owner.clone(), true).await?;
        let hold = hold.ok_or_else(|| unknown(id))?;
        Ok(approval_of(hold, SystemTime::now()))
    }

    /// Returns an approval without [`what`](Approval::what): cheaper than [`Self::get`].
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn brief(&self, id: &str) -> Result<Approval, ApprovalError> {
        let (known, owner) = (parse(id)?, self.owner.clone());
        let hold = self
            .records()
            .await?
            .hold_by_id(&known, owner, false)
            .await?;
        let hold = hold.ok_or_else(|| unknown(id))?;
        Ok(approval_of(hold, SystemTime::now()))
    }

    /// Returns what the call of this handle waits or waited for last, without [`what`](Approval::what): none if it never
    /// waited.
    ///
    /// # Errors
    /// As [`Self::waiting`].
    pub async fn of_call(&self, handle: &str) -> Result<Option<Approval>, ApprovalError> {
        let Some(handle) = Handle::parse(handle) else {
            return Ok(None);
        };
        let records = self.records().await?;
        let hold = records.hold_of_call(&handle, self.owner.clone()).await?;
        Ok(hold.map(|hold| approval_of(hold, SystemTime::now())))
    }

    /// Consents. `by` says who does, `why` is kept beside it; both are cut at 1,000 characters.
    ///
    /// # Errors
    /// [`ApprovalError`] if this decision does not count: nothing is changed then.
    pub async fn approve(
        &self,
        id: &str,
        by: &str,
        why: Option<&str>,
    ) -> Result<Approval, ApprovalError> {
        self.decide(id, true, by, why).await
    }

    /// Refuses. The call ends with `E_TOOL_APPROVAL_DENIED`, and the model reads `why`.
    ///
    /// # Errors
    /// As [`Self::approve`].
    pub async fn deny(
        &self,
        id: &str,
        by: &str,
        why: Option<&str>,
    ) -> Result<Approval, ApprovalError> {
        self.decide(id, false, by, why).await
    }

    async fn decide(
        &self,
        id: &str,
        is_approved: bool,
        by: &str,
        why: Option<&str>,
    ) -> Result<Approval, ApprovalError> {
        let known = parse(id)?;
        let records = self.records().await?;
        let decision = Decision {
            is_approved,
            by: shorten(by, TEXT_MAX),
            why: why.map(|why| shorten(why, TEXT_MAX)),
            at: SystemTime::now(),
        };
        let decided = records.decide(&known, self.owner.clone(), decision).await?;
        match decided {
            Decided::Counts { staging } => {
                if let (Some(root), Some(staging)) = (self.staging(), staging) {
                    root.drop_held(&staging);
                }
            }
            Decided::Unknown => return Err(unknown(id)),
            Decided::Expired => return Err(ApprovalError::Expired),
            Decided::Ended => return Err(ApprovalError::Ended),
            Decided::Already(before) => {
                return Err(ApprovalError::Decided {
                    what: before.as_str(),
                    by: before.by,
                    at: Timestamp(before.at),
                });
            }
        }
        let hold = records.hold_by_id(&known, None, true).await?;
        let hold = hold.ok_or_else(|| unknown(id))?;
        if let Source::Host(pending) = &self.source {
            pending.waiting.notify(&hold.owner);
            pending.webhooks.notify();
        }
        Ok(approval_of(hold, SystemTime::now()))
    }

    fn staging(&self) -> Option<&StagingRoot> {
        match &self.source {
            Source::Host(pending) => pending.staging.as_ref(),
            Source::StateRoot(_, staging) => Some(staging),
        }
    }
}

fn parse(id: &str) -> Result<ApprovalId, ApprovalError> {
    ApprovalId::parse(id).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> ApprovalError {
    let id = shorten(id, 64);
    ApprovalError::Unknown { id }
}

fn approval_of(owned: OwnedHold, now: SystemTime) -> Approval {
    let OwnedHold {
        hold,
        shown,
        owner,
        call_id,
        tool_name,
        is_open,
        ..
    } = owned;
    let state = match &hold.decision {
        Some(decision) if decision.is_approved => ApprovalState::Approved,
        Some(_) => ApprovalState::Denied,
        None if !is_open => ApprovalState::Ended,
        None if hold.expires_at <= now => ApprovalState::Expired,
        None => ApprovalState::Waiting,
    };
    Approval {
        id: hold.id.as_str().to_owned(),
        handle: hold.handle,
        state,
        is_open,
        bundle: owner.bundle,
        agent: owner.agent,
        instance: owner.instance_key,
        call_id,
        tool: tool_name,
        effect: hold.effect,
        what: shown,
        digest: hold.digest,
        created_at: Timestamp(hold.created_at),
        expires_at: Timestamp(hold.expires_at),
        decision: hold.decision.map(|decision| ApprovalDecision {
            by: decision.by,
            at: Timestamp(decision.at),
            why: decision.why,
        }),
    }
}
