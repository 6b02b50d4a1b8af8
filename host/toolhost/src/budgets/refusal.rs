//! What a model reads of a call that would exceed a budget.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolhost_contract::{Locale, Timestamp, ToolError, ToolErrorCode, ToolName};

use super::account::Exceeded;

/// Returns the error of a call that was not made.
pub(super) fn refusal(
    exceeded: &Exceeded,
    tool: &ToolName,
    now: SystemTime,
    locale: Locale,
) -> ToolError {
    let Exceeded {
        budget,
        kind,
        used,
        needed,
        ends_ms,
    } = exceeded;
    let limits = budget.limits().find(|(at, ..)| at == kind);
    let Some((_, info, limit)) = limits else {
        return ToolError::host(ToolErrorCode::Budget, "The budget is used up.", locale);
    };
    let (of, per) = (info.with_unit(limit), budget.period.as_str());
    let needs = if *needed > 1 && *used < limit {
        format!(", and this call costs {needed}")
    } else {
        String::new()
    };
    let used = info.shown(*used);
    let resets = UNIX_EPOCH + Duration::from_millis(*ends_ms);
    let left = in_words(resets.duration_since(now).unwrap_or_default());
    let resets = Timestamp(resets);
    let message = format!(
        "Tool '{tool}' was not called: the budget of {budget} is {of} per {per}, of which {used} are used{needs}. \
         It resets at {resets}, in {left}."
    );
    let mut error = ToolError::host(ToolErrorCode::Budget, message, locale);
    let path = budget.path_of(info);
    let raise = match locale {
        Locale::En => format!(" Or have the operator raise {path} of the policy."),
        Locale::Ko => format!(" 또는 운영자에게 정책의 {path} 값을 늘려 달라고 하세요."),
    };
    error.suggestion.get_or_insert_default().push_str(&raise);
    error
}

/// Returns a time as "3 hours and 5 minutes", rounded up to minutes.
pub(super) fn in_words(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    let many = |count: u64, of: &str| match count {
        1 => format!("1 {of}"),
        _ => format!("{count} {of}s"),
    };
    match (minutes / 60, minutes % 60) {
        (0, minutes) => many(minutes.max(1), "minute"),
        (hours, 0) => many(hours, "hour"),
        (hours, minutes) => format!("{} and {}", many(hours, "hour"), many(minutes, "minute")),
    }
}
