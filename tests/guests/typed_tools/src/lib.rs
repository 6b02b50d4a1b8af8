//! Tools whose descriptions and schemas come from their functions, with types of other crates.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Serialize;
use toolhost_guest::{Context, ToolError, Value, handlers, json, schemars, tool};
use uuid::Uuid;

handlers! {
    moments,
    order,
    "untyped" => untyped,
}

/// Returns the moments that
/// it is given.
#[tool]
fn moments(
    /// In UTC.
    at: Timestamp,
    local: DateTime,
    date: Date,
    time: Time,
    every: SignedDuration,
) -> String {
    format!("{at} {local} {date} {time} {}", every.as_mins())
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Order {
    id: Uuid,
    /// With VAT.
    total: Decimal,
}

/// Returns an order with 19 % more.
#[tool(name = "place-order")]
fn order(id: Uuid, #[tool(default = Decimal::ONE)] amount: Decimal) -> Result<Order, ToolError> {
    if amount.is_zero() {
        return Err("nothing is ordered".into());
    }
    let total = amount * Decimal::new(119, 2);
    Ok(Order { id, total })
}

fn untyped(_: &Context, input: Value) -> Result<Value, ToolError> {
    Ok(json!({ "input": input }))
}

#[cfg(test)]
mod tests {
    use toolhost_guest::expanded::types::{ExportSpec, Outcome};
    use toolhost_guest::expanded::{Tool, output};

    use super::*;

    fn parameters<T: Tool>() -> Value {
        let spec = ExportSpec::from(T::handler());
        serde_from(&spec.parameters.unwrap())
    }

    fn serde_from(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn call<T: Tool>(input: Value) -> Result<Value, String> {
        match T::call(&Context::default(), &input.to_string()) {
            Ok(Outcome::Output(json)) => Ok(serde_from(&json)),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn dates_and_times_have_formats_or_patterns_and_arrive_converted() {
        let properties = &parameters::<moments>()["properties"];
        let expected = json!({
            "at": {"description": "In UTC.", "type": "string", "format": "date-time"},
            "local": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?$"},
            "date": {"type": "string", "format": "date"},
            "time": {"type": "string", "pattern": r"^\d{2}:\d{2}:\d{2}(\.\d+)?$"},
            "every": {"type": "string", "format": "duration"},
        });
        assert_eq!(properties, &expected);
        let valid = json!({
            "at": "2026-01-02T03:04:05Z",
            "local": "2026-01-02T03:04:05",
            "date": "2026-01-02",
            "time": "03:04:05",
            "every": "PT1H30M",
        });
        let text = "2026-01-02T03:04:05Z 2026-01-02T03:04:05 2026-01-02 03:04:05 90";
        assert_eq!(call::<moments>(valid.clone()), Ok(json!(text)));
        for (argument, value) in [
            ("at", "yesterday"),
            ("date", "2026-13-02"),
            ("time", "25:00:00"),
            ("every", "long"),
        ] {
            let mut invalid = valid.clone();
            invalid[argument] = json!(value);
            assert!(call::<moments>(invalid).is_err(), "{argument}");
        }
    }

    #[test]
    fn ids_and_decimals_arrive_converted_and_have_schemas_in_both_directions() {
        let decimal = json!({
            "type": ["string", "number"],
            "pattern": r"^-?\d+(\.\d+)?([eE]\d+)?$",
            "default": "1",
        });
        let parameters = parameters::<order>();
        assert_eq!(parameters["properties"]["amount"], decimal);
        assert_eq!(parameters["properties"]["id"]["format"], "uuid");
        assert_eq!(parameters["required"], json!(["id"]));
        let schema = serde_from(&output(order::handler()).unwrap().schema);
        assert_eq!(schema["properties"]["total"]["type"], "string");
        let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        for (amount, total) in [(json!("1.10"), "1.3090"), (json!(2), "2.38")] {
            let answer = call::<order>(json!({"id": id, "amount": amount}));
            assert_eq!(answer, Ok(json!({"id": id, "total": total})));
        }
        assert!(call::<order>(json!({"id": "1"})).is_err());
    }
}
