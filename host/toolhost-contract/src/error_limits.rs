//! Converts errors of handlers to errors for the model, and limits them.

mod truncate;

use crate::{
    ErrorCode, ErrorMessageLimit, HandlerCode, HandlerError, Locale, ToolError, ToolErrorCode, text,
};
use truncate::truncate;

/// Longest `name` of an error, in characters.
const NAME_MAX: usize = 128;

/// Longest `helpUrl`, in bytes. A longer one is dropped, because a truncated link is useless.
const HELP_URL_MAX: usize = 2048;

/// Converts the error of a guest's or native handler to the error for the model.
///
/// - `code`: the handler's code if it is valid, otherwise `E_TOOL`, with its suggestion and page unless
///   the handler set them
/// - `message`, `suggestion`: control characters escaped, truncated to `limit`
/// - `name`: escaped, at most 128 characters, `Error` if unset
/// - `helpUrl`: kept if it is `https://`, at most 2 KiB and without whitespace
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
    let is_not_blank = |text: &String| !text.trim().is_empty();
    let own_name = error
        .name
        .map(|name| limit_name(&name))
        .filter(is_not_blank);
    normal.name = Some(own_name.unwrap_or_else(|| ToolErrorCode::Tool.error_name().to_owned()));
    normal.message = error.message;
    let own_suggestion = error.suggestion.map(|text| limit_text(&text, limit));
    if let Some(own) = own_suggestion.filter(is_not_blank) {
        normal.suggestion = Some(own);
    }
    if let Some(own) = error.help_url.filter(|url| is_help_url(url)) {
        normal.help_url = Some(own);
    }
    limit_error(normal, limit)
}

/// Limits the texts of an error of the host, a handler or a middleware. Idempotent.
///
/// Truncates the message to the lesser of `limit` and [`ErrorMessageLimit::MOST`], and the suggestion to
/// the greater of `limit` and 1000, so that a short limit does not truncate the host's suggestions.
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
    // Truncation may leave only whitespace.
    if message.trim().is_empty() {
        message = limit_text(&default_message(&error), limit);
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

/// Limits the error of an agent's turn for the requesting agent, as [`normalise_error`] does, but without
/// defaults for unset fields.
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

/// Returns the message for an error without one.
fn default_message(error: &ToolError) -> String {
    match &error.code {
        ErrorCode::Host(ToolErrorCode::Tool) => "the tool failed without a message".to_owned(),
        ErrorCode::Host(code) => format!("the call failed with {}", code.as_str()),
        ErrorCode::Handler(_) => {
            format!(
                "the tool failed with code {} and without a message",
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
