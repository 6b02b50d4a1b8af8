//! The contexts that middleware gets: of a turn, of a step and of a tool call.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    ErrorMessageLimit, HandlerCode, HandlerError, JsonObject, Locale, ToolCall, ToolCatalogItem,
    ToolError, ToolErrorCode, ToolResult, normalise_error,
};

use super::extensions::Extensions;
use super::identity::{CallIdentity, CallOrigin};
use super::progress::Progress;
use crate::catalog::ToolCatalog;

/// What a pipeline runs over: a [`ToolCallContext`](crate::middleware::ToolCallContext), a
/// [`StepContext`](crate::middleware::StepContext) or a [`TurnContext`](crate::middleware::TurnContext). Sealed: the
/// specification defines these three kinds.
pub trait MiddlewareContext: sealed::Sealed + Send + Sized + 'static {
    /// What the pipeline returns.
    type Answer: Send + 'static;

    /// Name of the kind in the specification: `turn`, `step` or `toolCall`.
    const KIND: &'static str;

    #[doc(hidden)]
    fn locale(&self) -> Locale;

    #[doc(hidden)]
    fn failed(error: ToolError) -> Self::Answer;

    #[doc(hidden)]
    fn error_of(answer: Self::Answer) -> Option<ToolError>;
}

pub(super) mod sealed {
    /// Keeps other crates from adding a kind of context.
    pub trait Sealed {}
}

