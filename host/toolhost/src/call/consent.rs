//! Calls that wait for a person's consent: `ask` in a policy.
//!
//! A call is held before it runs, at its first request or message that needs consent, or with its changes staged. What
//! waits is a row; whoever polls it once somebody has consented does what was shown, and nothing else.

mod agents;
mod digest;
pub(super) mod gate;
mod prefix;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolhost_contract::{
    AssistantMessage, AwaitingApproval, HeldEffect, JsonObject, Timestamp, ToolCall, ToolError,
    ToolErrorCode, ToolName, ToolResult,
};
use toolhost_manifest::policy::{Ask, AskDecision, AskRules, AskVerdict};
use toolhost_sandbox::{AgentsPort, HeldChanges, Operation};

use self::agents::GatedAgents;
use self::digest::Digest;
use self::gate::Gate;
use self::prefix::Prefix;
use super::run::{Answer, RunEnd};
use super::scope::TurnScope;
use crate::agent::ToolPermit;
use crate::middleware::CallIdentity;
use crate::pending::record::{Handle, Hold, NewHold};
use crate::registry::{RegisteredTool, Runs};

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
        "{:?} {:?} {} {:?} {:?} {:?}",
        permit.grants, permit.limits, permit.agents, permit.tools, permit.changes, permit.oauth
    );
    let mut digest = Digest::default()
        .with(tool.item.name.as_str())
        .with(component)
        .with(rules.unwrap_or_default())
        .with(&grants);
    // Their form without values is that for logs.
    for (name, value) in &permit.grants.env {
        digest = digest.with(name).with(value);
    }
    digest.with(input).finish()
}

/// Returns what rules say of a call; none of a tool that calls others, which are decided about by themselves. A tool that is
/// no component of the bundle runs as `None`.
pub(crate) fn decide<'r>(
    rules: &'r AskRules,
    runs: Option<&Runs>,
    name: &ToolName,
    args: &Value,
) -> Option<AskDecision<'r>> {
    let is_native = match runs {
        Some(Runs::Catalog { .. }) => return None,
        Some(Runs::Component(_)) => false,
        Some(Runs::Native { .. }) | None => true,
    };
    let mut decision = rules.decide(name, args);
    // What a native tool does cannot be seen before it is done.
    if is_native && decision.verdict == AskVerdict::Ask(Ask::Effects) {
        decision.verdict = AskVerdict::Ask(Ask::Always);
    }
    Some(decision)
}

