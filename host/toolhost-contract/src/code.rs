//! The table of host error codes.

/// Language of the host's suggestions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Locale {
    /// English.
    #[default]
    En,
    /// Korean, the language of the specification.
    Ko,
}

/// Base URL of the pages of the codes.
const HELP_BASE: &str = "https://docs.goondan.ai/errors/";

macro_rules! codes {
    ($( $variant:ident = $code:literal, $name:literal, $en:literal, $ko:literal; )*) => {
        /// An error code of the host.
        ///
        /// Guests cannot set these codes: see [`HandlerCode`](crate::HandlerCode).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ToolErrorCode {
            $(
                #[doc = concat!("`", $code, "`: ", $en)]
                $variant,
            )*
        }

        impl ToolErrorCode {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the code as text, such as `E_TOOL_TIMEOUT`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// Returns the `name` of errors with this code.
            #[must_use]
            pub fn error_name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns the default suggestion of errors with this code.
            #[must_use]
            pub fn suggestion(self, locale: Locale) -> &'static str {
                match (self, locale) { $(
                    (Self::$variant, Locale::En) => $en,
                    (Self::$variant, Locale::Ko) => $ko,
                )* }
            }
        }
    };
}

codes! {
    Tool = "E_TOOL", "Error",
        "Read the message: change the call if it is at fault, or report it to the tool's author.",
        "메시지를 읽고 호출을 고치거나, 호출에 잘못이 없으면 도구 작성자에게 알리세요.";
    NotInCatalog = "E_TOOL_NOT_IN_CATALOG", "ToolNotInCatalogError",
        "Add the tool to spec.tools of the Agent, or register it in a step middleware.",
        "Agent 구성의 spec.tools에 해당 도구를 추가하거나, step 미들웨어에서 동적으로 등록하세요.";
    NotFound = "E_TOOL_NOT_FOUND", "ToolNotFoundError",
        "Use a tool that is in the Tool Registry.",
        "Tool Registry에 등록된 도구를 사용하세요.";
    InvalidArgs = "E_TOOL_INVALID_ARGS", "ToolInputValidationError",
        "Correct the arguments so that they fit the tool's parameters, and call again.",
        "도구의 파라미터 스키마에 맞게 인자를 수정한 뒤 다시 호출하세요.";
    Timeout = "E_TOOL_TIMEOUT", "ToolTimeoutError",
        "Ask for less in one call, or have the operator raise deadlineMs for this tool.",
        "한 번에 더 적은 작업을 요청하거나, 운영자에게 이 도구의 deadlineMs를 늘려 달라고 하세요.";
    Cancelled = "E_TOOL_CANCELLED", "ToolCancelledError",
        "The caller cancelled the call; call again if the result is still needed.",
        "호출이 취소되었습니다. 여전히 필요하면 다시 호출하세요.";
    OutOfMemory = "E_TOOL_OUT_OF_MEMORY", "ToolOutOfMemoryError",
        "Ask for less in one call, or have the operator raise memoryBytes for this tool.",
        "한 번에 더 적은 작업을 요청하거나, 운영자에게 이 도구의 memoryBytes를 늘려 달라고 하세요.";
    Trap = "E_TOOL_TRAP", "ToolTrapError",
        "The tool crashed on this input: try other arguments, and report it to the tool's author.",
        "이 입력에서 도구가 비정상 종료되었습니다. 다른 인자로 시도하고 도구 작성자에게 알리세요.";
    Exit = "E_TOOL_EXIT", "ToolExitError",
        "The tool exited without a result: report it to the tool's author.",
        "도구가 결과를 반환하지 않고 종료되었습니다. 도구 작성자에게 알리세요.";
    InvalidOutput = "E_TOOL_INVALID_OUTPUT", "ToolInvalidOutputError",
        "The tool's result does not fit the contract or its outputSchema: report it to the tool's author.",
        "도구의 결과가 계약이나 outputSchema에 맞지 않습니다. 도구 작성자에게 알리세요.";
    OutputTooLarge = "E_TOOL_OUTPUT_TOO_LARGE", "ToolOutputTooLargeError",
        "Ask for a smaller part, a filter or a page of the result.",
        "결과의 일부, 필터 또는 페이지를 요청하세요.";
    Denied = "E_TOOL_DENIED", "ToolDeniedError",
        "The operator's policy does not allow this; do it another way or ask the operator.",
        "운영자 정책이 허용하지 않습니다. 다른 방법을 쓰거나 운영자에게 요청하세요.";
    DiskLimit = "E_TOOL_DISK_LIMIT", "ToolDiskLimitError",
        "Write less in one call, or remove files that are not needed.",
        "한 번에 더 적게 쓰거나, 필요 없는 파일을 지우세요.";
    Busy = "E_TOOL_BUSY", "ToolBusyError",
        "Too many calls are running: wait a little, then call again.",
        "실행 중인 호출이 너무 많습니다. 잠시 후 다시 호출하세요.";
    UnknownHandle = "E_TOOL_UNKNOWN_HANDLE", "ToolUnknownHandleError",
        "The handle is unknown or has expired: call the tool again.",
        "핸들을 찾을 수 없거나 만료되었습니다. 도구를 다시 호출하세요.";
    CallLimit = "E_TOOL_CALL_LIMIT", "ToolCallLimitError",
        "Call fewer tools: wait for calls before starting others, or have the operator raise the limit.",
        "호출하는 도구 수를 줄이세요. 먼저 시작한 호출을 기다리거나 운영자에게 한도를 늘려 달라고 하세요.";
    Budget = "E_TOOL_BUDGET", "ToolBudgetError",
        "Go on without this call until the time that the message names: with what you have, or with another tool.",
        "메시지에 나온 시각까지는 이 호출 없이, 지금 있는 결과나 다른 도구로 계속하세요.";
    CallNotUndone = "E_TOOL_CALL_NOT_UNDONE", "ToolCallNotUndoneError",
        "None of the changes were kept: correct the call that failed, then repeat the whole.",
        "변경 사항이 반영되지 않았습니다. 실패한 호출을 고친 뒤 전체를 다시 실행하세요.";
    ApprovalDenied = "E_TOOL_APPROVAL_DENIED", "ToolApprovalDeniedError",
        "Nothing of it was done: do not make the same call again; follow the reason, or ask the user.",
        "아무것도 처리되지 않았습니다. 같은 호출을 반복하지 말고 사유를 따르거나 사용자에게 물어보세요.";
    ApprovalExpired = "E_TOOL_APPROVAL_EXPIRED", "ToolApprovalExpiredError",
        "Nothing of it was done, as nobody decided in time: make the call again if it is still needed.",
        "제때 결정한 사람이 없어 아무것도 처리되지 않았습니다. 아직 필요하면 다시 호출하세요.";
    Interrupted = "E_TOOL_INTERRUPTED", "ToolInterruptedError",
        "The host stopped while the call ran: check what was done before calling again.",
        "호출이 실행되는 동안 호스트가 중단되었습니다. 다시 호출하기 전에 무엇이 처리되었는지 확인하세요.";
    Unloaded = "E_TOOL_UNLOADED", "ToolUnloadedError",
        "The bundle of this tool was unloaded: continue without the tool, or have the runtime load the bundle.",
        "이 도구의 번들이 언로드되었습니다. 도구 없이 계속하거나 런타임에서 번들을 다시 로드하세요.";
    WorkdirConflict = "E_TOOL_WORKDIR_CONFLICT", "ToolWorkdirConflictError",
        "Read the named files again, then repeat the call: none of its changes were kept.",
        "메시지에 나온 파일을 다시 읽은 뒤 호출을 반복하세요. 이번 호출의 변경 사항은 반영되지 않았습니다.";
    WorkdirStaging = "E_TOOL_WORKDIR_STAGING", "ToolWorkdirStagingError",
        "Nothing was changed: have the operator put the state root on the workdir's file system, or set workdir: direct.",
        "변경된 것이 없습니다. 운영자에게 상태 디렉터리를 작업 디렉터리와 같은 파일 시스템에 두거나 workdir: direct로 설정해 달라고 하세요.";
    Host = "E_HOST", "ToolHostError",
        "The host failed, not the tool: try again, and tell the operator.",
        "도구가 아니라 호스트에서 오류가 발생했습니다. 다시 시도하고 운영자에게 알리세요.";
    Middleware = "E_MIDDLEWARE", "ToolMiddlewareError",
        "A middleware of the runtime failed: tell the operator.",
        "런타임의 미들웨어에서 오류가 발생했습니다. 운영자에게 알리세요.";
    AuthRequired = "E_TOOL_AUTH_REQUIRED", "ToolAuthorizationRequiredError",
        "Ask the user to open the link and grant access, then make the same call again.",
        "사용자에게 링크를 열어 접근을 허용해 달라고 한 뒤 같은 호출을 다시 하세요.";
    AuthSubject = "E_TOOL_AUTH_SUBJECT", "ToolAuthorizationSubjectError",
        "Have the runtime set the subject of the turn: the app keeps a grant for each user.",
        "런타임에서 턴의 subject를 설정하게 하세요. 이 앱은 사용자마다 따로 권한을 저장합니다.";
    AuthScope = "E_TOOL_AUTH_SCOPE", "ToolAuthorizationScopeError",
        "Have the operator correct the scopes: those of the tool in the policy must be among those of the OAuthApp.",
        "운영자에게 스코프를 고쳐 달라고 하세요. 정책에 쓴 도구의 스코프는 OAuthApp의 스코프에 포함되어야 합니다.";
    AuthFailed = "E_TOOL_AUTH_FAILED", "ToolAuthorizationError",
        "No token could be obtained: try again later, and tell the operator if it lasts.",
        "토큰을 얻지 못했습니다. 나중에 다시 시도하고, 계속되면 운영자에게 알리세요.";
    AgentNotFound = "AGENT_NOT_FOUND", "AgentNotFoundError",
        "Use the name of an agent that agents__catalog lists.",
        "agents__catalog에 있는 에이전트 이름을 사용하세요.";
    AgentRequestTimeout = "AGENT_REQUEST_TIMEOUT", "AgentRequestTimeoutError",
        "Raise timeoutMs, or send the request with async: true.",
        "timeoutMs를 늘리거나 async: true로 요청하세요.";
    CircularCall = "CIRCULAR_CALL_DETECTED", "CircularCallError",
        "The agents would wait for each other: use send, or ask another agent.",
        "에이전트들이 서로를 기다리게 됩니다. send를 쓰거나 다른 에이전트에 요청하세요.";
    IpcDeliveryFailed = "IPC_DELIVERY_FAILED", "IpcDeliveryError",
        "The event was not delivered: wait a little, then send it again.",
        "이벤트가 전달되지 않았습니다. 잠시 후 다시 보내세요.";
    ConfigParse = "E_CONFIG_PARSE_ERROR", "ConfigError",
        "Correct the YAML at the reported location.",
        "표시된 위치의 YAML을 수정하세요.";
    ConfigSchema = "E_CONFIG_SCHEMA_INVALID", "ConfigError",
        "Correct the resource at the reported location.",
        "표시된 위치의 리소스를 수정하세요.";
    ConfigName = "E_CONFIG_INVALID_NAME", "ConfigError",
        "Use lower-case letters, digits, '_' and '-', without '__'.",
        "영문 소문자, 숫자, '_', '-'만 사용하고 '__'는 쓰지 마세요.";
    ConfigDuplicate = "E_CONFIG_DUPLICATE_NAME", "ConfigError",
        "Rename or remove one of the two.",
        "둘 중 하나의 이름을 바꾸거나 삭제하세요.";
    ConfigRef = "E_CONFIG_INVALID_REF", "ConfigError",
        "Write a reference as \"Tool/name\" or {kind: Tool, name: name}.",
        "참조는 \"Tool/name\" 또는 {kind: Tool, name: name} 형식으로 쓰세요.";
    ConfigRefNotFound = "E_CONFIG_REF_NOT_FOUND", "ConfigError",
        "Declare the resource in the bundle, or correct the name.",
        "번들에 리소스를 선언하거나 이름을 수정하세요.";
    ConfigEntry = "E_CONFIG_ENTRY_NOT_FOUND", "ConfigError",
        "Build the component, or correct spec.entry; it is relative to the bundle's directory and lies beneath it.",
        "컴포넌트를 빌드하거나 spec.entry를 수정하세요. 경로는 번들 디렉터리를 기준으로 하며, 그 안에 있어야 합니다.";
    ConfigInclude = "E_CONFIG_INCLUDE", "ConfigError",
        "Correct the path: it is relative to the file that includes it, and names a bundle beneath its directory.",
        "경로를 수정하세요. 포함하는 파일을 기준으로 한 상대 경로이며, 그 디렉터리 안의 번들이어야 합니다.";
    ConfigLock = "E_CONFIG_LOCK", "ConfigError",
        "Review what differs; `toolhost lock --update NAME` writes it into the lock.",
        "달라진 내용을 검토하세요. `toolhost lock --update NAME`이 lock에 반영합니다.";
    ConfigSignature = "E_CONFIG_SIGNATURE", "ConfigError",
        "Ask who publishes the package to sign it, or add the signer to the policy's packages.signers.",
        "패키지를 배포한 쪽에 서명을 요청하거나, 정책의 packages.signers에 서명자를 추가하세요.";
    ConfigTooLarge = "E_CONFIG_FILE_TOO_LARGE", "ConfigError",
        "Split the file or make it smaller.",
        "파일을 나누거나 줄이세요.";
    ConfigTooMany = "E_CONFIG_TOO_MANY_DOCUMENTS", "ConfigError",
        "Split the bundle.",
        "번들을 나누세요.";
    ConfigApiVersion = "E_CONFIG_UNSUPPORTED_API_VERSION", "ConfigError",
        "Write apiVersion: goondan.ai/v1.",
        "apiVersion: goondan.ai/v1로 쓰세요.";
    ComponentInvalid = "E_COMPONENT_INVALID", "ComponentError",
        "Build the tool as a WASI 0.2 component (for Rust: cargo build --target wasm32-wasip2).",
        "도구를 WASI 0.2 컴포넌트로 빌드하세요(Rust의 경우 cargo build --target wasm32-wasip2).";
    ComponentWorld = "E_COMPONENT_WRONG_WORLD", "ComponentError",
        "Export goondan:tool/handlers@2.0.0, built from the published WIT.",
        "공개된 WIT로 빌드하여 goondan:tool/handlers@2.0.0을 export하세요.";
    ComponentVersion = "E_COMPONENT_WRONG_VERSION", "ComponentError",
        "Build the tool against a version of goondan:tool that this host serves.",
        "이 호스트가 지원하는 goondan:tool 버전으로 빌드하세요.";
    ComponentImport = "E_COMPONENT_UNSERVED_IMPORT", "ComponentError",
        "Build the tool without this import; the host serves WASI 0.2 cli, clocks, filesystem, http, io, random and sockets, wasi:logging, goondan:tool/agents, goondan:tool/modes and goondan:tool/tools.",
        "이 import 없이 빌드하세요. 호스트는 WASI 0.2의 cli, clocks, filesystem, http, io, random, sockets와 wasi:logging, goondan:tool/agents, goondan:tool/modes, goondan:tool/tools를 제공합니다.";
    ComponentHandler = "E_COMPONENT_MISSING_HANDLER", "ComponentError",
        "Serve the handler in the component, or remove the export from the manifest.",
        "컴포넌트에 핸들러를 추가하거나 매니페스트에서 export를 삭제하세요.";
    ComponentExtraHandler = "E_COMPONENT_EXTRA_HANDLER", "ComponentError",
        "Export the handler in the manifest, or ignore the warning: the model cannot call it.",
        "매니페스트에서 핸들러를 export하세요. 경고를 무시하면 모델은 이 핸들러를 호출할 수 없습니다.";
    ComponentLimit = "E_COMPONENT_TOO_LARGE", "ComponentError",
        "Make the component smaller: build optimised and stripped.",
        "컴포넌트를 최적화하고 심벌을 제거(strip)하여 크기를 줄이세요.";
    ComponentDescribe = "E_COMPONENT_DESCRIBE_FAILED", "ComponentError",
        "Make describe return immediately, without files or network.",
        "describe가 파일이나 네트워크 없이 즉시 응답하게 하세요.";
}

impl ToolErrorCode {
    /// Parses a code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.as_str() == code)
    }

    /// Returns the URL of the page of this code.
    #[must_use]
    pub fn help_url(self) -> String {
        format!("{HELP_BASE}{}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_text_a_name_and_a_suggestion() {
        // tool-spec-v2 §2.4(4), §2.4(5)
        for code in ToolErrorCode::ALL {
            assert_eq!(ToolErrorCode::from_code(code.as_str()), Some(*code));
            assert!(code.error_name().ends_with("Error"), "{code:?}");
            assert!(code.suggestion(Locale::En).len() > 10, "{code:?}");
            assert!(!code.suggestion(Locale::Ko).is_ascii(), "{code:?}");
            assert!(code.help_url().starts_with("https://"), "{code:?}");
        }
    }
}
