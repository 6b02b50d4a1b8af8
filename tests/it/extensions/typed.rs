//! Native tools whose arguments and output are Rust types.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolhost::{
    HandlerError,
    extension::{ExtensionError, HandlerContext},
};
use toolhost_tests::test_host::{TestHost, code, tool_call};

use crate::execute::EXAMPLES;

/// Where to look, which is not described to the model.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Query {
    /// Name of the city.
    city: String,
    #[serde(default)]
    most_days: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    days: Vec<Day>,
}

#[derive(Serialize, JsonSchema)]
struct Day {
    degrees: f64,
}

async fn weather(_: HandlerContext, query: Query) -> Result<Weather, HandlerError> {
    if query.city == "Atlantis" {
        let error = HandlerError::new("there is no such city").with_code("NO_CITY");
        return Err(error.with_suggestion("ask for another"));
    }
    let days = (0..query.most_days.unwrap_or(1)).map(|day| Day {
        degrees: f64::from(day),
    });
    Ok(Weather {
        city: query.city,
        days: days.collect(),
    })
}

async fn with_weather() -> TestHost {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let extended = test_host.agent.extend("weather-ext", |api| {
        api.tools()
            .register_typed("weather__get", "The weather in a city", weather)
    });
    extended.unwrap();
    let step = test_host.another_step().await;
    TestHost { step, ..test_host }
}

#[tokio::test]
async fn the_types_of_a_native_tool_are_its_schemas() {
    // tool-spec-v2 §12.1, §13.1
    let test_host = with_weather().await;
    let item = test_host.step.catalog().get("weather__get").unwrap();
    assert_eq!(item.description.as_deref(), Some("The weather in a city"));
    let parameters = item.parameters.as_ref().unwrap().to_value();
    assert_eq!(
        parameters["properties"]["city"],
        json!({"type": "string", "description": "Name of the city."})
    );
    assert_eq!(parameters["required"], json!(["city"]));
    assert_eq!(parameters["additionalProperties"], json!(false));
    let keywords = parameters.as_object().unwrap();
    assert!(
        !keywords.contains_key("$schema") && !keywords.contains_key("title"),
        "{parameters}"
    );
    let output = item.output_schema.as_ref().unwrap().to_value();
    assert_eq!(output["required"], json!(["city", "days"]));
}

#[tokio::test]
async fn a_typed_handler_gets_and_returns_values_of_its_types() {
    let test_host = with_weather().await;
    let result = test_host
        .call("weather__get", json!({"city": "Oslo", "mostDays": 2}))
        .await;
    let days = json!([{"degrees": 0.0}, {"degrees": 1.0}]);
    assert_eq!(
        result.output(),
        Some(&json!({"city": "Oslo", "days": days}))
    );
    for wrong in [
        json!({}),
        json!({"city": 1}),
        json!({"city": "Oslo", "town": 1}),
        json!({"city": "Oslo", "mostDays": 300}),
    ] {
        let refused = test_host.call("weather__get", wrong.clone()).await;
        assert_eq!(code(&refused), "E_TOOL_INVALID_ARGS", "{wrong}");
    }
}

#[tokio::test]
async fn the_error_of_a_typed_handler_keeps_its_code_and_suggestion() {
    let test_host = with_weather().await;
    let result = test_host
        .call("weather__get", json!({"city": "Atlantis"}))
        .await;
    let error = result.tool_error().unwrap();
    assert_eq!(error.code.as_str(), "NO_CITY");
    assert_eq!(error.suggestion.as_deref(), Some("ask for another"));
}

/// Has a schema that allows more than the type.
#[derive(Deserialize, JsonSchema)]
struct Even {
    #[serde(deserialize_with = "even")]
    number: u64,
}

fn even<'de, D: serde::Deserializer<'de>>(number: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(number)?;
    if number % 2 == 0 {
        return Ok(number);
    }
    Err(serde::de::Error::custom(format!("{number} is odd")))
}

#[tokio::test]
async fn arguments_that_only_the_type_refuses_do_not_reach_the_handler() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let marker = test_host.work.dir.path().join("called");
    let handler_marker = marker.clone();
    let halve = move |_: HandlerContext, input: Even| {
        let marker = handler_marker.clone();
        async move {
            fs::write(marker, "")?;
            Ok(input.number / 2)
        }
    };
    let extended = test_host.agent.extend("even", |api| {
        api.tools().register_typed("even__halve", "Halves", halve)
    });
    extended.unwrap();
    let step = test_host.another_step().await;
    let call = |number: u64| tool_call("even__halve", json!({"number": number}));
    let odd = step.execute_without_message(call(3)).await;
    assert_eq!(odd.tool_error().unwrap().message, "3 is odd");
    assert!(!marker.exists());
    let even = step.execute_without_message(call(4)).await;
    assert_eq!(even.output(), Some(&json!(2)));
    // Only an output that is an object has a schema in the catalog.
    let item = step.catalog().get("even__halve").unwrap();
    assert!(item.output_schema.is_none());
}

#[tokio::test]
async fn a_typed_tool_needs_a_name_and_an_object_of_arguments() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let malformed = test_host.agent.extend("weather-ext", |api| {
        api.tools()
            .register_typed("weather", "The weather", weather)
    });
    assert!(
        matches!(malformed, Err(ExtensionError::Name { .. })),
        "{malformed:?}"
    );
    let text = async |_: HandlerContext, text: String| Ok(Value::String(text));
    let not_an_object = test_host.agent.extend("weather-ext", |api| {
        api.tools()
            .register_typed("weather__get", "The weather", text)
    });
    assert!(
        matches!(not_an_object, Err(ExtensionError::Parameters { .. })),
        "{not_an_object:?}"
    );
    let taken = test_host.agent.extend("weather-ext", |api| {
        api.tools()
            .register_typed("text__upper", "The weather", weather)
    });
    assert!(
        matches!(taken, Err(ExtensionError::NameTaken { .. })),
        "{taken:?}"
    );
}
