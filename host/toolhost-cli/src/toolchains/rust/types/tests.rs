use super::super::argument;
use super::*;

fn sources(text: &str) -> Sources {
    let file = SourceFile::parse("src/lib.rs".to_owned(), text);
    Sources(vec![file.unwrap()])
}

/// Checks the lines of the errors, and the beginnings of their messages.
fn expect(text: &str, expected: &[(u64, &str)]) {
    let faults = check(&sources(text));
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.line.unwrap(), fault.message.as_str()))
        .collect();
    assert_eq!(places.len(), expected.len(), "{text}\n{places:#?}");
    for ((line, message), (expected_line, start)) in places.iter().zip(expected) {
        assert_eq!(line, expected_line, "{text}\n{message}");
        assert!(message.starts_with(start), "{text}\n{message}");
    }
    assert!(
        faults
            .iter()
            .all(|fault| fault.next.is_some() && fault.column.is_some())
    );
}

/// A tool that takes the type `T`, which follows from line 2 on.
fn takes(types: &str) -> String {
    format!("#[tool] fn f(t: T) {{}}\n{types}")
}

#[test]
fn bounds_that_a_type_cannot_have_are_noted_at_their_line() {
    let arguments = "#[tool]\nfn f(\n    #[schemars(range(min = 1))] a: String,\n    #[schemars(length(max = 9))] b: u32,\n    \
                     #[validate(email)] c: Option<bool>,\n    #[garde(pattern(\"a\"))] d: &[u8],\n    \
                     #[schemars(inner(range(min = 1)))] e: Vec<String>,\n    #[schemars(inner(length(min = 1)))] f: HashMap<String, String>,\n) {}";
    expect(
        arguments,
        &[
            (3, "`range` has no effect on `String`"),
            (4, "`length` has no effect on `u32`"),
            (7, "`range` has no effect on `String`"),
            (8, "`inner` has no effect on `HashMap<String, String>`"),
        ],
    );
    // Through aliases and types with one field, and in types that are within the argument's.
    expect(
        &takes(
            "#[derive(Deserialize, schemars::JsonSchema)]\nstruct T {\n    a: Vec<Inner>,\n}\n\
             #[derive(serde::Deserialize, JsonSchema)]\nstruct Inner {\n    #[schemars(length(min = 1))]\n    p: Percent,\n    \
             #[schemars(range(max = 100))]\n    q: Percent,\n    #[schemars(range(max = 1))]\n    k: Kind,\n}\n\
             #[derive(Deserialize, JsonSchema)]\nstruct Percent(u8);\n#[derive(Deserialize, JsonSchema)]\nenum Kind { A, B }\n",
        ),
        &[
            (8, "`length` has no effect on `Percent`"),
            (12, "`range` has no effect on `Kind`"),
        ],
    );
}

