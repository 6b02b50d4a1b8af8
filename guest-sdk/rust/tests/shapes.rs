//! For each shape of a type: its schema, and what arrives of a call.
//!
//! What a schema alone refuses, such as a number out of range, is the host's to check.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use toolhost_guest::expanded::types::{ExportSpec, Outcome as ContractOutcome};
use toolhost_guest::expanded::{Tool, output};
use toolhost_guest::schemars::{self, JsonSchema, JsonSchema_repr};
use toolhost_guest::{Context, Outcome, ToolError, Value, json, tool};

/// Returns the parameters of a tool.
fn parameters<T: Tool>() -> Value {
    let spec = ExportSpec::from(T::handler());
    serde_json::from_str(&spec.parameters.unwrap()).unwrap()
}

fn output_schema<T: Tool>() -> Option<Value> {
    output(T::handler()).map(|spec| serde_json::from_str(&spec.schema).unwrap())
}

fn call<T: Tool>(input: &Value) -> Result<Value, ToolError> {
    let answer = T::call(&Context::default(), &input.to_string());
    match answer
        .map_err(|error| ToolError::new(error.message).code(error.code.unwrap_or_default()))?
    {
        ContractOutcome::Output(json) => Ok(serde_json::from_str(&json).unwrap()),
        ContractOutcome::Pending(handle) => Ok(json!({ "pending": handle })),
    }
}

/// Checks the schema of an argument, what arrives of each valid value, and that each invalid one is refused at its place.
macro_rules! shape {
    (
        $name:ident: $(#[$attribute:meta])* $type:ty = $schema:tt
        $(; $valid:tt is $value:expr)*
        $(=> refuses $($invalid:tt),+)?
    ) => {
        #[test]
        fn $name() {
            /// Returns which of the expected values arrived.
            #[tool]
            fn take($(#[$attribute])* value: $type) -> Option<usize> {
                let expected: Vec<$type> = vec![$($value),*];
                expected.iter().position(|expected| *expected == value)
            }

            let parameters = parameters::<take>();
            assert_eq!(parameters["properties"]["value"], json!($schema));
            assert_eq!(parameters["type"], "object");
            assert_eq!(parameters["additionalProperties"], false);
            for (at, valid) in [$(json!($valid)),*].iter().enumerate() {
                assert_eq!(call::<take>(&json!({ "value": valid })), Ok(json!(at)), "{valid}");
            }
            $($(
                let invalid = json!({ "value": $invalid });
                let error = call::<take>(&invalid).unwrap_err();
                assert_eq!(error.code.as_deref(), Some("INVALID_INPUT"));
            )+)?
        }
    };
}

fn is_required<T: Tool>(argument: &str) -> bool {
    let parameters = parameters::<T>();
    let required = parameters["required"].as_array();
    required.is_some_and(|names| names.iter().any(|name| name == argument))
}

shape!(text: String = {"type": "string"}; "a\"é" is "a\"é".into() => refuses 1, null);
shape!(borrowed_text: &str = {"type": "string"}; "a\n" is "a\n");
shape!(borrowed_path: &Path = {"type": "string"}; "a/b" is Path::new("a/b"));
shape!(borrowed_list: &[u8] = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}; [1, 2] is &[1, 2]);
shape!(borrowed_option: Option<&str> = {"type": ["string", "null"]}; "a" is Some("a"); null is None);
shape!(boolean: bool = {"type": "boolean"}; true is true => refuses 0, "true");
shape!(character: char = {"type": "string", "minLength": 1, "maxLength": 1}; "é" is 'é' => refuses "ab", "");
shape!(path: PathBuf = {"type": "string"}; "a/b" is PathBuf::from("a/b"));
shape!(copy_on_write: Cow<'static, str> = {"type": "string"}; "a" is "a".into());

shape!(i8: i8 = {"type": "integer", "minimum": -128, "maximum": 127}; (-128) is -128 => refuses 128, 1.5);
shape!(u16: u16 = {"type": "integer", "minimum": 0, "maximum": 65535}; 1.0 is 1 => refuses 65536, (-1));
shape!(i32: i32 = {"type": "integer", "minimum": -2147483648, "maximum": 2147483647}; 1e3 is 1000 => refuses 2147483648_i64);
shape!(u32: u32 = {"type": "integer", "minimum": 0, "maximum": 4294967295_u32}; 7 is 7 => refuses 4294967296_i64);
shape!(i64: i64 = {"type": "integer"}; (i64::MIN) is i64::MIN; (i64::MAX) is i64::MAX => refuses "1");
shape!(u64: u64 = {"type": "integer", "minimum": 0}; (u64::MAX) is u64::MAX => refuses (-1));
shape!(usize: usize = {"type": "integer", "minimum": 0}; 3 is 3 => refuses (-1));
shape!(non_zero: NonZeroU8 = {"type": "integer", "minimum": 1, "maximum": 255}; 1 is NonZeroU8::MIN => refuses 0);
shape!(float: f64 = {"type": "number"}; 1.5 is 1.5; 2 is 2.0 => refuses "1.5");
shape!(small_float: f32 = {"type": "number"}; 1.5 is 1.5);
shape!(
    bounded_number: #[schemars(range(min = 1, max = 100))] u32 = {"type": "integer", "minimum": 1, "maximum": 100};
    7 is 7
);
shape!(
    bounded_text: #[schemars(length(min = 1, max = 9), regex(pattern = "^[a-z]+$"))] String =
        {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$"};
    "a" is "a".into()
);
shape!(
    bounded_list: #[schemars(length(min = 1), inner(range(min = 0.5)))] Vec<f64> =
        {"type": "array", "items": {"type": "number", "minimum": 0.5}, "minItems": 1};
    [1] is vec![1.0]
);
shape!(email: #[schemars(email)] String = {"type": "string", "format": "email"}; "a@b" is "a@b".into());
shape!(
    with_examples: #[schemars(extend("examples" = ["a"]))] String = {"type": "string", "examples": ["a"]};
    "b" is "b".into()
);

shape!(optional: Option<i64> = {"type": ["integer", "null"]}; 1 is Some(1); null is None => refuses "1");
shape!(list: Vec<String> = {"type": "array", "items": {"type": "string"}}; ["a"] is vec!["a".into()] => refuses "a", [1]);
shape!(list_of_fixed_length: [bool; 2] = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2};
    [true, false] is [true, false] => refuses [true]);
shape!(set: BTreeSet<u8> = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}, "uniqueItems": true};
    [2, 1] is BTreeSet::from([1, 2]) => refuses ["a"]);
shape!(hashed_set: HashSet<bool> = {"type": "array", "items": {"type": "boolean"}, "uniqueItems": true};
    [true] is HashSet::from([true]));
shape!(tuple: (String, i64) = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2};
    ["a", 1] is ("a".into(), 1) => refuses ["a"], ["a", "b"]);
