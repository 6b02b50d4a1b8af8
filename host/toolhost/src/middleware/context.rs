//! What middleware is given: the context of a turn, of a step, of a tool call.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    JsonObject, Locale, ToolCall, ToolCatalogItem, ToolError, ToolErrorCode, ToolResult,
};

use super::metadata::Metadata;
use super::progress::Progress;

use super::pipeline::{MiddlewareContext, sealed::Sealed};
use crate::turn::TurnInner;

macro_rules! whose {
    ($context:ident) => {
        impl $context {
            /// The agent.
            #[must_use]
            pub fn agent_name(&self) -> &str {
                self.turn.agent_name()
            }

            /// Key of the agent's instance.
            #[must_use]
            pub fn instance_key(&self) -> &str {
                self.turn.instance_key()
            }

            /// Id of the turn.
            #[must_use]
            pub fn turn_id(&self) -> &str {
                &self.turn.id
            }

            /// Id that ties together everything that happens for one request.
            #[must_use]
            pub fn trace_id(&self) -> &str {
                self.turn.trace_id()
            }

            /// The error with which a middleware ends the passage: `E_MIDDLEWARE`, in its own words.
            fn refused(&self, why: impl Into<String>) -> ToolError {
                let locale = self.turn.locale();
                ToolError {
                    // Nothing has failed: what to do next is in the words.
                    suggestion: None,
                    help_url: None,
                    ..ToolError::host(ToolErrorCode::Middleware, why, locale)
                }
            }
        }

        impl Sealed for $context {}

        impl std::fmt::Debug for $context {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($context))
                    .field("agent", &self.agent_name())
                    .field("instance", &self.instance_key())
                    .field("turn", &self.turn_id())
                    .finish_non_exhaustive()
            }
        }
    };
}

/// A tool call on its way to the tool. Refused calls pass here too.
///
/// Spec: tool-spec-v2 §8.3.
pub struct ToolCallContext {
    /// The arguments, which may be changed; they are checked against the tool's schema afterwards.
    pub args: JsonObject,
    /// What the layers of this call tell each other.
    pub metadata: Metadata,
    id: String,
    name: String,
    call_kind: CallKind,
    progress: Arc<Progress>,
    step_id: Arc<str>,
    turn: Arc<TurnInner>,
}

/// What a layer is asked to pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A call of a tool that the step shows.
    Call,
    /// A call of a tool that the step does not show: it is refused, unless the policy admits calls of
    /// the registry.
    CallOutsideCatalog,
    /// A question for the result of a call that is pending: the call itself was passed on before.
    /// There are no arguments and no step, and the result may be `pending` again.
    Poll,
}

whose!(ToolCallContext);

impl ToolCallContext {
    pub(crate) fn new(
        call: ToolCall,
        call_kind: CallKind,
        progress: &Arc<Progress>,
        step_id: &Arc<str>,
        turn: &Arc<TurnInner>,
    ) -> Self {
        Self {
            call_kind,
            progress: Arc::clone(progress),
            args: call.args,
            metadata: Metadata::default(),
            id: call.id,
            name: call.name,
            step_id: Arc::clone(step_id),
            turn: Arc::clone(turn),
        }
    }

    pub(crate) fn into_call(self) -> ToolCall {
        ToolCall::new(self.id, self.name, self.args)
    }

    /// Name that is called, as the model spelled it.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.name
    }

    /// What the layer is asked to pass on.
    #[must_use]
    pub fn call_kind(&self) -> CallKind {
        self.call_kind
    }

    /// How far the call gets, to be looked at when it has ended.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Id of the call.
    #[must_use]
    pub fn tool_call_id(&self) -> &str {
        &self.id
    }

    /// Id of the step.
    #[must_use]
    pub fn step_id(&self) -> &str {
        &self.step_id
    }

    /// The result with which a middleware refuses the call instead of running it: `E_MIDDLEWARE`.
    #[must_use]
    pub fn refuse(&self, why: impl Into<String>) -> ToolResult {
        ToolResult::error(&self.id, &self.name, self.refused(why))
    }
}

impl MiddlewareContext for ToolCallContext {
    type Answer = ToolResult;
    const KIND: &'static str = "toolCall";

    fn locale(&self) -> Locale {
        self.turn.locale()
    }

    /// The call's own id and name are put in at the exit.
    fn failed(error: ToolError) -> ToolResult {
        ToolResult::error("", "", error)
    }

    fn error_of(answer: ToolResult) -> Option<ToolError> {
        answer.tool_error().cloned()
    }
}

/// A step before its catalog becomes the snapshot that calls are admitted against.
///
/// Spec: tool-spec-v2 §2.1(3), §12.3.
pub struct StepContext {
    /// What the model will be shown, which may be filtered, added to and changed. Arguments are
    /// checked against the tool's own schema, whatever is shown; an item that no tool of the
    /// registry has is shown and answers `E_TOOL_NOT_FOUND`.
    pub tool_catalog: Vec<ToolCatalogItem>,
    /// What the layers of this step tell each other.
    pub metadata: Metadata,
    id: Arc<str>,
    turn: Arc<TurnInner>,
}

whose!(StepContext);

impl StepContext {
    pub(crate) fn new(catalog: Vec<ToolCatalogItem>, id: &Arc<str>, turn: &Arc<TurnInner>) -> Self {
        Self {
            tool_catalog: catalog,
            metadata: Metadata::default(),
            id: Arc::clone(id),
            turn: Arc::clone(turn),
        }
    }

    /// Id of the step.
    #[must_use]
    pub fn step_id(&self) -> &str {
        &self.id
    }

    /// The answer with which a middleware refuses the step instead of running it.
    ///
    /// # Errors
    /// Always: `E_MIDDLEWARE`.
    pub fn refuse(&self, why: impl Into<String>) -> Result<Value, ToolError> {
        Err(self.refused(why))
    }
}

/// A turn before its first step.
pub struct TurnContext {
    /// What the turn is about, as the runtime gave it; it may be changed.
    pub input: Value,
    /// What the layers of this turn tell each other.
    pub metadata: Metadata,
    turn: Arc<TurnInner>,
}

whose!(TurnContext);

impl TurnContext {
    pub(crate) fn new(input: Value, turn: &Arc<TurnInner>) -> Self {
        Self {
            input,
            metadata: Metadata::default(),
            turn: Arc::clone(turn),
        }
    }

    /// The answer with which a middleware refuses the turn instead of running it.
    ///
    /// # Errors
    /// Always: `E_MIDDLEWARE`.
    pub fn refuse(&self, why: impl Into<String>) -> Result<Value, ToolError> {
        Err(self.refused(why))
    }
}

macro_rules! passes_a_value {
    ($context:ident, $kind:literal) => {
        impl MiddlewareContext for $context {
            type Answer = Result<Value, ToolError>;
            const KIND: &'static str = $kind;

            fn locale(&self) -> Locale {
                self.turn.locale()
            }

            fn failed(error: ToolError) -> Self::Answer {
                Err(error)
            }

            fn error_of(answer: Self::Answer) -> Option<ToolError> {
                answer.err()
            }
        }
    };
}

passes_a_value!(StepContext, "step");
passes_a_value!(TurnContext, "turn");