#[test]
fn bounds_that_a_type_has_and_types_that_are_not_known_are_not_noted() {
    expect(
        "#[tool]\nfn f(\n    ctx: &Context,\n    #[schemars(range(min = 1, max = 9))] a: Option<NonZeroU8>,\n    \
         #[schemars(length(min = 1), regex(pattern = \"a\"), inner(length(min = 1)))] b: Vec<String>,\n    \
         #[schemars(with = \"String\", length(min = 1))] c: u32,\n    #[schemars(range(min = 1))] d: other::Money,\n    \
         #[schemars(schema_with = \"mine\", length(min = 1))] e: u32,\n    #[validate(range(min = 1))] f: (f64),\n) {}",
        &[(5, "`regex` has no effect on `Vec<String>`")],
    );
    // A type of this name that is not the standard library's; two of one name; one that writes its own schema.
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\nstruct T {\n    #[schemars(range(min = 1))] a: String,\n    #[schemars(range(min = 1))] b: Two,\n    \
             #[schemars(range(min = 1))] c: Own,\n}\n#[derive(Deserialize, JsonSchema)]\nstruct String(u8);\n\
             mod a { #[derive(Deserialize, JsonSchema)] struct Two {} }\nmod b { struct Two(u8); }\n#[derive(Deserialize)]\nstruct Own {}\n",
        ),
        &[],
    );
    // No tool takes it.
    expect(
        "#[derive(Deserialize, JsonSchema)]\nstruct T { #[serde(alias = \"b\")] a: u128 }\n#[tool]\nfn f(a: u8) {}",
        &[],
    );
    // Of another package, whatever its last name is; and what has no part in the arguments.
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\nstruct T {\n    #[schemars(range(min = 1))] a: wire::String,\n    b: wire::Config,\n    \
             c: Filter,\n    #[serde(default)] #[schemars(skip)] d: u128,\n}\n\
             #[derive(Deserialize, JsonSchema)]\nenum Filter { All, #[serde(skip)] Cached(u128) }\n\
             #[derive(Deserialize, JsonSchema)]\nstruct Config { #[serde(alias = \"x\")] e: u8 }",
        ),
        &[],
    );
    // Of tests.
    expect("#[cfg(test)]\nmod tests { #[tool] fn f(a: u128) {} }", &[]);
}

#[test]
fn keys_and_numbers_that_json_cannot_have_are_noted_at_their_line() {
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\nstruct T {\n    a: HashMap<Point, u8>,\n    b: Vec<BTreeMap<(u8, u8), String>>,\n    \
             c: Option<u128>,\n    d: HashMap<Kind, NonZeroI128>,\n    e: BTreeMap<i64, Name>,\n    f: HashMap<Forms, u8>,\n}\n\
             #[derive(Deserialize, JsonSchema, Hash)]\nstruct Point { x: i64 }\n#[derive(Deserialize, JsonSchema)]\nenum Kind { A }\n\
             #[derive(Deserialize, JsonSchema)]\nstruct Name(String);\n#[derive(Deserialize, JsonSchema)]\nenum Forms { A(u8) }",
        ),
        &[
            (4, "`Point` cannot be the key of a map"),
            (5, "`(u8, u8)` cannot be the key of a map"),
            (
                6,
                "a number of a call has at most 64 bits, and `u128` has more",
            ),
            (
                7,
                "a number of a call has at most 64 bits, and `NonZeroI128` has more",
            ),
            (9, "`Forms` cannot be the key of a map"),
        ],
    );
    // What a tool returns is written with all digits.
    expect(
        "#[tool]\nfn f() -> Result<Out, Error> {}\n#[derive(Serialize, JsonSchema)]\nstruct Out {\n    a: i128,\n    b: HashMap<Vec<u8>, u8>,\n}",
        &[(6, "`Vec<u8>` cannot be the key of a map")],
    );
    // serde reads a value first where the form decides, and keys of numbers as texts then.
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\n#[serde(untagged)]\nenum T {\n    A(HashMap<u8, u8>),\n    B { b: BTreeMap<String, u8> },\n}",
        ),
        &[(5, "`u8` cannot be the key of a map within `flatten`")],
    );
}

