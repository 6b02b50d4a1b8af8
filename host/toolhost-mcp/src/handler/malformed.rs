//! Requests of a known method whose parameters cannot be read. The SDK takes them for requests of an unknown method.

use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, ClientRequest, CustomRequest, ErrorCode, ErrorData,
    GetTaskParams, InitializeRequestParams, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, RequestMetaObject, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost::text;

use crate::incoming::ArgumentsError;

/// Longest reason, in characters. It may quote the parameters.
const REASON_MAX: usize = 300;

/// Returns the error of a request of a revision, which the SDK does not know.
pub(super) fn error(request: &CustomRequest, version: Option<&ProtocolVersion>) -> ErrorData {
    let method = request.method.as_str();
    let reason = match method {
        "initialize" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel"
            if is_stateless(version) =>
        {
            return unknown(method);
        }
        "initialize" => reason::<InitializeRequestParams>(request),
        "tools/call" => reason::<CallToolRequestParams>(request),
        "tools/list" | "resources/list" | "resources/templates/list" => {
            reason::<PaginatedRequestParams>(request)
        }
        "resources/read" => reason::<ReadResourceRequestParams>(request),
        "resources/subscribe" => reason::<SubscribeRequestParams>(request),
        "resources/unsubscribe" => reason::<UnsubscribeRequestParams>(request),
        "logging/setLevel" => reason::<SetLevelRequestParams>(request),
        "subscriptions/listen" => reason::<SubscriptionsListenRequestParams>(request),
        "tasks/get" => reason::<GetTaskParams>(request),
        "tasks/cancel" => reason::<CancelTaskParams>(request),
        _ => return unknown(method),
    };
    ErrorData::invalid_params(format!("the parameters of `{method}` {reason}"), None)
}

fn unknown(method: &str) -> ErrorData {
    let method = text::shorten(method, REASON_MAX);
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

/// Returns whether a revision has no sessions. It has fewer methods, too.
fn is_stateless(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28)
}

/// Returns the error of an `initialize` whose parameters cannot be read.
pub(crate) fn initialize(request: &ClientRequest) -> Option<ErrorData> {
    let ClientRequest::CustomRequest(request) = request else {
        return None;
    };
    let meta = request.extensions.get::<RequestMetaObject>();
    let version = meta.and_then(RequestMetaObject::protocol_version);
    let is_opening = request.method == "initialize" && !is_stateless(version.as_ref());
    is_opening.then(|| error(request, version.as_ref()))
}

/// Returns a call whose arguments are no object, without them and with the reason.
pub(super) fn call(request: &CustomRequest) -> Option<(CallToolRequestParams, ArgumentsError)> {
    if request.method != "tools/call" {
        return None;
    }
    let mut params = request.params.clone()?;
    let arguments = params.as_object_mut()?.shift_remove("arguments")?;
    let kind = match &arguments {
        Value::Array(_) => "an array",
        Value::String(text) if text.trim_start().starts_with('{') => {
            "a string that contains JSON: send the object itself"
        }
        Value::String(_) => "a string",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a boolean",
        Value::Null | Value::Object(_) => return None,
    };
    let request = serde_json::from_value(params).ok()?;
    let reason = format!("`arguments` must be a JSON object, and is {kind}");
    Some((request, ArgumentsError(reason)))
}

/// Returns the place and the problem of parameters.
fn reason<T: DeserializeOwned>(request: &CustomRequest) -> String {
    let params = request.params.clone().unwrap_or_default();
    if params.is_null() {
        return "are missing".to_owned();
    }
    let reason = match serde_path_to_error::deserialize::<_, T>(params) {
        Ok(_) => return "cannot be read".to_owned(),
        Err(error) => {
            let path = error.path().to_string();
            let reason = error.into_inner();
            match path.as_str() {
                "." => format!("cannot be read: {reason}"),
                path => format!("cannot be read at `{path}`: {reason}"),
            }
        }
    };
    text::shorten(&reason, REASON_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_that_cannot_be_read_are_named_and_unknown_methods_are_not_found() {
        for (method, params, code, says) in [
            ("tools/unknown", json!({}), -32601, "tools/unknown"),
            ("tools/call", Value::Null, -32602, "are missing"),
            ("tools/call", json!({"arguments": {}}), -32602, "`name`"),
            ("tools/call", json!({"name": 7}), -32602, "at `name`"),
            (
                "initialize",
                json!({"protocolVersion": 1}),
                -32602,
                "at `protocolVersion`",
            ),
            (
                "initialize",
                json!({"protocolVersion": "x", "capabilities": {}}),
                -32602,
                "`clientInfo`",
            ),
            ("resources/read", json!({"uri": 1}), -32602, "at `uri`"),
            (
                "logging/setLevel",
                json!({"level": "loud"}),
                -32602,
                "at `level`",
            ),
            ("tools/list", json!({"cursor": 1}), -32602, "at `cursor`"),
        ] {
            let params = (!params.is_null()).then_some(params);
            let error = error(&CustomRequest::new(method, params), None);
            assert_eq!(error.code.0, code, "{method}: {error:?}");
            assert!(error.message.contains(says), "{method}: {}", error.message);
        }
    }

    #[test]
    fn a_call_whose_arguments_are_no_object_says_what_they_are() {
        for (arguments, says) in [
            (json!([]), "is an array"),
            (json!("{\"query\": \".\"}"), "contains JSON"),
            (json!("x"), "is a string"),
            (json!(1), "is a number"),
            (json!(true), "is a boolean"),
        ] {
            let params = json!({"name": "a__b", "arguments": arguments, "_meta": {}});
            let request = CustomRequest::new("tools/call", Some(params));
            let (call, ArgumentsError(reason)) = super::call(&request).unwrap();
            assert_eq!(call.name, "a__b");
            assert!(reason.contains(says), "{reason}");
        }
        let params = json!({"arguments": []});
        assert!(super::call(&CustomRequest::new("tools/call", Some(params))).is_none());
    }

    #[test]
    fn methods_that_a_revision_without_sessions_does_not_have_are_unknown() {
        for (version, code) in [
            (ProtocolVersion::V_2026_07_28, ErrorCode::METHOD_NOT_FOUND),
            (ProtocolVersion::V_2025_06_18, ErrorCode::INVALID_PARAMS),
        ] {
            for method in ["initialize", "logging/setLevel", "resources/subscribe"] {
                let request = CustomRequest::new(method, Some(json!({})));
                let error = super::error(&request, Some(&version));
                assert_eq!(error.code, code, "{version} {method}");
            }
        }
        let opening = |version: &str| {
            let meta = json!({"io.modelcontextprotocol/protocolVersion": version});
            let request = json!({"method": "initialize", "params": {"_meta": meta}});
            super::initialize(&serde_json::from_value(request).unwrap())
        };
        assert!(opening("2026-07-28").is_none());
        assert!(opening("2025-06-18").is_some());
    }
}
