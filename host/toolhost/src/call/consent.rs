//! Calls that wait for a person's consent: `ask` in a policy.
//!
//! A call is held before it runs, at its first request or message that needs consent, or with its changes staged. What
//! waits is a row; whoever polls it once somebody has consented does what was shown, and nothing else.

mod agents;
mod digest;
pub(super) mod gate;
mod prefix;
pub(crate) mod release;
pub(super) mod run_consent;

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use toolhost_contract::{
    AssistantMessage, AwaitingApproval, HeldEffect, Timestamp, ToolError, ToolErrorCode, ToolResult,
};
use toolhost_manifest::policy::{Ask, AskVerdict};
use toolhost_sandbox::{HeldChanges, Operation};

use self::digest::Digest;
use self::gate::Gate;
use self::prefix::Prefix;
use self::release::Release;
use self::run_consent::Consent;
use super::run::{Answer, RunEnd};
use super::scope::TurnScope;
use crate::agent::ToolPermit;
use crate::middleware::CallIdentity;
use crate::pending::record::{Handle, NewHold};
use crate::registry::{RegisteredTool, Runs};

/// Most bytes of what the runs of a waiting call have received.
const PREFIX_MAX: usize = 16 << 20;

/// Why a call does not run now.
pub(crate) enum Refused {
    Ended(Box<ToolError>),
    /// It waits before it runs.
    Hold,
}

/// Returns the SHA-256 of what an approval is bound to: the component, the rules and the arguments.
pub(crate) fn bound(tool: &RegisteredTool, permit: &ToolPermit, input: &str) -> String {
    let component = match &tool.runs {
        Runs::Component(component) => component.facts().sha256.as_str(),
        Runs::Native { .. } | Runs::Catalog { .. } => "native",
    };
    let rules = permit.ask.as_ref().map(|rules| rules.to_text());
    let grants = format!(
        "{:?} {:?} {} {:?} {:?}",
        permit.grants, permit.limits, permit.agents, permit.tools, permit.changes
    );
    Digest::default()
        .with(tool.item.name.as_str())
        .with(component)
        .with(rules.unwrap_or_default())
        .with(&grants)
        .with(input)
        .finish()
}

/// Decides about a valid call. Returns what its run needs if its effects may wait.
pub(crate) fn check(
    turn: &TurnScope,
    tool: &RegisteredTool,
    permit: &ToolPermit,
    (args, input): (&Value, &str),
    release: Option<&Arc<Release>>,
) -> Result<Option<Consent>, Refused> {
    let Some(rules) = &permit.ask else {
        return Ok(None);
    };
    let is_native = match &tool.runs {
        // What it calls is decided about by itself.
        Runs::Catalog { .. } => return Ok(None),
        Runs::Native { .. } => true,
        Runs::Component(_) => false,
    };
    let (name, locale) = (&tool.item.name, turn.locale());
    let decision = rules.decide(name, args);
    let ask = match decision.verdict {
        AskVerdict::Ask(ask) => ask,
        AskVerdict::Denied => {
            if let Some(rule) = decision.rule {
                tracing::info!(tool = %name, %rule, "a rule of the policy refuses a call");
            }
            let message = format!(
                "The operator's policy refuses calls of tool '{name}' with these arguments."
            );
            let error = ToolError::host(ToolErrorCode::Denied, message, locale);
            return Err(Refused::Ended(Box::new(error)));
        }
    };
    let release = || {
        let bound = bound(tool, permit, input);
        release.filter(|release| release.bound == bound)
    };
    match ask {
        Ask::Never => Ok(None),
        // What a native tool does cannot be seen before it is done.
        Ask::Effects if !is_native => {
            let release = release();
            let granted = release.map(|release| (release.effect, release.digest.clone()));
            let prefix = release.and_then(|release| Prefix::read(release.prefix.as_deref()?));
            let redactor = turn.agent().host.redactor.clone();
            let gate = Gate::new(Arc::clone(rules), redactor, granted, prefix);
            Ok(Some(Consent {
                gate: Arc::new(gate),
            }))
        }
        Ask::Effects | Ask::Always => {
            let is_granted = |release: &Arc<Release>| {
                release.effect == HeldEffect::Call && release.digest == release.bound
            };
            if release().is_some_and(is_granted) {
                Ok(None)
            } else {
                Err(Refused::Hold)
            }
        }
    }
}

