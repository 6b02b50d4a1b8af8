//! A case generated from a tool's schema, and how its result is judged.

use toolhost_contract::{
    Denial, ErrorCode, JsonObject, ToolErrorCode, ToolName, ToolResult, ToolStatus,
};

use crate::mismatch::Mismatch;

/// A case generated from a tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedCase {
    /// The tool.
    pub tool: ToolName,
    /// What is special about the arguments: `path = "../../etc/passwd"`.
    pub name: String,
    /// The arguments.
    pub args: JsonObject,
    /// What is expected.
    pub kind: GeneratedKind,
}

/// What is expected of a generated case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeneratedKind {
    /// The arguments fit the schema: the tool returns a result or an error of its own, but does not crash.
    Valid,
    /// The arguments do not fit: the call is refused before the tool runs.
    Invalid,
    /// The arguments fit and are hostile: as `Valid`, and nothing outside the workdir is read or changed.
    Hostile,
}

impl GeneratedKind {
    /// `valid`, `invalid` or `hostile`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Hostile => "hostile",
        }
    }
}

/// Errors that no tool may cause with arguments that fit its schema.
const FAULTS: [ToolErrorCode; 15] = [
    ToolErrorCode::InvalidArgs,
    ToolErrorCode::Timeout,
    ToolErrorCode::OutOfMemory,
    ToolErrorCode::Trap,
    ToolErrorCode::Exit,
    ToolErrorCode::InvalidOutput,
    ToolErrorCode::OutputTooLarge,
    ToolErrorCode::Denied,
    ToolErrorCode::Host,
    ToolErrorCode::NotInCatalog,
    ToolErrorCode::NotFound,
    ToolErrorCode::AuthRequired,
    ToolErrorCode::AuthSubject,
    ToolErrorCode::AuthScope,
    ToolErrorCode::AuthFailed,
];

impl GeneratedCase {
    /// Returns how a result differs from what is expected.
    pub(crate) fn judge(&self, result: &ToolResult) -> Option<Mismatch> {
        let code = match result.tool_error().map(|error| &error.code) {
            Some(ErrorCode::Host(code)) => Some(*code),
            Some(ErrorCode::Handler(_)) | None => None,
        };
        let (expected, is_met) = match self.kind {
            GeneratedKind::Invalid => (
                "E_TOOL_INVALID_ARGS, before the tool runs",
                code == Some(ToolErrorCode::InvalidArgs),
            ),
            GeneratedKind::Valid => (
                "a result of the tool's own: ok, pending, or an error that it raises",
                code.is_none_or(|code| !FAULTS.contains(&code)) || lacks_grant(result, code),
            ),
            // Hostile paths lead out of the workdir.
            GeneratedKind::Hostile => (
                "a result of the tool's own: ok, pending, or an error that it raises; or E_TOOL_DENIED",
                code.is_none_or(|code| code == ToolErrorCode::Denied || !FAULTS.contains(&code)),
            ),
        };
        if is_met {
            return None;
        }
        let got = match (result.status(), result.tool_error()) {
            (_, Some(error)) => error.to_string(),
            (ToolStatus::Ok, None) => "ok".to_owned(),
            (ToolStatus::Pending | ToolStatus::Error, None) => "pending".to_owned(),
        };
        Some(Mismatch::new("result", expected, &got))
    }
}

/// Returns whether a tool was denied only what a policy grants, which the run may not have.
fn lacks_grant(result: &ToolResult, code: Option<ToolErrorCode>) -> bool {
    let denials = &result.usage().denials;
    let of_policy = |denial: &Denial| {
        !matches!(
            denial,
            Denial::OutsideWorkdir | Denial::WriteProtected | Denial::ReadOnly
        )
    };
    code == Some(ToolErrorCode::Denied) && !denials.is_empty() && denials.iter().all(of_policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_contract::{ToolError, Usage};

    use super::*;

    #[test]
    fn a_denial_that_only_a_policy_takes_away_does_not_fail_a_valid_case() {
        let case = GeneratedCase {
            tool: ToolName::parse("a__b").unwrap(),
            name: String::new(),
            args: JsonObject::new(),
            kind: GeneratedKind::Valid,
        };
        let check = |code, denials: &[Denial], is_met: bool| {
            let locale = toolhost_contract::Locale::En;
            let error = ToolError::host(code, "it is so", locale);
            let mut usage = Usage::default();
            usage.denials.extend(denials.iter().cloned());
            let result = ToolResult::error("c", "a__b", error).with_usage(usage);
            assert_eq!(
                case.judge(&result).is_none(),
                is_met,
                "{code:?} {denials:?}"
            );
        };
        let http = Denial::HttpRequest("GET https://a.example/x".to_owned());
        let network = Denial::HttpNetwork {
            host: "a.example".to_owned(),
            network: "10.0.0.0/8".to_owned(),
        };
        let granted = [http.clone(), network, Denial::AgentsSend];
        for denial in &granted {
            check(ToolErrorCode::Denied, std::slice::from_ref(denial), true);
        }
        check(ToolErrorCode::Denied, &granted, true);
        // Without a record, the tool has not been denied anything by the policy.
        check(ToolErrorCode::Denied, &[], false);
        for never in [
            Denial::OutsideWorkdir,
            Denial::WriteProtected,
            Denial::ReadOnly,
        ] {
            check(ToolErrorCode::Denied, std::slice::from_ref(&never), false);
            check(ToolErrorCode::Denied, &[http.clone(), never], false);
        }
        check(ToolErrorCode::Trap, &granted, false);
    }

    #[test]
    fn a_crash_fails_a_case_but_an_error_of_the_tool_does_not() {
        let case = |kind| GeneratedCase {
            tool: ToolName::parse("a__b").unwrap(),
            name: String::new(),
            args: JsonObject::new(),
            kind,
        };
        let of = |code| {
            let locale = toolhost_contract::Locale::En;
            ToolResult::error("c", "a__b", ToolError::host(code, "it is so", locale))
        };
        let ok = ToolResult::ok("c", "a__b", json!(1));
        for kind in [GeneratedKind::Valid, GeneratedKind::Hostile] {
            assert_eq!(case(kind).judge(&ok), None);
            assert_eq!(case(kind).judge(&of(ToolErrorCode::Tool)), None);
            assert!(case(kind).judge(&of(ToolErrorCode::Trap)).is_some());
            assert!(case(kind).judge(&of(ToolErrorCode::InvalidArgs)).is_some());
            let is_denied_well = case(kind).judge(&of(ToolErrorCode::Denied)).is_none();
            assert_eq!(is_denied_well, kind == GeneratedKind::Hostile);
        }
        assert_eq!(
            case(GeneratedKind::Invalid).judge(&of(ToolErrorCode::InvalidArgs)),
            None
        );
        assert!(case(GeneratedKind::Invalid).judge(&ok).is_some());
        assert!(
            case(GeneratedKind::Invalid)
                .judge(&of(ToolErrorCode::Tool))
                .is_some()
        );
    }
}
