//! The result of a guest's output: limited, escaped, without a code or secret of the host.
//!
//! An input has nine parts: `LIMIT [ko] [denied] [memory] [diskBytes|files|workdirBytes|disk]`, then code, name,
//! helpUrl, suggestion, denials, secrets, output and message. The denials and the secrets
//! have one per line. A missing part is absent.

use serde_json::Value;
use toolhost_contract::{
    Denial, ErrorCode, ErrorMessageLimit, HandlerError, JsonLimits, Locale, ResourceName,
    ToolError, ToolErrorCode, ToolResult, json_depth,
};

use super::{BETWEEN, display};
use crate::accounting::output::LogLevel;
use crate::accounting::output::head_tail::HeadTail;
use crate::accounting::output::log::LogBook;
use crate::middleware::progress::Progress;
use crate::toolhost::call::hints::{FailureContext, explain};
use crate::{DiskLimit, Limits};
use toolhost_contract::Redactor;
use toolhost_contract::{limit_error, normalise_error};
use toolhost_schema::json;

/// Makes a result of a guest's output and checks the properties.
pub fn hold(text: &str) {
    let mut parts = text.split(BETWEEN);
    let mut part = || parts.next();
    let head = part().unwrap_or_default();
    let mut raised = HandlerError {
        code: part().map(str::to_owned),
        name: part().map(str::to_owned),
        help_url: part().map(str::to_owned),
        suggestion: part().map(str::to_owned),
        message: String::new(),
    };
    let denials = denials(part());
    let secrets: Vec<String> = lines(part());
    let output = part().unwrap_or_default();
    raised.message = part().unwrap_or_default().to_owned();
    let Ok(tool) = ResourceName::parse("tool") else {
        return;
    };

    let secrets: Vec<String> = secrets.into_iter().filter(|it| is_told_apart(it)).collect();
    let redactor = Redactor::new(["A", "B", "C"].into_iter().zip(secrets.iter().cloned()));
    let secrets = secrets.get(..3.min(secrets.len())).unwrap_or_default();
    let host = Host {
        limit: limit(head),
        locale: if head.contains("ko") {
            Locale::Ko
        } else {
            Locale::En
        },
        clues: FailureContext {
            disk_limit: disk_limit(head),
            just_denied: head.contains("denied"),
            was_refused_memory: head.contains("memory"),
            denials: &denials,
        },
        tool,
        redactor,
        secrets,
    };
    fails(&host, &raised);
    stops(&host, &raised.message);
    answers(&host, output);
    prints(output, &raised.message, host.limit.units());
}

struct Host<'a> {
    limit: ErrorMessageLimit,
    locale: Locale,
    clues: FailureContext<'a>,
    tool: ResourceName,
    redactor: Redactor,
    secrets: &'a [String],
}