/// Implements what all three contexts have: accessors of their origin, and the refusal.
macro_rules! context {
    ($context:ident, $($origin:ident).+) => {
        impl $context {
            /// Name of the agent.
            pub fn agent_name(&self) -> &str {
                &self.$($origin).+.agent_name
            }

            /// Key of the agent's instance.
            pub fn instance_key(&self) -> &str {
                &self.$($origin).+.instance_key
            }

            /// Id of the turn.
            pub fn turn_id(&self) -> &str {
                &self.$($origin).+.turn_id
            }

            /// Id shared by everything that happens for one request.
            pub fn trace_id(&self) -> &str {
                &self.$($origin).+.trace_id
            }

            /// Returns `E_MIDDLEWARE` with the middleware's own message. It has no suggestion: the
            /// message says what to do next.
            fn refusal(&self, message: impl Into<String>) -> ToolError {
                ToolError {
                    suggestion: None,
                    help_url: None,
                    ..ToolError::host(ToolErrorCode::Middleware, message, self.$($origin).+.locale)
                }
            }

            /// Returns the middleware's own error, as [`Self::refuse_with`] documents.
            fn own_refusal(&self, error: HandlerError) -> ToolError {
                if error.code.as_deref().and_then(HandlerCode::parse).is_some() {
                    return normalise_error(error, ErrorMessageLimit::DEFAULT, self.$($origin).+.locale);
                }
                ToolError {
                    suggestion: error.suggestion,
                    help_url: error.help_url,
                    ..self.refusal(error.message)
                }
            }
        }

        impl sealed::Sealed for $context {}

        impl std::fmt::Debug for $context {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($context))
                    .field("origin", &self.$($origin).+)
                    .finish_non_exhaustive()
            }
        }
    };
    // A turn or a step: its answer is a value or an error.
    ($context:ident, $kind:literal) => {
        context!($context, origin);

        impl $context {
            #[doc = concat!("Returns the answer with which a middleware refuses the ", $kind, " instead of running it.")]
            ///
            /// # Errors
            /// Always: `E_MIDDLEWARE` with this message.
            pub fn refuse(&self, message: impl Into<String>) -> Result<Value, ToolError> {
                Err(self.refusal(message))
            }

            /// As [`Self::refuse`], with a code, a suggestion and a page of the middleware's own.
            ///
            /// # Errors
            /// Always: this error. Without a code, or with one that
            /// [`HandlerError::with_code`] does not allow, it is `E_MIDDLEWARE`.
            pub fn refuse_with(&self, error: HandlerError) -> Result<Value, ToolError> {
                Err(self.own_refusal(error))
            }
        }

        impl MiddlewareContext for $context {
            type Answer = Result<Value, ToolError>;
            const KIND: &'static str = $kind;

            fn locale(&self) -> Locale {
                self.origin.locale
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

/// A tool call on its way to the tool. Calls that will be refused go through the middleware too.
///
/// Spec: tool-spec-v2 §8.3.
pub struct ToolCallContext {
    /// The arguments. A middleware may change them; they are checked against the tool's schema
    /// afterwards. They are empty if what the model wrote is not a JSON object: see
    /// [`Self::args_error`].
    pub args: JsonObject,
    /// Values that the layers of this call share. Those of its step and its turn are seen through it.
    pub extensions: Extensions,
    args_error: Option<String>,
    identity: CallIdentity,
    /// Name of the tool, as the model wrote it.
    name: String,
    kind: CallKind,
    /// That of the step; empty for a poll.
    catalog: ToolCatalog,
    progress: Arc<Progress>,
}

/// Why the layers of a call run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallKind {
    /// A call of a tool in the step's catalog.
    Call,
    /// A call of a tool in the step's catalog that another tool makes while it runs. Its id is that of the calling call,
    /// `/` and a number.
    CallOfTool,
    /// A call of a tool outside the step's catalog. It is refused, unless the policy allows calls of
    /// any tool in the registry.
    CallOutsideCatalog,
    /// A poll for the result of a pending call, whose layers ran when the call was made. Its arguments are
    /// those of the call in the assistant message, before any layer changed them; what a layer makes of
    /// them has no effect. It has no step, and its result may be `pending` again.
    Poll,
}

context!(ToolCallContext, identity.origin);

impl ToolCallContext {
    pub(crate) fn new(
        identity: &CallIdentity,
        call: ToolCall,
        kind: CallKind,
        (catalog, extensions): (ToolCatalog, &Extensions),
        progress: &Arc<Progress>,
    ) -> Self {
        Self {
            args_error: call.args_error().map(str::to_owned),
            args: call.args,
            extensions: Extensions::within(extensions),
            identity: identity.clone(),
            name: call.name,
            kind,
            catalog,
            progress: Arc::clone(progress),
        }
    }

    pub(crate) fn into_call(self) -> ToolCall {
        match self.args_error {
            Some(reason) if self.args.is_empty() => {
                ToolCall::with_args_error(&*self.identity.call_id, self.name, reason)
            }
            _ => ToolCall::new(&*self.identity.call_id, self.name, self.args),
        }
    }

    /// Returns why the arguments that the model wrote are not a JSON object. The call is then refused with
    /// `E_TOOL_INVALID_ARGS`, unless a middleware sets other arguments.
    pub fn args_error(&self) -> Option<&str> {
        self.args_error.as_deref()
    }

    /// Name of the called tool, as the model wrote it.
    pub fn tool_name(&self) -> &str {
        &self.name
    }

    /// The definition of the called tool, as the model sees it in the step's catalog. None for a call
    /// outside the catalog, and for a poll, which has no step.
    pub fn tool(&self) -> Option<&ToolCatalogItem> {
        self.catalog.get(&self.name)
    }

    /// Why the layers run.
    pub fn call_kind(&self) -> CallKind {
        self.kind
    }

    /// How far the call gets. Read it once the call has ended.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Id of the call.
    pub fn tool_call_id(&self) -> &str {
        &self.identity.call_id
    }

    /// Id of the step; empty for a poll.
    pub fn step_id(&self) -> &str {
        &self.identity.step_id
    }

    /// Returns the result with which a middleware refuses the call instead of running it:
    /// `E_MIDDLEWARE` with this message.
    pub fn refuse(&self, message: impl Into<String>) -> ToolResult {
        ToolResult::error(self.tool_call_id(), &self.name, self.refusal(message))
    }

    /// As [`Self::refuse`], with the middleware's own code and suggestion for the model. Without a code, or
    /// with one that [`HandlerError::with_code`] does not allow, the code is `E_MIDDLEWARE`.
    ///
    /// ```
    /// use toolhost::middleware::{Next, ToolCallContext};
    /// use toolhost::{HandlerError, ToolResult};
    ///
    /// async fn approve(call: ToolCallContext, next: Next<ToolCallContext>) -> ToolResult {
    ///     if call.tool_name() == "file-system__write" {
    ///         let error = HandlerError::new("the user declined").with_code("DECLINED");
    ///         return call.refuse_with(error.with_suggestion("Ask the user what to do instead."));
    ///     }
    ///     next.run(call).await
    /// }
    /// # let _ = approve;
    /// ```
    pub fn refuse_with(&self, error: HandlerError) -> ToolResult {
        ToolResult::error(self.tool_call_id(), &self.name, self.own_refusal(error))
    }
}

impl MiddlewareContext for ToolCallContext {
    type Answer = ToolResult;
    const KIND: &'static str = "toolCall";

    fn locale(&self) -> Locale {
        self.identity.origin.locale
    }

    /// The executor fills in the call's id and name.
    fn failed(error: ToolError) -> ToolResult {
        ToolResult::error("", "", error)
    }

    fn error_of(answer: ToolResult) -> Option<ToolError> {
        answer.tool_error().cloned()
    }
}

/// A step before its catalog is fixed.
///
/// Spec: tool-spec-v2 §2.1(3), §12.3.
pub struct StepContext {
    /// The tools that the model will see. A middleware may filter, add and change items. Arguments
    /// are checked against the tool's own schema, whatever the item shows; an item without a tool in
    /// the registry is shown, and calls of it return `E_TOOL_NOT_FOUND`.
    pub tool_catalog: Vec<ToolCatalogItem>,
    /// Values that the layers of this step and of its calls share. Those of its turn are seen through it.
    pub extensions: Extensions,
    id: Arc<str>,
    origin: Arc<CallOrigin>,
}

context!(StepContext, "step");

impl StepContext {
    pub(crate) fn new(
        tool_catalog: Vec<ToolCatalogItem>,
        extensions: Extensions,
        id: &Arc<str>,
        origin: &Arc<CallOrigin>,
    ) -> Self {
        Self {
            tool_catalog,
            extensions,
            id: Arc::clone(id),
            origin: Arc::clone(origin),
        }
    }

    /// Id of the step.
    pub fn step_id(&self) -> &str {
        &self.id
    }
}

/// A turn before its first step.
pub struct TurnContext {
    /// The turn's input, as the runtime gave it. A middleware may change it.
    pub input: Value,
    /// Values that the layers of this turn, its steps and their calls share.
    pub extensions: Extensions,
    origin: Arc<CallOrigin>,
}

context!(TurnContext, "turn");

impl TurnContext {
    pub(crate) fn new(input: Value, extensions: Extensions, origin: &Arc<CallOrigin>) -> Self {
        Self {
            input,
            extensions,
            origin: Arc::clone(origin),
        }
    }
}