/// Decides about a valid call. Returns what its run needs if its effects may wait.
pub(crate) fn check(
    turn: &TurnScope,
    tool: &RegisteredTool,
    permit: &ToolPermit,
    (args, input): (&Value, &str),
    release: Option<&Arc<Hold>>,
) -> Result<Option<Arc<Gate>>, Refused> {
    let Some(rules) = &permit.ask else {
        return Ok(None);
    };
    let (name, locale) = (&tool.item.name, turn.locale());
    let Some(decision) = decide(rules, Some(&tool.runs), name, args) else {
        return Ok(None);
    };
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
    let earlier = release;
    let release = || earlier.filter(|release| release.bound == bound(tool, permit, input));
    match ask {
        Ask::Never => Ok(None),
        Ask::Effects => {
            let granted = release().map(|release| (release.effect, release.digest.clone()));
            // What was sent is not sent again, whatever has changed since.
            let prefix = earlier.and_then(|release| release.prefix.as_deref());
            gated(turn, rules, granted, prefix).map(Some)
        }
        Ask::Always => {
            let is_granted = |release: &Arc<Hold>| {
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

/// Returns what a run needs whose effects may wait.
fn gated(
    turn: &TurnScope,
    rules: &Arc<AskRules>,
    granted: Option<(HeldEffect, String)>,
    prefix: Option<&[u8]>,
) -> Result<Arc<Gate>, Refused> {
    let failed = |message: &str| {
        let error = ToolError::host(ToolErrorCode::Host, message, turn.locale());
        Refused::Ended(Box::new(error))
    };
    let prefix = match prefix {
        None => None,
        Some(bytes) => Some(Prefix::read(bytes).ok_or_else(|| {
            failed(
                "What the call received before it waited cannot be read, so that it cannot go on.",
            )
        })?),
    };
    let redactor = turn.agent().host.redactor.clone();
    let gate = Gate::new(Arc::clone(rules), redactor, granted, prefix);
    Ok(Arc::new(gate))
}

/// Lets messages to other agents wait, too.
pub(super) fn gated_agents(agents: Arc<dyn AgentsPort>, gate: &Arc<Gate>) -> Arc<dyn AgentsPort> {
    Arc::new(GatedAgents::new(agents, Arc::clone(gate)))
}

/// Decides about a poll of a valid call. `is_approved` is whether somebody has approved the call as a whole.
pub(crate) fn check_poll(
    turn: &TurnScope,
    tool: &RegisteredTool,
    permit: &ToolPermit,
    (args, input): (&Value, &str),
    release: Option<&Arc<Hold>>,
    is_approved: bool,
) -> Result<Option<Arc<Gate>>, Box<ToolError>> {
    let checked = check(turn, tool, permit, (args, input), release);
    let checked = match (checked, &permit.ask) {
        // It began under another policy: its effects wait.
        (Err(Refused::Hold), Some(rules)) if !is_approved => {
            let granted = release.map(|release| (release.effect, release.digest.clone()));
            let prefix = release.and_then(|release| release.prefix.as_deref());
            gated(turn, rules, granted, prefix).map(Some)
        }
        (Err(Refused::Hold), _) => Ok(None),
        (checked, _) => checked,
    };
    checked.map_err(|refused| match refused {
        Refused::Ended(error) => error,
        Refused::Hold => Box::new(ToolError::host(
            ToolErrorCode::Host,
            "A poll cannot wait before it runs.",
            turn.locale(),
        )),
    })
}

/// Returns what a cancellation needs, which waits for nothing: what would have to wait is refused.
pub(crate) fn check_cancellation(
    turn: &TurnScope,
    permit: &ToolPermit,
) -> Result<Option<Arc<Gate>>, Refused> {
    let rules = permit.ask.as_ref().filter(|rules| rules.may_ask());
    rules
        .map(|rules| gated(turn, rules, None, None))
        .transpose()
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
    /// Whether another call waits for it.
    pub(super) is_inner: bool,
}

impl HeldCall<'_> {
    /// Holds a call before it runs.
    pub(super) async fn hold_call(&self, args: &Value, input: &str) -> RunEnd {
        let bound = bound(self.tool, self.permit, input);
        let mut shown = json!({"tool": self.tool.item.name.as_str(), "args": args});
        self.turn.agent().host.redactor.value(&mut shown);
        let hold = NewHold::new(HeldEffect::Call, shown, bound.clone());
        RunEnd::of_answer(self.store(hold, bound, input).await)
    }

    /// Holds a run at the request or the message that it came to.
    pub(super) async fn hold_effect(
        &self,
        (hold, unrepeatable): (NewHold, Option<String>),
        input: &str,
    ) -> RunEnd {
        let name = &self.tool.item.name;
        if let Some(why) = unrepeatable {
            let message = format!("Tool '{name}' failed: it cannot wait for approval, as {why}.");
            let code = ToolErrorCode::Denied;
            return RunEnd::refused(ToolError::host(code, message, self.turn.locale()));
        }
        let bound = bound(self.tool, self.permit, input);
        RunEnd::of_answer(self.store(hold, bound, input).await)
    }

    /// Holds staged changes, with the answer of their run.
    pub(super) async fn hold_changes(
        &self,
        held: HeldChanges,
        answer: ToolResult,
        input: &str,
    ) -> Result<Answer, ToolError> {
        if held.changes.truncated {
            let name = &self.tool.item.name;
            let message = format!(
                "Tool '{name}' failed: its changes need approval, and are more than can be shown for it: at most 1,000 \
                 files, with 128 KiB of paths. Nothing was changed. Change fewer files in one call."
            );
            let code = ToolErrorCode::DiskLimit;
            return Err(ToolError::host(code, message, self.turn.locale()));
        }
        let files = held.changes.files.iter().zip(&held.differences);
        let files = files.map(|(change, difference)| {
            let mut file = json!(change);
            if let (Value::Object(file), Value::Object(difference)) = (&mut file, json!(difference))
            {
                file.extend(difference);
            }
            file
        });
        let mut shown = json!({"files": files.collect::<Vec<Value>>()});
        self.turn.agent().host.redactor.value(&mut shown);
        let hold = NewHold {
            staging: Some(held.id().to_owned()),
            answer: Some(answer),
            staged_bytes: held.bytes,
            ..NewHold::new(HeldEffect::Workdir, shown, held.digest.clone())
        };
        // The changes came of the arguments.
        let bound = bound(self.tool, self.permit, "");
        let answer = self.store(hold, bound, input).await?;
        held.keep();
        Ok(answer)
    }

    /// Stores the call, with the arguments that were decided about: middleware may have changed them.
    async fn store(&self, hold: NewHold, bound: String, input: &str) -> Result<Answer, ToolError> {
        let turn = self.turn;
        let (pending, effect) = (Arc::clone(turn.pending()), hold.effect);
        let webhook = turn.agent().host.policy.approvals().webhook.as_ref();
        let hold = NewHold {
            bound,
            is_inner: self.is_inner,
            webhook: webhook.map(|webhook| webhook.url.clone()),
            ..hold
        };
        let mut call = turn.pending_call(self.call, self.message);
        let decided: Option<JsonObject> = serde_json::from_str(input).ok();
        if let Some(args) = decided.filter(|args| *args != call.tool_call().args) {
            let decided = ToolCall::new(&*call.call_id, &*call.tool_name, args);
            call.message = AssistantMessage::for_call(&decided);
        }
        let (owner, existing) = (turn.instance.owner(), self.handle.clone());
        let (send, stored) = oneshot::channel();
        turn.agent().host.sandbox.threads().spawn(async move {
            let is_new = existing.is_none();
            let held = pending.hold(owner.clone(), call, existing, hold).await;
            // Who made the call may have dropped it meanwhile: then nobody has the handle.
            if let Err(Ok((handle, _))) = send.send(held)
                && is_new
            {
                pending.withdraw(&handle, &owner).await;
            }
        });
        let ended = |_| {
            let message = "The host ends: the call could not be stored.";
            ToolError::host(ToolErrorCode::Host, message, turn.locale())
        };
        let (handle, expires_at) = stored.await.map_err(ended)??;
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
