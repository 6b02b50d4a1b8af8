//! The complete JSON form of a result for the host's store.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{ToolResult, ToolStatus};
use crate::{Denial, ErrorCode, HandlerCode, ToolError, ToolErrorCode, Usage};

/// `{"toolCallId": …, "toolName": …, "status": "ok", "output": …, "usage": {"wall": …, …}}`
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    tool_call_id: String,
    tool_name: String,
    #[serde(flatten)]
    outcome: StoredOutcome,
    #[serde(default)]
    usage: StoredUsage,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum StoredOutcome {
    Ok { output: Value },
    Pending { handle: String },
    Error { error: StoredError },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredError {
    message: String,
    name: Option<String>,
    code: String,
    suggestion: Option<String>,
    help_url: Option<String>,
}

/// A field missing in the record of an older host is zero.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredUsage {
    wall: Duration,
    queued: Duration,
    memory_peak: u64,
    bytes_written: u64,
    bytes_read: u64,
    files_made: u64,
    stdout_bytes: u64,
    stderr_bytes: u64,
    log_records: u64,
    log_dropped: u64,
    output_bytes: u64,
    http_requests: u64,
    http_sent: u64,
    http_received: u64,
    #[serde(deserialize_with = "known_denials")]
    denials: Vec<Denial>,
}

/// Omits denials that this host does not know.
fn known_denials<'de, D: Deserializer<'de>>(stored: D) -> Result<Vec<Denial>, D::Error> {
    let words = Vec::<String>::deserialize(stored)?;
    let known = words.iter().filter_map(|words| Denial::parse(words));
    Ok(known.collect())
}

impl ToolResult {
    /// Returns the result with its [`Usage`] as JSON, for the host's store only. The JSON for the model is
    /// the result's `Serialize` form.
    #[must_use]
    pub fn to_stored(&self) -> Value {
        let outcome = match self.status {
            ToolStatus::Ok => StoredOutcome::Ok {
                output: self.output.clone().unwrap_or_default(),
            },
            ToolStatus::Pending => StoredOutcome::Pending {
                handle: self.handle.clone().unwrap_or_default(),
            },
            ToolStatus::Error => match &self.error {
                Some(error) => StoredOutcome::Error {
                    error: error.into(),
                },
                None => return Value::Null,
            },
        };
        let stored = Stored {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: self.tool_name.clone(),
            outcome,
            usage: self.usage.clone().into(),
        };
        serde_json::to_value(stored).unwrap_or_default()
    }

    /// Parses the JSON of [`to_stored`](Self::to_stored). Returns `None` for any other value.
    ///
    /// For the host's store only. Only this function converts text to a host code, so it must not be
    /// given values from a guest, handler or middleware.
    #[must_use]
    pub fn from_stored(stored: &Value) -> Option<Self> {
        let stored = Stored::deserialize(stored).ok()?;
        let (id, name) = (&stored.tool_call_id, &stored.tool_name);
        let result = match stored.outcome {
            StoredOutcome::Ok { output } => Self::ok(id, name, output),
            StoredOutcome::Pending { handle } => Self::pending(id, name, handle),
            StoredOutcome::Error { error } => Self::error(id, name, error.restore()?),
        };
        Some(result.with_usage(stored.usage.into()))
    }
}

impl From<&ToolError> for StoredError {
    fn from(error: &ToolError) -> Self {
        Self {
            message: error.message.clone(),
            name: error.name.clone(),
            code: error.code.to_string(),
            suggestion: error.suggestion.clone(),
            help_url: error.help_url.clone(),
        }
    }
}

impl StoredError {
    fn restore(self) -> Option<ToolError> {
        let code = match ToolErrorCode::from_code(&self.code) {
            Some(code) => ErrorCode::Host(code),
            None => ErrorCode::Handler(HandlerCode::parse(&self.code)?),
        };
        Some(ToolError {
            message: self.message,
            name: self.name,
            code,
            suggestion: self.suggestion,
            help_url: self.help_url,
        })
    }
}

// Lists every field, so that a new field of `Usage` does not compile until it is stored.
macro_rules! same_fields {
    ($($field:ident),* $(,)?) => {
        impl From<Usage> for StoredUsage {
            fn from(usage: Usage) -> Self {
                let Usage { $($field),* } = usage;
                Self { $($field),* }
            }
        }

        impl From<StoredUsage> for Usage {
            fn from(stored: StoredUsage) -> Self {
                let StoredUsage { $($field),* } = stored;
                Self { $($field),* }
            }
        }
    };
}

