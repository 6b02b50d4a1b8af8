//! Turns what a handler raised into the error a model reads.

mod truncate;

use crate::{
    ErrorCode, ErrorMessageLimit, HandlerCode, HandlerError, Locale, ToolError, ToolErrorCode, text,
};
use truncate::truncate;

/// Longest `name` of an error, in characters.
const NAME_MAX: usize = 128;

/// Longest `helpUrl`, in bytes; a longer one is dropped, since half a link leads nowhere.
const HELP_URL_MAX: usize = 2048;

/// Makes the error a model reads out of what a handler (of a guest, or native) raised.
///
/// - `code`: the handler's own, if it is well formed and not one of the host's; else `E_TOOL`,
///   which brings the table's suggestion and page where the handler gave none
/// - `message`, `suggestion`: control characters escaped, cut to `limit`
/// - `name`: escaped, at most 128 characters, `Error` where there is none
/// - `helpUrl`: kept if it is `https://`, at most 2 KiB and without blanks
///
/// Spec: tool-spec-v2 §2.4, §10.3.
#[must_use]
pub fn normalise_error(error: HandlerError, limit: ErrorMessageLimit, locale: Locale) -> ToolError {
    let own_code = error.code.as_deref().and_then(HandlerCode::parse);
    let mut normal = match own_code {
        Some(code) => ToolError {
            message: String::new(),
            name: None,
            code: ErrorCode::Handler(code),
            suggestion: None,
            help_url: None,
        },
        None => ToolError::host(ToolErrorCode::Tool, "", locale),
    };
    // What is blank, or blank as far as it is kept, says nothing.
    let says = |text: &String| !text.trim().is_empty();
    let own_name = error.name.map(|name| limit_name(&name)).filter(says);
    normal.name = Some(own_name.unwrap_or_else(|| ToolErrorCode::Tool.error_name().to_owned()));
    normal.message = error.message;
    let own_suggestion = error.suggestion.map(|text| limit_text(&text, limit));
    if let Some(own) = own_suggestion.filter(says) {
        normal.suggestion = Some(own);
    }
    if let Some(own) = error.help_url.filter(|url| is_help_url(url)) {
        normal.help_url = Some(own);
    }
    limit_error(normal, limit)
}

/// Bounds an error at the exit, whoever made it: the host, a handler, a middleware.
///
/// The message is cut to `limit`, or to [`ErrorMessageLimit::MOST`] where that is less, the suggestion to `limit` or 1000, whichever is more (a short
/// limit shall not cut the host's own advice). Idempotent.
///
/// Spec: tool-spec-v2 §2.4(2).
#[must_use]
pub fn limit_error(error: ToolError, limit: ErrorMessageLimit) -> ToolError {
    let for_suggestion = if limit.units() < ErrorMessageLimit::DEFAULT.units() {
        ErrorMessageLimit::DEFAULT
    } else {
        limit
    };
    let mut message = limit_text(&error.message, limit);
    // Also where only the beginning is blank, and the limit leaves no more.
    if message.trim().is_empty() {
        message = limit_text(&unexplained(&error), limit);
    }
    ToolError {
        message,
        name: error.name.map(|name| limit_name(&name)),
        code: error.code,
        suggestion: error
            .suggestion
            .map(|text| limit_text(&text, for_suggestion)),
        help_url: error.help_url.filter(|url| is_help_url(url)),
    }
}

/// Bounds what an agent's turn raised, for whoever asked it: as [`normalise_error`] does, but what it
/// did not say stays unsaid.
#[must_use]
pub fn guard_error(error: HandlerError) -> HandlerError {
    let limit = ErrorMessageLimit::DEFAULT;
    HandlerError {
        message: limit_text(&error.message, limit),
        name: error.name.map(|name| limit_name(&name)),
        code: error.code.filter(|code| HandlerCode::parse(code).is_some()),
        suggestion: error.suggestion.map(|text| limit_text(&text, limit)),
        help_url: error.help_url.filter(|url| is_help_url(url)),
    }
}

/// Says what is known of a failure that came without a message.
fn unexplained(error: &ToolError) -> String {
    match &error.code {
        ErrorCode::Host(ToolErrorCode::Tool) => "the tool failed and gave no message".to_owned(),
        ErrorCode::Host(code) => format!("the call failed with {}", code.as_str()),
        ErrorCode::Handler(_) => {
            format!(
                "the tool failed with code {} and gave no message",
                error.code
            )
        }
    }
}

fn limit_text(message: &str, limit: ErrorMessageLimit) -> String {
    let limit = limit.min(ErrorMessageLimit::MOST);
    truncate(&text::escape_within(message, limit.units()), limit)
}

fn limit_name(name: &str) -> String {
    text::cut(&text::escape_within(name, NAME_MAX), NAME_MAX)
}

fn is_help_url(url: &str) -> bool {
    url.len() <= HELP_URL_MAX
        && url
            .strip_prefix("https://")
            .is_some_and(|rest| !rest.is_empty())
        && text::is_plain(url)
}

#[cfg(test)]
mod tests;
