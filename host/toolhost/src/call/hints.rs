//! Adds causes to a failed call that the guest cannot see: a disk limit or a missing grant.

use toolhost_contract::{
    Denial, ErrorCode, Locale, NoLine, ResourceName, ToolError, ToolErrorCode,
};
use toolhost_sandbox::DiskLimit;

/// What the host recorded during a failed call.
pub(crate) struct FailureContext<'a> {
    /// Disk limit that a write exceeded.
    pub(crate) disk_limit: Option<DiskLimit>,
    /// Whether the last host call was denied.
    pub(crate) just_denied: bool,
    /// Whether memory was refused at any time.
    pub(crate) was_refused_memory: bool,
    /// Operations denied for lack of a grant.
    pub(crate) denials: &'a [Denial],
}

/// Adds a disk limit or missing grants to the error of a failed call.
pub(crate) fn explain(
    mut error: ToolError,
    context: &FailureContext<'_>,
    tool: &ResourceName,
    locale: Locale,
) -> ToolError {
    if let Some(limit) = context.disk_limit {
        error = blame_disk_limit(error, limit, locale);
    }
    if context.just_denied {
        error = blame_denial(error, locale);
    }
    if context.was_refused_memory && is_own(&error) && names_memory(&error.message) {
        error = suggest_raising(error, "memoryBytes", locale);
    }
    let (outside, others): (Vec<Denial>, Vec<Denial>) = context
        .denials
        .iter()
        .cloned()
        .partition(|denial| matches!(denial, Denial::OutsideWorkdir));
    if let Some(denials) = describe_denials(&others, tool, locale) {
        suggest_also(&mut error, &denials);
    }
    // A tool with a code of its own has explained what it does with paths.
    if !outside.is_empty() && !matches!(error.code, ErrorCode::Handler(_)) {
        suggest_path_within(&mut error, locale);
    }
    error
}

/// Suggests a path within the workdir, in place of what `E_TOOL_DENIED` suggests: no policy grants others.
fn suggest_path_within(error: &mut ToolError, locale: Locale) {
    let within = match locale {
        Locale::En => {
            "Use a path within the workdir, without `..` and links that lead out of it: no policy grants \
             other paths."
        }
        Locale::Ko => {
            "작업 디렉터리 안의 경로를 쓰세요. `..`이나 밖으로 나가는 링크는 어떤 정책으로도 허용되지 않습니다."
        }
    };
    let default = ToolErrorCode::Denied.suggestion(locale);
    if error.suggestion.as_deref() == Some(default) {
        error.suggestion = None;
    }
    suggest_also(error, within);
}

/// How errors of runtimes name memory, in lower case.
const MEMORY_WORDS: [&str; 10] = [
    "memoryerror",
    "out of memory",
    "out-of-memory",
    "outofmemory",
    "memory allocation",
    "allocate memory",
    "allocation failed",
    "allocation size overflow",
    "not enough memory",
    "bad_alloc",
];

/// Returns whether the guest's words name memory. They choose a suggestion, and no code.
fn names_memory(message: &str) -> bool {
    let message = message.to_lowercase();
    MEMORY_WORDS.iter().any(|words| message.contains(words))
}

/// Returns whether an error is the guest's own failure, as opposed to a limit or a fault of the host.
fn is_own(error: &ToolError) -> bool {
    use ToolErrorCode::{Exit, Tool, Trap};
    matches!(
        error.code,
        ErrorCode::Handler(_) | ErrorCode::Host(Tool | Trap | Exit)
    )
}

/// Replaces the guest's own failure with `E_TOOL_DENIED`, as it was denied something. Keeps its message, and
/// the suggestion of an error without a code.
fn blame_denial(error: ToolError, locale: Locale) -> ToolError {
    use ToolErrorCode::{Exit, Tool, Trap};
    let ErrorCode::Host(code @ (Tool | Trap | Exit)) = error.code else {
        return error;
    };
    let suggestion = error
        .suggestion
        .filter(|suggestion| suggestion != code.suggestion(locale));
    let denied = ToolError::host(ToolErrorCode::Denied, error.message, locale);
    ToolError {
        suggestion: suggestion.or(denied.suggestion),
        ..denied
    }
}