#[test]
fn attributes_that_serde_and_the_schema_read_differently_are_noted_at_their_line() {
    expect(
        "#[tool]\nfn f(\n    #[serde(rename = \"q\", alias = \"query\")] words: &str,\n    #[schemars(rename = \"m\")] n: u8,\n    \
         #[serde(deserialize_with = \"read\")] o: u8,\n    #[serde(deserialize_with = \"read\")] #[schemars(with = \"String\")] p: u128,\n    \
         #[serde(flatten)] rest: HashMap<String, Value>,\n) {}",
        &[
            (3, "`alias` never matches"),
            (4, "`rename` of #[schemars] changes the schema"),
            (
                5,
                "the schema has the type of the field, and not what `deserialize_with` reads",
            ),
            (7, "`HashMap<String, Value>` gets no values"),
        ],
    );
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\n#[schemars(rename_all = \"camelCase\")]\nstruct T {\n    #[serde(alias = \"b\")]\n    a: u8,\n    \
             #[serde(flatten)]\n    rest: Map<String, Value>,\n    k: Kind,\n    s: Shape,\n    #[serde(skip)]\n    u: u128,\n}\n\
             #[derive(Deserialize, JsonSchema)]\n#[serde(rename_all = \"lowercase\")]\nenum Kind {\n    #[serde(alias = \"x\")]\n    A,\n    #[serde(other)]\n    B,\n}\n\
             #[derive(Deserialize, JsonSchema)]\n#[serde(tag = \"t\")]\nenum Shape {\n    A(String),\n    B(Point),\n    C { c: String },\n}\n\
             #[derive(Deserialize, JsonSchema)]\nstruct Point { x: u8 }",
        ),
        &[
            (3, "`rename_all` of #[schemars] changes the schema"),
            (5, "`alias` never matches"),
            (17, "`alias` never matches"),
            (19, "`other` never matches"),
            (25, "`String` cannot be within an enum with `tag`"),
        ],
    );
    // What a tool returns is written, and not read.
    expect(
        "#[tool]\nfn f() -> Out {}\n#[derive(Serialize, Deserialize, JsonSchema)]\nstruct Out {\n    #[serde(alias = \"b\", deserialize_with = \"r\")]\n    a: u8,\n    \
         #[serde(serialize_with = \"w\")]\n    c: u8,\n    #[serde(with = \"w\")]\n    #[schemars(with = \"String\")]\n    d: u8,\n}",
        &[(
            7,
            "the schema has the type of the field, and not what `serialize_with` writes",
        )],
    );
    // What is read in the place of a type is looked at.
    expect(
        &takes(
            "#[derive(Deserialize, JsonSchema)]\n#[serde(try_from = \"Raw\")]\nstruct T {\n    #[serde(alias = \"b\")]\n    a: u8,\n}\n\
                #[derive(Deserialize, JsonSchema)]\nstruct Raw {\n    #[serde(alias = \"b\")]\n    a: u8,\n}",
        ),
        &[(10, "`alias` never matches")],
    );
}

#[test]
fn an_input_that_is_no_object_is_noted_at_its_line() {
    expect(
        "#[tool]\nfn f(ctx: &Context,\n    input: Vec<u8>) {}\n#[tool]\nfn g(input: Value) {}\n#[tool]\nfn h(words: Vec<u8>) {}",
        &[(3, "the input of a tool is an object, and `Vec<u8>` is none")],
    );
}

#[test]
fn a_problem_of_a_schema_is_placed_at_the_argument_or_the_field() {
    let text = "#[tool(name = \"find-all\")]\nfn find(\n    words: &str,\n    #[tool(default = 500)] limit: u32,\n    filter: Filter,\n) {}\n\
                #[tool]\nfn other(limit: u32) {}\n#[derive(Deserialize, JsonSchema)]\n#[serde(rename_all = \"camelCase\")]\nstruct Filter {\n    \
                #[serde(default = \"most\")]\n    max_size: u32,\n    #[serde(rename = \"limit\", default)]\n    l: u32,\n}";
    let sources = sources(text);
    let line = |pointer: &str| {
        let fault = Fault::new("it does not fit").next("Correct it.");
        let placed = argument::place(&sources, "find-all", pointer, fault);
        assert_eq!(placed.message, "it does not fit");
        assert_eq!(placed.next.as_deref(), Some("Correct it."));
        placed.line.unwrap()
    };
    assert_eq!(line("/properties/limit/default"), 4);
    assert_eq!(line("/properties/filter/properties/maxSize/default"), 13);
    assert_eq!(line("/properties/filter/properties/limit/default"), 15);
    assert_eq!(line("/$defs/Filter/properties/maxSize/default"), 13);
    assert_eq!(line("/properties/nowhere/default"), 2);
}