shape!(map: BTreeMap<String, i64> = {"type": "object", "additionalProperties": {"type": "integer"}};
    {"a": 1} is BTreeMap::from([("a".into(), 1)]) => refuses {"a": "b"});
shape!(hashed_map: HashMap<String, Vec<bool>> = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}};
    {"a": [true]} is HashMap::from([("a".into(), vec![true])]));
shape!(map_of_anything: serde_json::Map<String, Value> = {"type": "object", "additionalProperties": true};
    {"a": [1]} is serde_json::Map::from_iter([("a".to_owned(), json!([1]))]));
shape!(anything: Value = {}; [1, {"a": null}] is json!([1, {"a": null}]));

shape!(standard_duration: Duration = {
        "type": "object",
        "properties": {
            "secs": {"type": "integer", "minimum": 0},
            "nanos": {"type": "integer", "minimum": 0, "maximum": 4294967295_u32},
        },
        "required": ["secs", "nanos"],
    };
    {"secs": 1, "nanos": 5} is Duration::new(1, 5));

// Bytes as hexadecimal digits: a codec of the author.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("contentEncoding" = "base16"))]
struct Bytes(Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16));
        bytes.collect::<Result<_, _>>().map(Self)
    }
}

shape!(bytes: Bytes = {"type": "string", "contentEncoding": "base16"}; "0aff" is Bytes(vec![10, 255]) => refuses "xx");

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    DarkGreen,
}

shape!(enum_of_texts: Color = {"type": "string", "enum": ["red", "darkgreen"]};
    "darkgreen" is Color::DarkGreen => refuses "blue", 1);
shape!(optional_enum: Option<Color> = {"type": ["string", "null"], "enum": ["red", "darkgreen", null]};
    null is None; "red" is Some(Color::Red) => refuses "blue");

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// The newest
    /// first.
    NewestFirst,
    /// By name.
    ByName,
}

