//! What a failure is explained by, where the guest could not know: a disk limit, a missing grant.

use toolhost_contract::{Denial, ErrorCode, Locale, ResourceName, ToolError, ToolErrorCode};
use toolhost_sandbox::DiskLimit;

/// What the host knows of a failed call and the guest may not.
pub(crate) struct Clues<'a> {
    /// The disk limit for which a write was refused.
    pub(crate) disk_limit: Option<DiskLimit>,
    /// Its last host call was denied.
    pub(crate) just_denied: bool,
    /// What it tried without a grant.
    pub(crate) denials: &'a [Denial],
}

/// Adds why a call failed where the guest could not know: a disk limit, or a missing grant.
pub(crate) fn explained(
    mut error: ToolError,
    clues: &Clues<'_>,
    tool: &ResourceName,
    locale: Locale,
) -> ToolError {
    if let Some(limit) = clues.disk_limit {
        error = stopped_by_the_disk(error, limit, locale);
    }
    if clues.just_denied && error.code == ErrorCode::Host(ToolErrorCode::Trap) {
        error = ToolError::host(ToolErrorCode::Denied, error.message, locale);
    }
    if let Some(denied) = denied(clues.denials, tool, locale) {
        suggest_also(&mut error, &denied);
    }
    error
}

/// Adds that the operator may raise a limit of the policy.
pub(crate) fn raisable(mut error: ToolError, key: &str, locale: Locale) -> ToolError {
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
            suggestion.push(' ');
            suggestion.push_str(more);
        }
        None => error.suggestion = Some(more.to_owned()),
    }
}

/// A call that met a limit of the disk and ended by the guest's own doing ended for the limit.
fn stopped_by_the_disk(error: ToolError, limit: DiskLimit, locale: Locale) -> ToolError {
    if matches!(error.code, ErrorCode::Host(code) if !guests_own(code)) {
        return error;
    }
    let mut error = ToolError::host(ToolErrorCode::DiskLimit, error.message, locale);
    let key = match limit {
        DiskLimit::CallBytes => "diskBytes",
        DiskLimit::Files => "files",
        DiskLimit::WorkdirBytes => "workdirBytes",
        DiskLimit::Disk => {
            let make_room = match locale {
                Locale::En => "Or have the operator make room: the disk is full.",
                Locale::Ko => {
                    "디스크가 가득 찼습니다. 또는 운영자에게 공간을 확보해 달라고 하세요."
                }
            };
            suggest_also(&mut error, make_room);
            return error;
        }
    };
    raisable(error, key, locale)
}

/// Codes of a call that ended by the guest's own doing.
fn guests_own(code: ToolErrorCode) -> bool {
    matches!(
        code,
        ToolErrorCode::Tool | ToolErrorCode::Trap | ToolErrorCode::Exit
    )
}

/// What a tool was denied, and the lines of the policy that would allow it. None where it was denied
/// nothing.
fn denied(denials: &[Denial], tool: &ResourceName, locale: Locale) -> Option<String> {
    let granted_by = |denial: &Denial| denial.policy_line(tool);
    // What one line would allow stands together.
    let groups = denials.chunk_by(|one, next| granted_by(one) == granted_by(next));
    let told = groups.map(|group| {
        let words: Vec<String> = group.iter().map(ToString::to_string).collect();
        let by = match (group.first().and_then(granted_by), locale) {
            (Some(line), Locale::En) => format!("the policy may grant it with `{line}`"),
            (Some(line), Locale::Ko) => format!("정책에 `{line}`를 쓰면 허용됩니다"),
            (None, Locale::En) => "no policy grants it".to_owned(),
            (None, Locale::Ko) => "어떤 정책으로도 허용되지 않습니다".to_owned(),
        };
        format!("{} ({by})", words.join(", "))
    });
    let told = told.collect::<Vec<_>>().join("; ");
    (!told.is_empty()).then(|| match locale {
        Locale::En => format!("The tool tried what it is not granted: {told}."),
        Locale::Ko => format!("도구가 허용되지 않은 동작을 시도했습니다: {told}."),
    })
}
