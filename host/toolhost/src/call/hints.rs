//! Adds causes to a failed call that the guest cannot see: a disk limit or a missing grant.

use toolhost_contract::{Denial, ErrorCode, Locale, ResourceName, ToolError, ToolErrorCode};
use toolhost_sandbox::DiskLimit;

/// What the host recorded during a failed call.
pub(crate) struct FailureContext<'a> {
    /// Disk limit that a write exceeded.
    pub(crate) disk_limit: Option<DiskLimit>,
    /// Whether the last host call was denied.
    pub(crate) just_denied: bool,
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
    if context.just_denied || (!context.denials.is_empty() && names_denial(&error.message)) {
        error = blame_denial(error, locale);
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

/// How languages report a denied file operation, in lower case. Some read files after it, such as the source
/// for a traceback, so that the denial is not the last operation.
const DENIAL_WORDS: [&str; 3] = ["not permitted", "permission denied", "permissionerror"];

fn names_denial(message: &str) -> bool {
    let message = message.to_lowercase();
    DENIAL_WORDS.iter().any(|words| message.contains(words))
}

/// Replaces the guest's own failure with `E_TOOL_DENIED`, as it was denied something. Keeps its message, and
/// the suggestion of an error without a code.
fn blame_denial(error: ToolError, locale: Locale) -> ToolError {
    use ToolErrorCode::{Exit, Tool, Trap};
    let ErrorCode::Host(code @ (Tool | Trap | Exit)) = error.code else {
        return error;
    };
    let own = error
        .suggestion
        .filter(|own| own != code.suggestion(locale));
    let denied = ToolError::host(ToolErrorCode::Denied, error.message, locale);
    ToolError {
        suggestion: own.or(denied.suggestion),
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

fn suggest_also(error: &mut ToolError, more: &str) {
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
    let denied = groups.map(|group| {
        let operations: Vec<String> = group.iter().map(ToString::to_string).collect();
        let by = match (group.first().and_then(granted_by), locale) {
            (Some(line), Locale::En) => format!("the policy may grant it with `{line}`"),
            (Some(line), Locale::Ko) => format!("정책에 `{line}`를 쓰면 허용됩니다"),
            (None, Locale::En) => "no policy grants it".to_owned(),
            (None, Locale::Ko) => "어떤 정책으로도 허용되지 않습니다".to_owned(),
        };
        format!("{} ({by})", operations.join(", "))
    });
    let denied = denied.collect::<Vec<_>>().join("; ");
    (!denied.is_empty()).then(|| match locale {
        Locale::En => format!("The tool attempted operations that are not granted: {denied}."),
        Locale::Ko => format!("도구가 허용되지 않은 동작을 시도했습니다: {denied}."),
    })
}