same_fields! {
    wall, queued, memory_peak, bytes_written, bytes_read, files_made, stdout_bytes, stderr_bytes,
    log_records, log_dropped, output_bytes, http_requests, http_sent, http_received, denials,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Locale;

    fn error(code: ErrorCode) -> ToolError {
        ToolError {
            message: "it broke".to_owned(),
            name: None,
            code,
            suggestion: Some("mend it".to_owned()),
            help_url: None,
        }
    }

    fn usage() -> Usage {
        Usage {
            wall: Duration::from_nanos(12_345_678_901),
            queued: Duration::from_nanos(1),
            memory_peak: u64::MAX,
            bytes_written: 1,
            bytes_read: 2,
            files_made: 3,
            stdout_bytes: 4,
            stderr_bytes: 5,
            log_records: 6,
            log_dropped: 7,
            output_bytes: 8,
            http_requests: 9,
            http_sent: 10,
            http_received: 11,
            denials: vec![
                Denial::AgentsSpawn,
                Denial::HttpRequest("GET https://a.example/x".to_owned()),
                Denial::NetworkUdp,
            ],
        }
    }

    fn check(result: &ToolResult) {
        let text = result.to_stored().to_string();
        let stored = serde_json::from_str(&text).unwrap();
        let back = ToolResult::from_stored(&stored);
        assert_eq!(back.as_ref(), Some(result), "{text}");
    }

    #[test]
    fn what_is_stored_comes_back_whole() {
        for output in [
            json!(null),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(0.1 + 0.2),
            json!(1e300),
            json!("\u{0}가😀\"\\"),
            json!([]),
            json!({"z": {"status": "error"}, "a": [null, {"usage": 1}], "": false}),
        ] {
            check(&ToolResult::ok("call_1", "text__upper", output).with_usage(usage()));
        }
        check(&ToolResult::pending("", "", "pending_x".to_owned()));
        for code in ToolErrorCode::ALL {
            let error = ToolError::host(*code, "stopped", Locale::Ko);
            check(&ToolResult::error("c", "t", error).with_usage(usage()));
            check(&ToolResult::error(
                "c",
                "t",
                self::error(ErrorCode::Host(*code)),
            ));
        }
        for code in ["ENOENT", "a.b-c_9"] {
            let code = ErrorCode::Handler(HandlerCode::parse(code).unwrap());
            check(&ToolResult::error("c", "t", error(code)).with_usage(usage()));
        }
    }

    #[test]
    fn the_order_of_an_outputs_keys_stays() {
        let output: Value = serde_json::from_str(r#"{"z":1,"a":{"y":2,"b":3}}"#).unwrap();
        let stored = ToolResult::ok("c", "t", output.clone()).to_stored();
        let back = ToolResult::from_stored(&stored).unwrap();
        assert_eq!(back.output().unwrap().to_string(), output.to_string());
    }

    #[test]
    fn a_usage_of_an_older_host_reads_as_far_as_it_goes() {
        let stored = json!({"toolCallId": "c", "toolName": "t", "status": "ok", "output": 1,
            "usage": {"bytesRead": 9, "denials": ["network: tcp", "network: of old"]}});
        let back = ToolResult::from_stored(&stored).unwrap();
        assert_eq!((back.usage().bytes_read, back.usage().files_made), (9, 0));
        assert_eq!(back.usage().denials, [Denial::NetworkTcp]);
    }

    #[test]
    fn anything_else_is_no_result() {
        let of_error = |error: Value| json!({"toolCallId": "c", "toolName": "t", "status": "error", "error": error});
        for other in [
            json!(null),
            json!({}),
            json!({"toolCallId": "c", "toolName": "t", "status": "ok"}),
            json!({"toolCallId": "c", "toolName": "t", "status": "pending"}),
            json!({"toolCallId": "c", "toolName": "t", "status": "error"}),
            json!({"toolCallId": "c", "toolName": "t", "status": "done", "output": 1}),
            json!({"toolCallId": 1, "toolName": "t", "status": "ok", "output": 1}),
            of_error(json!({"message": "m"})),
            of_error(json!({"message": "m", "code": "E_TOOL_MADE_UP"})),
            of_error(json!({"message": "m", "code": "two words"})),
        ] {
            assert_eq!(ToolResult::from_stored(&other), None, "{other}");
        }
    }
}