/// Suggests that the operator raises a limit of the policy.
pub(crate) fn suggest_raising(mut error: ToolError, key: &str, locale: Locale) -> ToolError {
    let raise = match locale {
        Locale::En => format!("Or have the operator raise {key} for this tool."),
        Locale::Ko => format!("또는 운영자에게 이 도구의 {key}를 늘려 달라고 하세요."),
    };
    suggest_also(&mut error, &raise);
    error
}

pub(super) fn suggest_also(error: &mut ToolError, more: &str) {
    match &mut error.suggestion {
        Some(suggestion) => {
            if !suggestion.ends_with(['.', '!', '?', ':', ')']) {
                suggestion.push('.');
            }
            suggestion.push(' ');
            suggestion.push_str(more);
        }
        None => error.suggestion = Some(more.to_owned()),
    }
}

/// Replaces the guest's own failure with `E_TOOL_DISK_LIMIT`. Keeps failures caused by the host.
fn blame_disk_limit(error: ToolError, limit: DiskLimit, locale: Locale) -> ToolError {
    use ToolErrorCode::{Exit, Tool, Trap};
    if matches!(error.code, ErrorCode::Host(code) if !matches!(code, Tool | Trap | Exit)) {
        return error;
    }
    let mut error = ToolError::host(ToolErrorCode::DiskLimit, error.message, locale);
    let key = match limit {
        DiskLimit::CallBytes => "diskBytes",
        DiskLimit::Files => "files",
        DiskLimit::WorkdirBytes => "workdirBytes",
        DiskLimit::Disk => {
            suggest_room(&mut error, locale);
            return error;
        }
    };
    suggest_raising(error, key, locale)
}

/// Adds what to do about a full disk.
pub(super) fn suggest_room(error: &mut ToolError, locale: Locale) {
    let make_room = match locale {
        Locale::En => "Or have the operator make room: the disk is full.",
        Locale::Ko => "또는 운영자에게 디스크 공간을 확보해 달라고 하세요. 디스크가 가득 찼습니다.",
    };
    suggest_also(error, make_room);
}

/// Returns a sentence with the denied operations and the policy lines that would grant them, or `None`
/// without denials.
fn describe_denials(denials: &[Denial], tool: &ResourceName, locale: Locale) -> Option<String> {
    let granted_by = |denial: &Denial| denial.policy_line(tool);
    // Groups the operations that the same policy line would grant.
    let groups = denials.chunk_by(|one, next| granted_by(one) == granted_by(next));
    let denied = groups.filter_map(|group| {
        let operations: Vec<String> = group.iter().map(ToString::to_string).collect();
        let by = match granted_by(group.first()?) {
            Ok(line) => match locale {
                Locale::En => format!("the policy may grant it with `{line}`"),
                Locale::Ko => format!("정책에 `{line}`를 쓰면 허용됩니다"),
            },
            Err(why) => without_line(why, tool, locale),
        };
        Some(format!("{} ({by})", operations.join(", ")))
    });
    let denied = denied.collect::<Vec<_>>().join("; ");
    (!denied.is_empty()).then(|| match locale {
        Locale::En => format!("The tool attempted operations that are not granted: {denied}."),
        Locale::Ko => format!("도구가 허용되지 않은 동작을 시도했습니다: {denied}."),
    })
}

