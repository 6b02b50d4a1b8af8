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
pub fn normalise_error(error: HandlerError, limit: ErrorMessageLimit, locale: Locale) -> ToolError {
    let error = limit_handler_error(error, limit);
    let default = ToolError::host(ToolErrorCode::Tool, "", locale);
    let (code, suggestion, help_url) = match error.code.as_deref().and_then(HandlerCode::parse) {
        Some(code) => (ErrorCode::Handler(code), None, None),
        None => (default.code, default.suggestion, default.help_url),
    };
    let is_not_blank = |text: &String| !text.trim().is_empty();
    let normal = ToolError {
        message: error.message,
        name: error.name.filter(is_not_blank).or(default.name),
        code,
        suggestion: error.suggestion.filter(is_not_blank).or(suggestion),
        help_url: error.help_url.or(help_url),
        details: None,
    };
    limit_error(normal, limit)
}

/// Limits the texts of an error of the host, a handler or a middleware. Idempotent.
///
/// Truncates the message to `limit`, and the suggestion to the greater of `limit` and 1000, so that a
/// short limit does not truncate the host's suggestions.
///
/// Spec: tool-spec-v2 §2.4(2).
pub fn limit_error(error: ToolError, limit: ErrorMessageLimit) -> ToolError {
    let for_suggestion = limit.max(ErrorMessageLimit::DEFAULT);
    let mut message = limit_text(&error.message, limit);
    // Truncation may leave only whitespace.
    if message.trim().is_empty() {
        message = limit_text(&default_message(&error), limit);
    }
    let suggestion = error.suggestion;
    ToolError {
        message,
        name: error.name.map(|name| limit_name(&name)),
        code: error.code,
        suggestion: suggestion.map(|text| limit_text(&text, for_suggestion)),
        help_url: error.help_url.filter(|url| is_help_url(url)),
        details: error.details,
    }
}

/// Limits the texts of a handler's error or of an agent's turn, and drops an invalid code and an invalid
/// `helpUrl`. Idempotent.
pub fn limit_handler_error(error: HandlerError, limit: ErrorMessageLimit) -> HandlerError {
    HandlerError {
        message: limit_text(&error.message, limit),
        name: error.name.map(|name| limit_name(&name)),
        code: error.code.filter(|code| HandlerCode::parse(code).is_some()),
        suggestion: error.suggestion.map(|text| limit_text(&text, limit)),
        help_url: error.help_url.filter(|url| is_help_url(url)),
    }
}

/// Returns a sentence for each value of a handler's error that [`normalise_error`] drops: a code that is
/// malformed or reserved, and a `helpUrl` that is not a short `https` URL. The sentences quote the values,
/// escaped and cut.
pub fn dropped_values(error: &HandlerError) -> Vec<String> {
    let mut dropped = Vec::new();
    let quoted = |value: &str| text::shorten(value, NAME_MAX);
    if let Some(code) = &error.code
        && HandlerCode::parse(code).is_none()
    {
        let why = if HandlerCode::is_formed(code) {
            "is reserved for the host"
        } else {
            "is not 1 to 64 letters, digits, '_', '.' or '-'"
        };
        dropped.push(format!(
            "the code '{}' {why}; the model gets E_TOOL",
            quoted(code)
        ));
    }
    if let Some(url) = &error.help_url
        && !is_help_url(url)
    {
        dropped.push(format!(
            "the helpUrl '{}' is not an https URL of at most {HELP_URL_MAX} bytes without spaces; the model does not get it",
            quoted(url)
        ));
    }
    dropped
}

/// Returns the message for an error without one.
fn default_message(error: &ToolError) -> String {
    match &error.code {
        ErrorCode::Host(ToolErrorCode::Tool) => "the tool failed without a message".to_owned(),
        ErrorCode::Host(code) => format!("the call failed with {}", code.as_str()),
        ErrorCode::Handler(_) => {
            let code = &error.code;
            format!("the tool failed with code {code} and without a message")
        }
    }
}

fn limit_text(message: &str, limit: ErrorMessageLimit) -> String {
    truncate(&text::escape_within(message, limit.units()), limit)
}

fn limit_name(name: &str) -> String {
    text::cut(&text::escape_within(name, NAME_MAX), NAME_MAX)
}

fn is_help_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").unwrap_or_default();
    url.len() <= HELP_URL_MAX && !rest.is_empty() && text::is_plain(url)
}

#[cfg(test)]
mod tests;