shape!(enum_with_descriptions: Order = {"anyOf": [
        {"description": "The newest first.", "type": "string", "const": "newest_first"},
        {"description": "By name.", "type": "string", "const": "by_name"},
    ]};
    "by_name" is Order::ByName => refuses "name");

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema_repr)]
#[serde(try_from = "u8")]
#[repr(u8)]
enum Level {
    Low = 1,
    High = 3,
}

impl TryFrom<u8> for Level {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        let levels = [Self::Low, Self::High].into_iter();
        let level = levels.clone().find(|level| *level as u8 == number);
        level.ok_or_else(|| format!("no level {number}"))
    }
}

shape!(enum_of_integers: Level = {"type": "integer", "enum": [1, 3]}; 3 is Level::High => refuses 2);

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Only {
    #[serde(rename = "v1")]
    First,
}

shape!(literal: Only = {"type": "string", "enum": ["v1"]}; "v1" is Only::First => refuses "v2");

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Id {
    Number(i64),
    Name(String),
}

shape!(union_of_scalars: Id = {"anyOf": [{"type": "integer"}, {"type": "string"}]};
    1 is Id::Number(1); "a" is Id::Name("a".into()) => refuses true);

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Figure {
    Circle { radius: f64 },
    Point,
}

shape!(union_with_a_tag: Figure = {"anyOf": [
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "point"}},
            "required": ["kind"],
            "additionalProperties": false,
        },
    ]};
    {"kind": "circle", "radius": 1} is Figure::Circle { radius: 1.0 }; {"kind": "point"} is Figure::Point
    => refuses {"kind": "square"}, {"radius": 1});

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Change {
    Add(i64),
    Clear,
}

shape!(union_as_serde_writes_it: Change = {"anyOf": [
        {"type": "string", "enum": ["Clear"]},
        {"type": "object", "properties": {"Add": {"type": "integer"}}, "required": ["Add"], "additionalProperties": false},
    ]};
    {"Add": 1} is Change::Add(1); "Clear" is Change::Clear => refuses "Add");

/// A place
/// on a map.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Point {
    /// To the east.
    x: i64,
    #[serde(default)]
    y: i64,
}

shape!(record: Point = {
        "description": "A place on a map.",
        "type": "object",
        "properties": {
            "x": {"description": "To the east.", "type": "integer"},
            "y": {"type": "integer", "default": 0},
        },
        "required": ["x"],
        "additionalProperties": false,
    };
    {"x": 1} is Point { x: 1, y: 0 }; {"x": 1, "y": 2} is Point { x: 1, y: 2 }
    => refuses {"y": 1}, {"x": 1, "z": 2});

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Page<T> {
    items: Vec<T>,
}

shape!(generic: Page<bool> = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "boolean"}}},
        "required": ["items"],
    };
    {"items": [true]} is Page { items: vec![true] } => refuses {"items": 1}, {});

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Wrapped(u8);

shape!(newtype: Wrapped = {"type": "integer", "minimum": 0, "maximum": 255}; 1 is Wrapped(1));

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Nothing {}

shape!(empty_record: Nothing = {"type": "object"}; {} is Nothing {});

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Circle {
    radius: f64,
    #[serde(flatten)]
    center: Center,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Center {
    x: f64,
}

shape!(flattened: Circle = {
        "type": "object",
        "properties": {"radius": {"type": "number"}, "x": {"type": "number"}},
        "required": ["radius", "x"],
    };
    {"radius": 1, "x": 2} is Circle { radius: 1.0, center: Center { x: 2.0 } } => refuses {"radius": 1});

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Node {
    name: String,
    #[serde(default)]
    children: Vec<Node>,
}

shape!(recursive: Node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
        },
        "required": ["name"],
    };
    {"name": "a", "children": [{"name": "b"}]} is Node {
        name: "a".into(),
        children: vec![Node { name: "b".into(), children: Vec::new() }],
    }
    => refuses {"name": "a", "children": [{}]});

#[test]
fn the_definitions_of_recursive_types_stand_at_the_top() {
    #[tool]
    fn walk(tree: Node, limits: Vec<u8>) -> Node {
        let _ = limits;
        tree
    }
    let node = &parameters::<walk>()["$defs"]["Node"];
    assert_eq!(
        node["properties"]["children"]["items"],
        json!({"$ref": "#/$defs/Node"})
    );
    #[tool]
    fn whole(input: Node) -> Node {
        input
    }
    let reference = &parameters::<whole>()["properties"]["children"]["items"];
    assert_eq!(reference, &json!({"$ref": "#"}));
}