/// A call that is to be held.
pub(super) struct HeldCall<'a> {
    pub(super) turn: &'a TurnScope,
    pub(super) call: &'a CallIdentity,
    pub(super) message: &'a AssistantMessage,
    pub(super) tool: &'a RegisteredTool,
    pub(super) permit: &'a ToolPermit,
    /// The handle that it has already.
    pub(super) handle: Option<Handle>,
}

impl HeldCall<'_> {
    /// Holds a call before it runs.
    pub(super) async fn hold_call(&self, args: &Value, input: &str) -> RunEnd {
        let bound = bound(self.tool, self.permit, input);
        let mut shown = json!({"tool": self.tool.item.name.as_str(), "args": args});
        self.turn.agent().host.redactor.value(&mut shown);
        let hold = NewHold {
            effect: HeldEffect::Call,
            shown,
            digest: bound.clone(),
            bound,
            staging: None,
            answer: None,
            prefix: None,
            staged_bytes: 0,
            expires_at: SystemTime::now(),
        };
        RunEnd::of_answer(self.store(hold).await)
    }

    /// Holds a run at the request or the message that it came to.
    pub(super) async fn hold_effect(&self, hold: NewHold, input: &str) -> RunEnd {
        let name = &self.tool.item.name;
        if hold
            .prefix
            .as_ref()
            .is_some_and(|prefix| prefix.len() > PREFIX_MAX)
        {
            let message = format!(
                "Tool '{name}' failed: it cannot wait for approval, as it received more than {} MiB before that.",
                PREFIX_MAX >> 20
            );
            let code = ToolErrorCode::OutputTooLarge;
            return RunEnd::refused(ToolError::host(code, message, self.turn.locale()));
        }
        let bound = bound(self.tool, self.permit, input);
        RunEnd::of_answer(self.store(NewHold { bound, ..hold }).await)
    }

    /// Holds staged changes, with the answer of their run.
    pub(super) async fn hold_changes(
        &self,
        held: HeldChanges,
        answer: ToolResult,
    ) -> Result<Answer, ToolError> {
        let files = held
            .changes
            .files
            .iter()
            .zip(&held.diffs)
            .map(|(change, diff)| {
                let mut file = json!(change);
                if let (Value::Object(file), Some(diff)) = (&mut file, diff) {
                    file.insert("diff".to_owned(), json!(diff));
                }
                file
            });
        let files: Vec<Value> = files.collect();
        let mut shown = json!({"files": files, "truncated": held.changes.truncated});
        self.turn.agent().host.redactor.value(&mut shown);
        let stored = self.store(NewHold {
            effect: HeldEffect::Workdir,
            shown,
            digest: held.digest.clone(),
            // The changes came of the arguments.
            bound: bound(self.tool, self.permit, ""),
            staging: Some(held.id().to_owned()),
            answer: Some(answer),
            prefix: None,
            staged_bytes: held.bytes,
            expires_at: SystemTime::now(),
        });
        let answer = stored.await?;
        held.keep();
        Ok(answer)
    }

    async fn store(&self, hold: NewHold) -> Result<Answer, ToolError> {
        let turn = self.turn;
        let (pending, effect) = (turn.pending(), hold.effect);
        let call = turn.pending_call(self.call, self.message);
        let held = pending.hold(turn.instance.owner(), call, self.handle.clone(), hold);
        let (handle, expires_at) = held.await?;
        let expires_at = Timestamp(expires_at);
        let details = AwaitingApproval { effect, expires_at };
        Ok(Answer::Held(handle.as_str().to_owned(), details))
    }
}

/// Returns the input of an operation, which an approval is bound to.
pub(super) fn input_of(operation: &Operation) -> &str {
    match operation {
        Operation::Handler { input, .. } => input,
        Operation::Poll { handle } | Operation::Cancel { handle } => handle,
    }
}
