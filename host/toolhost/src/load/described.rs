//! Checks the parameters that a component's `describe` returned. Loading a bundle and describing a component
//! use the same check.

use toolhost_contract::{ExportName, JsonLimits, JsonSchemaObject, SchemaShapeError};
use toolhost_sandbox::HandlerSpec;
use toolhost_schema::{ArgsSchema, PatternBudget};

/// What is wrong with the parameters that `describe` returned for a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescribeFault {
    /// The handler.
    pub handler: ExportName,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Returns the parameters that `describe` returned for a handler, and how arguments are checked against them.
///
/// # Errors
/// They are not JSON, no object schema, or no schema that can be used.
pub(crate) fn described_parameters(
    handler: &HandlerSpec,
    patterns: &mut PatternBudget,
) -> Result<(Option<JsonSchemaObject>, ArgsSchema), DescribeFault> {
    let name = &handler.name;
    let fault = |reason: String, correct: &str| DescribeFault {
        handler: name.clone(),
        message: format!("describe gives '{name}' parameters that cannot be used: {reason}"),
        help: format!(
            "{correct} in the component, or write the parameters of '{name}' in spec.exports of the manifest."
        ),
    };
    let parameters = handler.parameters.as_deref();
    let parameters = match parameters.map(|text| JsonLimits::SCHEMA.parse(text)) {
        None => None,
        Some(Err(reason)) => {
            let reason = format!("their text {reason}");
            return Err(fault(reason, "Correct the JSON text of the parameters"));
        }
        Some(Ok(schema)) => {
            let parsed = JsonSchemaObject::parse(schema);
            Some(parsed.map_err(|error| fault(error.to_string(), correct_shape(&error)))?)
        }
    };
    let any = JsonSchemaObject::any_object;
    let schema = ArgsSchema::compile(parameters.as_ref().unwrap_or(&any()), patterns);
    let schema = schema.map_err(|reason| fault(reason.to_string(), "Correct the JSON Schema"))?;
    Ok((parameters, schema))
}

fn correct_shape(error: &SchemaShapeError) -> &'static str {
    match error {
        SchemaShapeError::NotAnObjectSchema => {
            "Write `\"type\": \"object\"` at the top of the schema"
        }
        SchemaShapeError::NotAnObject => "Write a JSON object as the schema",
    }
}

/// Returns what is wrong with the parameters of each handler.
pub(crate) fn faults(handlers: &[HandlerSpec]) -> Vec<DescribeFault> {
    let mut patterns = PatternBudget::default();
    let check = |handler| described_parameters(handler, &mut patterns).err();
    handlers.iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_described_parameters_has_a_message_and_a_help_of_its_own() {
        let handler = |name: &str, parameters: Option<&str>| HandlerSpec {
            name: ExportName::parse(name).unwrap(),
            description: None,
            parameters: parameters.map(str::to_owned),
            output_schema: None,
        };
        let good = [
            handler("none", None),
            handler("any", Some(r#"{"type": "object"}"#)),
        ];
        assert_eq!(faults(&good), []);
        for (parameters, says, help) in [
            (
                "{",
                "their text is not valid JSON: EOF",
                "Correct the JSON text",
            ),
            ("[]", "the schema must be an object", "Write a JSON object"),
            (
                r#"{"type": "string"}"#,
                "top-level 'type'",
                "Write `\"type\": \"object\"`",
            ),
            (
                r#"{"type": "object", "required": 1}"#,
                "required",
                "Correct the JSON Schema",
            ),
        ] {
            let list = faults(&[handler("run", Some(parameters))]);
            let [fault] = &*list else {
                panic!("{parameters}: {list:?}");
            };
            assert!(
                fault
                    .message
                    .starts_with("describe gives 'run' parameters that cannot be used: ")
            );
            assert!(fault.message.contains(says), "{fault:?}");
            assert!(fault.help.starts_with(help), "{fault:?}");
        }
    }
}