#[test]
fn arguments_have_descriptions_defaults_and_names_of_their_own() {
    /// Finds notes that contain
    /// words.
    ///
    /// # Errors
    /// There are none.
    #[tool(name = "find-notes")]
    fn find(
        #[serde(rename = "query")]
        /// Words that a note
        /// contains.
        words: &str,
        #[tool(default = 10)] limit: u32,
        ctx: &Context,
        #[tool(default = "name")] order: String,
        #[tool(default = vec!["a".into(), "b".into()])] tags: Vec<String>,
        #[tool(default)] deep: bool,
        r#type: Option<String>,
    ) -> Value {
        json!([words, limit, ctx.workdir, order, tags, deep, r#type])
    }

    let spec = ExportSpec::from(find::handler());
    assert_eq!(spec.name, "find-notes");
    assert_eq!(
        spec.description.as_deref(),
        Some("Finds notes that contain words.")
    );
    assert_eq!(
        parameters::<find>(),
        json!({
            "type": "object",
            "properties": {
                "query": {"description": "Words that a note contains.", "type": "string"},
                "limit": {"type": "integer", "minimum": 0, "maximum": 4294967295_u32, "default": 10},
                "order": {"type": "string", "default": "name"},
                "tags": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
                "deep": {"type": "boolean", "default": false},
                "type": {"type": ["string", "null"]},
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    );
    let answer = call::<find>(&json!({"query": "x"}));
    assert_eq!(
        answer,
        Ok(json!(["x", 10, "/", "name", ["a", "b"], false, null]))
    );
    let answer = call::<find>(&json!({
        "query": "x", "limit": 1, "order": "", "tags": [], "deep": true, "type": "t"
    }));
    assert_eq!(answer, Ok(json!(["x", 1, "/", "", [], true, "t"])));
    assert!(call::<find>(&json!({"query": "x", "other": 1})).is_err());
    // The function is what its author wrote.
    let own = find(
        "x",
        1,
        &Context::default(),
        String::new(),
        Vec::new(),
        true,
        None,
    );
    assert_eq!(own, json!(["x", 1, "/", "", [], true, null]));
}

#[test]
fn an_argument_called_input_or_taken_apart_is_all_the_arguments() {
    #[tool]
    fn named(_: &Context, input: Point) -> i64 {
        input.x
    }
    #[tool]
    fn apart(Point { x, y: _ }: Point) -> i64 {
        x
    }
    #[tool]
    fn borrowed(input: &Point) -> i64 {
        input.x
    }
    #[tool]
    fn any(_: Value) {}
    #[tool]
    fn none() {}
    #[tool]
    fn tagged(input: Figure) -> String {
        format!("{input:?}")
    }

    for schema in [
        parameters::<named>(),
        parameters::<apart>(),
        parameters::<borrowed>(),
    ] {
        assert_eq!(schema["description"], "A place on a map.");
        assert_eq!(schema["required"], json!(["x"]));
    }
    assert_eq!(call::<named>(&json!({"x": 1})), Ok(json!(1)));
    assert_eq!(call::<apart>(&json!({"x": 1})), Ok(json!(1)));
    assert_eq!(call::<borrowed>(&json!({"x": 1})), Ok(json!(1)));
    assert_eq!(parameters::<any>(), json!({"type": "object"}));
    assert_eq!(call::<any>(&json!({"x": 1})), Ok(Value::Null));
    assert_eq!(
        parameters::<none>(),
        json!({"type": "object", "additionalProperties": false})
    );
    assert!(call::<none>(&json!({"x": 1})).is_err());
    assert_eq!(parameters::<tagged>()["type"], "object");
    assert_eq!(
        call::<tagged>(&json!({"kind": "point"})),
        Ok(json!("Point"))
    );
}

#[test]
#[should_panic(expected = "the input of the tool `shout` is `string`, which is not an object")]
fn an_input_that_is_no_object_is_refused() {
    #[tool]
    fn shout(input: String) -> String {
        input
    }
    let _ = shout::handler();
}

#[test]
fn an_error_names_the_place_of_the_argument() {
    #[tool]
    fn sum(sizes: Vec<u64>) -> u64 {
        sizes.iter().sum()
    }
    let error = call::<sum>(&json!({"sizes": [1.5]})).unwrap_err();
    assert!(error.message.contains("sizes[0]"), "{error:?}");
}

#[test]
fn a_function_returns_a_value_a_result_or_an_outcome() {
    #[derive(Serialize, JsonSchema)]
    struct Total {
        total: u32,
        rest: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }
    fn total(total: u32) -> Total {
        Total {
            total,
            rest: None,
            note: None,
        }
    }
    #[tool]
    fn value(n: u32) -> Total {
        total(n)
    }
    #[tool]
    fn result(n: u32) -> Result<Total, ToolError> {
        if n == 0 {
            return Err(ToolError::new("nothing").code("NONE"));
        }
        Ok(total(n))
    }
    #[tool]
    fn text_error(n: u32) -> Result<Total, String> {
        result(n).map_err(|error| error.message)
    }
    #[tool]
    fn io_error(n: u32) -> std::io::Result<Total> {
        std::fs::read(n.to_string()).map(|_| total(n))
    }
    type Answer<T> = Result<Outcome<T>, ToolError>;
    #[tool]
    fn outcome(n: u32) -> Answer<Total> {
        Ok(if n == 0 {
            Outcome::Pending("job".into())
        } else {
            Outcome::Output(total(n))
        })
    }
    #[tool]
    fn unwrapped_outcome(n: u32) -> Outcome<Total> {
        Outcome::Output(total(n))
    }
    #[tool]
    fn number(n: u32) -> Option<u32> {
        Some(n)
    }
    #[tool]
    fn any(n: u32) -> Result<Value, ToolError> {
        Ok(json!(n))
    }

    let schema = json!({
        "type": "object",
        "properties": {
            "total": {"type": "integer", "minimum": 0, "maximum": 4294967295_u32},
            "rest": {"type": ["integer", "null"]},
            "note": {"type": ["string", "null"]},
        },
        "required": ["total", "rest"],
    });
    let three = json!({"n": 3});
    let written = Ok(json!({"total": 3, "rest": null}));
    for (schema_of, answer) in [
        (output_schema::<value>(), call::<value>(&three)),
        (output_schema::<result>(), call::<result>(&three)),
        (output_schema::<text_error>(), call::<text_error>(&three)),
        (output_schema::<outcome>(), call::<outcome>(&three)),
        (
            output_schema::<unwrapped_outcome>(),
            call::<unwrapped_outcome>(&three),
        ),
    ] {
        assert_eq!(schema_of.as_ref(), Some(&schema));
        assert_eq!(answer, written);
    }
    assert_eq!(output_schema::<io_error>(), Some(schema));
    let zero = json!({"n": 0});
    assert_eq!(
        call::<result>(&zero).unwrap_err().code.as_deref(),
        Some("NONE")
    );
    assert_eq!(call::<text_error>(&zero).unwrap_err().message, "nothing");
    assert_eq!(
        call::<io_error>(&zero).unwrap_err().code.as_deref(),
        Some("NOT_FOUND")
    );
    assert_eq!(call::<outcome>(&zero), Ok(json!({"pending": "job"})));
    assert_eq!(
        (output_schema::<number>(), call::<number>(&three)),
        (None, Ok(json!(3)))
    );
    assert_eq!(
        (output_schema::<any>(), call::<any>(&three)),
        (None, Ok(json!(3)))
    );
}

#[test]
fn an_argument_may_be_null_but_not_left_out() {
    fn given<'de, D: Deserializer<'de>>(input: D) -> Result<Option<i64>, D::Error> {
        Option::deserialize(input)
    }
    #[tool]
    fn set(
        #[serde(deserialize_with = "given")]
        #[schemars(required, extend("type" = ["integer", "null"]))]
        limit: Option<i64>,
        label: Option<String>,
    ) -> Value {
        json!([limit, label])
    }
    assert!(is_required::<set>("limit") && !is_required::<set>("label"));
    assert_eq!(
        parameters::<set>()["properties"]["limit"],
        json!({"type": ["integer", "null"]})
    );
    assert_eq!(
        call::<set>(&json!({"limit": null})),
        Ok(json!([null, null]))
    );
    assert!(call::<set>(&json!({})).is_err());
}

#[test]
fn a_description_is_the_same_each_time() {
    #[tool]
    fn all(a: HashMap<String, Node>, b: Figure, c: Option<Point>, d: Circle) -> String {
        format!("{a:?} {b:?} {c:?} {d:?}")
    }
    fn describe() -> Vec<Option<String>> {
        let spec = ExportSpec::from(all::handler());
        vec![spec.description, spec.parameters]
    }
    assert_eq!(describe(), describe());
}
