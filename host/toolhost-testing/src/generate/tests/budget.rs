//! Schemas that describe more values than there is memory.

use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Objects six deep, of twelve properties each.
const OBJECTS_SIX_DEEP: &str = include_str!("objects_six_deep.json");

/// The most memory that this process has taken, in bytes.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.parse::<usize>().unwrap() << 10
}

fn memory_of(cases: &[GeneratedCase]) -> usize {
    let sizes = cases.iter().map(|case| Size::of_object(&case.args));
    sizes.map(Size::memory).sum()
}

/// 900 required strings of at least 900 characters.
fn long_strings() -> Value {
    let names: Vec<String> = (0..900).map(|n| format!("p{n}")).collect();
    let text = json!({"type": "string", "minLength": 900});
    let properties = names.iter().map(|name| (name.clone(), text.clone()));
    object(properties.collect(), json!(names))
}

#[test]
fn a_schema_of_few_kilobytes_takes_little_memory() {
    let six_deep: Value = serde_json::from_str(OBJECTS_SIX_DEEP).unwrap();
    for parameters in [six_deep, long_strings(), twenty_recursive_properties()] {
        let generated = generate(&[tool(parameters)], 1);
        for kind in [GeneratedKind::Valid, GeneratedKind::Invalid] {
            let of_kind = |case: &&GeneratedCase| case.kind == kind;
            assert!(generated.cases.iter().find(of_kind).is_some(), "{kind:?}");
        }
        let [left_out] = generated.left_out.as_slice() else {
            panic!("{:?}", generated.left_out)
        };
        let note = left_out.to_string();
        let (_, count) = note.split_once("notes__add: ").unwrap();
        assert!(count.contains(&left_out.count.to_string()), "{note}");
        let memory = memory_of(&generated.cases);
        assert!(memory <= 32 << 20, "{memory} bytes of cases");
        let peak = peak_memory();
        assert!(peak < 512 << 20, "{peak} bytes");
    }
}

#[test]
fn the_tools_of_a_bundle_share_the_memory_of_cases() {
    let mut tools = Vec::new();
    for n in 0..12 {
        let mut tool = tool(long_strings());
        tool.name = ToolName::parse(&format!("notes__add{n}")).unwrap();
        tools.push(tool);
    }
    let started = Instant::now();
    let generated = generate(&tools, 1);
    let memory = memory_of(&generated.cases);
    assert!(memory <= 128 << 20, "{memory} bytes of cases");
    assert_eq!(generated.left_out.len(), 12);
    // Each tool has cases, the last one as well.
    let last = &tools.last().unwrap().name;
    assert!(generated.cases.iter().any(|case| case.tool == *last));
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn texts_of_any_wanted_length_take_time_linear_in_it() {
    let text = |least: u64| json!({"type": "string", "minLength": least, "maxLength": least + 1});
    let properties = json!({"a": text(100_000), "b": text(1 << 40)});
    let started = Instant::now();
    let valid = args(object(properties, json!([])), GeneratedKind::Valid);
    let lengths = valid.iter().filter_map(|args| args["a"].as_str());
    assert!(lengths.clone().any(|text| text.chars().count() == 100_000));
    assert!(valid.iter().all(|args| args.get("b").is_none()));
    assert!(started.elapsed() < Duration::from_secs(40));
}

/// A random schema that may refer to itself. Not every one is JSON Schema.
fn schema() -> impl Strategy<Value = Value> {
    let length = prop_oneof![0..20_u64, 900..1_000_u64, 90_000..2_000_000_u64];
    let leaf = prop_oneof![
        length
            .clone()
            .prop_map(|least| json!({"type": "string", "minLength": least})),
        (length, "[a-z]{1,3}(\\{[0-9]{1,3}\\})?").prop_map(|(most, pattern)| {
            json!({"type": "string", "maxLength": most, "pattern": pattern})
        }),
        any::<i64>().prop_map(|least| json!({"type": "integer", "minimum": least})),
        (0..200_u64).prop_map(|n| json!({"enum": (0..n).collect::<Vec<_>>()})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({})),
        Just(json!(true)),
    ];
    leaf.prop_recursive(5, 60, 12, |inner| {
        let named = prop::collection::vec(inner.clone(), 1..12);
        let branches = prop::collection::vec(inner.clone(), 1..12);
        let keyword = prop_oneof![Just("anyOf"), Just("oneOf"), Just("allOf")];
        prop_oneof![
            (named, any::<bool>()).prop_map(|(all, is_required)| {
                let names: Vec<String> = (0..all.len()).map(|n| format!("p{n}")).collect();
                let properties = names.iter().cloned().zip(all);
                let properties: JsonObject = properties.collect();
                let required = if is_required { json!(names) } else { json!([]) };
                object(Value::Object(properties), required)
            }),
            (keyword, branches).prop_map(|(keyword, all)| json!({keyword: all})),
            (inner, 0..200_u64).prop_map(|(items, least)| {
                json!({"type": "array", "items": items, "minItems": least})
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_schema_exceeds_the_budget(part in schema(), other in schema()) {
        let mut parameters = object(json!({"a": part, "b": other.clone()}), json!(["a"]));
        parameters["$defs"] = json!({"a": other});
        if let Ok(parameters) = JsonSchemaObject::parse(parameters) {
            let mut tool = tool(json!({"type": "object"}));
            tool.parameters = Some(parameters);
            let started = Instant::now();
            let generated = generate(&[tool], 1);
            // Ten seconds, and what was begun before they ended.
            prop_assert!(started.elapsed() < Duration::from_secs(40));
            prop_assert!(memory_of(&generated.cases) <= 32 << 20);
            for case in &generated.cases {
                let size = Size::of_object(&case.args);
                prop_assert!(size.bytes <= VALUE_BYTES_MAX, "{:?}", size);
            }
            prop_assert!(peak_memory() < 1 << 30);
        }
    }
}
