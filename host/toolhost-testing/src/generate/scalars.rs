//! Texts and numbers that a schema describes.

use serde_json::{Value, json};

use super::budget::Size;
use super::pattern::example;
use super::reach::Room;
use crate::case_dir::SAMPLE;

/// Longest text made because a schema allows it, in characters.
const TEXT_MAX: usize = 100_000;

/// Returns the types that a schema allows; without `type`, those that its keywords apply to.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => return vec![name],
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).collect(),
        _ => (),
    }
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    if has(&["properties", "required", "additionalProperties"]) {
        vec!["object"]
    } else if has(&["items", "prefixItems", "minItems", "maxItems"]) {
        vec!["array"]
    } else if has(&["minLength", "maxLength", "pattern", "format"]) {
        vec!["string"]
    } else if has(&["minimum", "maximum", "multipleOf"]) {
        vec!["number"]
    } else {
        vec!["string", "integer", "boolean", "null", "array", "object"]
    }
}

/// Returns texts: one that fits `pattern`, one that fits `format`, and texts at the bounds.
pub(super) fn texts(schema: &Value, room: &mut Room<'_>) -> Vec<Value> {
    let length = |key: &str| {
        let length = schema.get(key).and_then(Value::as_u64);
        length.map(|length| usize::try_from(length).unwrap_or(usize::MAX))
    };
    let least = length("minLength").unwrap_or(0);
    if least > TEXT_MAX {
        room.leave_out();
        return Vec::new();
    }
    let most = length("maxLength").unwrap_or(usize::MAX);
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    let typical = match word("format").unwrap_or_default() {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" => "someone@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" | "uri-reference" => "https://example.com/",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "regex" => "a+",
        "json-pointer" => "/a",
        _ => SAMPLE,
    };
    let mut texts: Vec<Value> = Vec::new();
    texts.extend(word("pattern").and_then(example).map(Value::from));
    for text in [typical, "", "가나다 e\u{301} 😀\ntwo"] {
        let missing = least.saturating_sub(text.chars().count());
        if room.take(Size::text(text.len() + missing)) {
            let text: String = text.chars().take(most).collect();
            texts.push((text + &"x".repeat(missing.min(most))).into());
        }
    }
    if most <= TEXT_MAX && room.take(Size::text(most)) {
        texts.push("x".repeat(most).into());
    }
    texts
}

/// Returns a typical integer, the bounds, and integers around zero, as far as they fit.
pub(super) fn integers(schema: &Value) -> Vec<Value> {
    let bound = |key: &str| schema.get(key).and_then(whole);
    let least_exclusive = bound("exclusiveMinimum").and_then(|n| n.checked_add(1));
    let below = bound("exclusiveMaximum").and_then(|n| n.checked_sub(1));
    let (least, most) = (
        bound("minimum").or(least_exclusive),
        bound("maximum").or(below),
    );
    let step = bound("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let typical = least.unwrap_or(1).max(1).min(most.unwrap_or(i64::MAX));
    let mut values = vec![typical];
    values.extend(least.into_iter().chain(most));
    values.extend([0, 1, -1, 1000]);
    let up = |n: i64| n.checked_add(step - 1).map(|n| n.div_euclid(step) * step);
    let within =
        |n: &i64| least.is_none_or(|least| *n >= least) && most.is_none_or(|most| *n <= most);
    let down = |n: i64| n.div_euclid(step).checked_mul(step);
    let stepped = values.into_iter().flat_map(|n| [up(n), down(n)]).flatten();
    stepped.filter(within).map(Value::from).collect()
}

/// Reads a bound as an integer; `1.0` is one.
fn whole(value: &Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and in the range of i64"
    )]
    let of_float = |number: f64| number as i64;
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
    let float = || value.as_f64().filter(is_whole);
    value.as_i64().or_else(|| float().map(of_float))
}

/// Returns integers, the bounds, and fractions.
pub(super) fn numbers(schema: &Value) -> Vec<Value> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let mut values = integers(schema);
    let (least, most) = (bound("minimum"), bound("maximum"));
    values.extend(least.into_iter().chain(most).map(Value::from));
    if let (Some(least), Some(most)) = (
        least.or(bound("exclusiveMinimum")),
        most.or(bound("exclusiveMaximum")),
    ) {
        values.push(f64::midpoint(least, most).into());
    }
    values.extend([json!(0.5), json!(-0.5)]);
    values
}
