//! Data types of the Tool specification, shared by all crates of toolhost.
//!
//! Input is parsed once into types that guarantee their invariants. JSON keys are in camelCase, as in
//! the specification.

mod agent_event;
pub mod agents;
mod attempts;
mod awaiting_approval;
mod call;
mod catalog;
mod code;
mod commit_condition;
mod context;
mod denial;
mod error;
mod error_limits;
mod failed_operation;
mod file_change;
mod grants;
mod handler_spec;
pub mod http;
mod json;
pub mod json_pointer;
mod limits;
mod message;
mod name;
mod oauth_app;
mod protected;
mod recording;
mod redact;
mod resource;
mod result;
mod schema;
pub mod suggest;
pub mod text;
mod text_pattern;
mod timestamp;
mod tool_pattern;
mod usage;
mod worker;

pub use agent_event::{
    AgentEvent, Delegation, EventError, EventSource, IPC_DEPTH_MAX, IPC_LINE_BYTES_MAX, IpcBody,
    IpcError, IpcMessage, RESPONSE_TYPE, ReplyTo,
};
pub use attempts::Attempts;
pub use awaiting_approval::{AwaitingApproval, HeldEffect, approval_address};
pub use call::ToolCall;
pub use catalog::{McpSource, SourceType, ToolCatalogItem, ToolSource};
pub use code::{Locale, ToolErrorCode};
pub use commit_condition::{CommitCondition, CommitConditionError};
pub use context::ToolContext;
pub use denial::{Denial, NoLine};
pub use error::{ErrorCode, HandlerCode, HandlerError, ToolError};
pub use error_limits::{dropped_values, limit_error, limit_handler_error, normalise_error};
pub use failed_operation::FailedOperation;
pub use file_change::{
    FileChange, FileChangeCounts, FileChangeKind, FileChanges, FileDigest, FileDigestError,
};
pub use grants::{Grants, WorkdirAccess, WorkdirChanges};
pub use handler_spec::HandlerSpec;
pub use http::{
    AddressBlock, AddressBlockError, HttpCredential, HttpCredentialError, HttpGrant, HttpRule,
    HttpRuleError, OriginError,
};
pub use json::{JsonError, JsonLimits, JsonPlace, JsonShape, json_depth};
pub use limits::{DiskLimit, Limits};
pub use message::{AssistantMessage, MessageError};
pub use name::{ExportName, NameError, ResourceName, ToolName};
pub use oauth_app::{
    AuthorizationRequired, OAuthAppResource, OAuthAppSpec, OAuthClientAuth, OAuthClientId,
    OAuthEndpoints, OAuthFlow, OAuthRedirect, SubjectMode,
};
pub use protected::{CASES_FOLDER, FileId, NameChange, Protected};
pub use recording::{
    Answer, Divergence, HostCall, Operation, RECORDING_VERSION, RecordedComponent, RecordedEngine,
    RecordedLimits, RecordedOutcome, Recording, RecordingEnd, ReplayEvent,
};
pub use redact::{HeldSecret, Redactor};
pub use resource::{
    AgentResource, AgentSpec, ErrorMessageLimit, McpServerResource, McpServerSpec,
    McpTransportSpec, ResourceMetadata, ToolExportSpec, ToolResource, ToolSpec,
};
pub use result::{ToolResult, ToolStatus};
pub use schema::{JsonSchemaObject, SchemaShapeError};
pub use text_pattern::{TextPattern, TextPatternError};
pub use timestamp::Timestamp;
pub use tool_pattern::{ToolPattern, ToolPatternError};
pub use usage::{ToolCallUsage, ToolCallsUsage, Usage};
pub use worker::{
    WORKER_VERSION, WorkerCall, WorkerCallId, WorkerCallIdError, WorkerMessageError, WorkerReport,
};

/// A JSON object, which keeps the order of its keys.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