fn lines(part: Option<&str>) -> Vec<String> {
    let lines = part.into_iter().flat_map(str::lines).take(8);
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Parses the denials, with repetitions.
fn denials(part: Option<&str>) -> Vec<Denial> {
    let lines = lines(part);
    let known = lines.iter().map(|line| Denial::parse(line));
    known.flatten().collect()
}

fn disk_limit(head: &str) -> Option<DiskLimit> {
    let limits = [
        ("diskBytes", DiskLimit::CallBytes),
        ("files", DiskLimit::Files),
        ("workdirBytes", DiskLimit::WorkdirBytes),
        ("disk", DiskLimit::Disk),
    ];
    let found = limits.into_iter().find(|(word, _)| head.contains(word));
    found.map(|(_, limit)| limit)
}

fn limit(head: &str) -> ErrorMessageLimit {
    let number = head.split(' ').next().and_then(|word| word.parse().ok());
    let limit = number.and_then(|units: u32| ErrorMessageLimit::new(units % 5_000));
    limit.unwrap_or_default()
}

/// Whether a secret cannot occur by accident in an escape, a suggestion or a mark of a
/// redaction.
fn is_told_apart(secret: &str) -> bool {
    let plain = secret.bytes().all(|b| b.is_ascii_alphanumeric());
    plain && secret.len() >= 4 && secret.bytes().any(|b| b.is_ascii_digit())
}

fn fails(host: &Host<'_>, raised: &HandlerError) {
    let (limit, locale) = (host.limit, host.locale);
    let normal = normalise_error(host.redactor.handler_error(raised.clone()), limit, locale);
    is_bounded(&normal, limit);
    match &normal.code {
        ErrorCode::Host(code) => assert_eq!(*code, ToolErrorCode::Tool),
        ErrorCode::Handler(own) => {
            assert_eq!(
                raised.code.as_deref(),
                Some(normal.code.as_str()),
                "{own:?}"
            );
            assert_eq!(ToolErrorCode::from_code(normal.code.as_str()), None);
        }
    }
    assert_eq!(
        limit_error(normal.clone(), limit),
        normal,
        "twice is not once"
    );
    let again = normalise_error(normal.clone().into_handler_error(), limit, locale);
    assert_eq!(
        (&again.code, &again.message, &again.name),
        (&normal.code, &normal.message, &normal.name)
    );
    assert_eq!(again.help_url, normal.help_url);

    is_explained(host, normal);
}

/// A call that the sandbox stopped: the message of the host contains text of the guest.
fn stops(host: &Host<'_>, message: &str) {
    for code in [
        ToolErrorCode::Trap,
        ToolErrorCode::Exit,
        ToolErrorCode::Timeout,
    ] {
        is_explained(host, ToolError::host(code, message, host.locale));
    }
}

/// Facts of the host change a code only to the code of that fact; additions to the suggestion are limited.
fn is_explained(host: &Host<'_>, error: ToolError) {
    let (limit, locale) = (host.limit, host.locale);
    let explained = explain(error.clone(), &host.clues, &host.tool, locale);
    if explained.code != error.code {
        let known = match explained.code {
            ErrorCode::Host(ToolErrorCode::DiskLimit) => host.clues.disk_limit.is_some(),
            ErrorCode::Host(ToolErrorCode::Denied) => host.clues.just_denied,
            ErrorCode::Host(_) | ErrorCode::Handler(_) => false,
        };
        assert!(known, "{:?} of {:?}", explained.code, error.code);
    }
    let result = exit(host, ToolResult::error("c", "t", explained));
    assert_eq!(exit(host, result.clone()), result, "twice is not once");
    if let Some(error) = result.tool_error() {
        is_bounded(error, limit);
        is_without(host, error);
    }
    is_kept(&result);
    is_unforged(&result, locale);
}

/// Finishes a result as the executor does.
fn exit(host: &Host<'_>, result: ToolResult) -> ToolResult {
    let mut result = host.redactor.result(result);
    if let Some(error) = result.error_mut() {
        *error = limit_error(error.clone(), host.limit);
    }
    result
}

fn is_bounded(error: &ToolError, limit: ErrorMessageLimit) {
    let units = |text: &str| text.encode_utf16().count();
    assert!(
        units(&error.message) <= limit.units(),
        "{:?}",
        error.message
    );
    display::is_safe(&error.message, usize::MAX);
    let name = error.name.as_deref().unwrap_or_default();
    assert!(
        !name.trim().is_empty() && name.chars().count() <= 128,
        "{name:?}"
    );
    display::is_safe(name, usize::MAX);
    if let Some(suggestion) = &error.suggestion {
        assert!(
            units(suggestion) <= limit.units().max(1_000),
            "{suggestion:?}"
        );
        display::is_safe(suggestion, usize::MAX);
    }
    if let Some(url) = &error.help_url {
        assert!(
            url.starts_with("https://") && !url.contains(char::is_whitespace),
            "{url:?}"
        );
        display::is_one_line(url, 2_048);
    }
}

fn is_without(host: &Host<'_>, error: &ToolError) {
    let texts = [
        Some(&error.message),
        error.name.as_ref(),
        error.suggestion.as_ref(),
        error.help_url.as_ref(),
    ];
    for text in texts.into_iter().flatten() {
        let found = host.secrets.iter().find(|secret| text.contains(*secret));
        assert_eq!(found, None, "{text:?}");
    }
}

/// A stored result is read back unchanged.
fn is_kept(result: &ToolResult) {
    let stored = result.to_stored().to_string();
    let back = serde_json::from_str(&stored).ok();
    let back = back.as_ref().and_then(ToolResult::from_stored);
    assert_eq!(back.as_ref(), Some(result), "{stored}");
}

/// Middleware cannot add a host code or a handle.
fn is_unforged(result: &ToolResult, locale: Locale) {
    for inner in [
        ToolResult::ok("c", "t", Value::Null),
        ToolResult::pending("c", "t", "h".to_owned()),
        ToolResult::error(
            "c",
            "t",
            ToolError::host(ToolErrorCode::Timeout, "", locale),
        ),
    ] {
        let progress = Progress::default();
        progress.set_result(&inner);
        let out = progress.sanitize_codes(result.clone(), locale);
        if let Some(ErrorCode::Host(code)) = out.tool_error().map(|error| error.code.clone()) {
            let known = inner.tool_error().map(|error| error.code.clone());
            let is_known = known == Some(ErrorCode::Host(code));
            assert!(is_known || code == ToolErrorCode::Middleware, "{code:?}");
        }
        let made_up =
            progress.sanitize_codes(ToolResult::pending("c", "t", "x".to_owned()), locale);
        assert_eq!(made_up.handle(), None);
    }
}

fn answers(host: &Host<'_>, output: &str) {
    const DEPTH: usize = 8;
    const BYTES: u64 = 4_096;
    const VALUES: u64 = 256;
    let value = match JsonLimits::new(BYTES, DEPTH, VALUES).parse::<Value>(output) {
        Ok(value) => value,
        Err(error) => {
            display::is_one_line(&error.to_string(), 1024);
            return;
        }
    };
    assert!(output.len() as u64 <= BYTES);
    assert!(json::depth(&value) <= json_depth(output), "{output}");
    assert!(json_depth(output) <= DEPTH, "{output}");
    assert!(values(&value) <= VALUES, "{output}");
    let result = exit(host, ToolResult::ok("c", "t", value.clone()));
    if host.redactor.is_empty() {
        assert_eq!(result.output(), Some(&value));
    }
    let text = result.output().map(Value::to_string).unwrap_or_default();
    assert_eq!(
        host.secrets.iter().find(|secret| text.contains(*secret)),
        None,
        "{text}"
    );
    assert_eq!(exit(host, result.clone()), result, "twice is not once");
    is_kept(&result);
}

/// Returns a value and all values in it.
fn values(value: &Value) -> u64 {
    let within: u64 = match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    1 + within
}

/// The output and log of a guest are limited, for every way to split the writes.
fn prints(one: &str, other: &str, most: usize) {
    let mut kept = HeadTail::new(most);
    for piece in [one, other, one] {
        kept.write(piece.as_bytes());
    }
    let all = format!("{one}{other}{one}");
    assert_eq!(kept.total(), all.len() as u64);
    let text = kept.text();
    if all.len() <= most / 2 * 2 {
        assert_eq!(text, all);
    }
    // A byte of a truncated character becomes three bytes.
    assert!(
        text.len() <= 3 * most + 64,
        "{} bytes of {most}",
        text.len()
    );

    let mut log = LogBook::new(2, most);
    for message in [one, other, one] {
        log.write(LogLevel::Info, other, message);
    }
    assert_eq!(log.counts(), (3, 1));
    for record in log.take() {
        display::is_one_line(&record.message, most + 16);
        display::is_one_line(&record.context, 256 + 16);
    }
}