/// Says why no policy line is suggested.
fn without_line(why: NoLine, tool: &ResourceName, locale: Locale) -> String {
    let text = match (why, locale) {
        (NoLine::ToolNames, Locale::En) => {
            return format!(
                "the policy grants it with the names of the tools that it may call, such as \
                 `tools: {{{tool}: {{tools: [\"file-system__read\"]}}}}`"
            );
        }
        (NoLine::ToolNames, Locale::Ko) => {
            return format!(
                "정책에 호출할 수 있는 도구의 이름을 쓰면 허용됩니다. 예: `tools: {{{tool}: {{tools: [\"file-system__read\"]}}}}`"
            );
        }
        (NoLine::NotPublic, Locale::En) => {
            "no rule is suggested for an address that is not public; an operator may write one, such as \
             `GET http://127.0.0.1/*`"
        }
        (NoLine::NotPublic, Locale::Ko) => {
            "공개되지 않은 주소에는 규칙을 제안하지 않습니다. 운영자는 `GET http://127.0.0.1/*` 같은 규칙을 쓸 수 있습니다"
        }
        (NoLine::NotExact, Locale::En) => "no rule allows this request alone",
        (NoLine::NotExact, Locale::Ko) => "이 요청만 허용하는 규칙은 없습니다",
        (_, Locale::En) => "no policy grants it",
        (_, Locale::Ko) => "어떤 정책으로도 허용되지 않습니다",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(error: ToolError, context: &FailureContext<'_>) -> ToolError {
        let tool = ResourceName::parse("web").unwrap();
        explain(error, context, &tool, Locale::En)
    }

    #[test]
    fn words_of_a_guest_choose_suggestions_and_no_codes() {
        let denials = [Denial::ReadOnly];
        for words in [
            "no such city",
            "PermissionError: Operation not permitted",
            "Permission denied",
            "MemoryError: out of memory",
        ] {
            for code in [
                ToolErrorCode::Tool,
                ToolErrorCode::Trap,
                ToolErrorCode::Exit,
            ] {
                let error = || ToolError::host(code, words, Locale::En);
                let context = |just_denied, was_refused_memory| FailureContext {
                    disk_limit: None,
                    just_denied,
                    was_refused_memory,
                    denials: &denials,
                };
                let later = explained(error(), &context(false, true));
                assert_eq!(later.code, ErrorCode::Host(code), "{words}");
                let suggestion = later.suggestion.unwrap();
                assert!(suggestion.contains("readOnly: false"), "{suggestion}");
                let names = words.contains("memory");
                assert_eq!(suggestion.contains("memoryBytes"), names, "{suggestion}");
                let unrefused = explained(error(), &context(false, false));
                assert!(!unrefused.suggestion.unwrap().contains("memoryBytes"));
                let last = explained(error(), &context(true, false));
                assert_eq!(last.code, ErrorCode::Host(ToolErrorCode::Denied), "{words}");
            }
        }
    }

    #[test]
    fn a_denied_request_is_named_and_no_rule_for_an_address_that_is_not_public_is_suggested() {
        let request = |text: &str| {
            let denials = [Denial::HttpRequest(text.to_owned())];
            let error = ToolError::host(ToolErrorCode::Tool, "no answer", Locale::En);
            let context = FailureContext {
                disk_limit: None,
                just_denied: true,
                was_refused_memory: false,
                denials: &denials,
            };
            explained(error, &context).suggestion.unwrap()
        };
        let public = request("GET https://a.example/v1/x");
        assert!(
            public.ends_with(
                "http: GET https://a.example/v1/x (the policy may grant it with \
                 `tools: {web: {http: {allow: [\"GET https://a.example/v1/x\"]}}}`)."
            ),
            "{public}"
        );
        let metadata = request("GET http://169.254.169.254/latest");
        assert!(
            metadata.ends_with(
                "http: GET http://169.254.169.254/latest \
                 (no rule is suggested for an address that is not public; an operator may write one, such as \
                 `GET http://127.0.0.1/*`)."
            ),
            "{metadata}"
        );
        assert!(!metadata.contains("allow:"), "{metadata}");
    }
}
