//! The snippets of `docs/authors/rust.md`; a test of the command line compares the two.

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, handlers};

handlers! {
    "greet" => greet { description: "Greets a person" },
}

#[derive(Deserialize)]
struct Input {
    name: String,
}

fn greet(_: &Context, input: Input) -> Result<String, ToolError> {
    Ok(format!("Hello, {}!", input.name))
}

fn sheet(name: &str) -> Result<(), ToolError> {
    Err(ToolError::new(format!("sheet `{name}` does not exist"))
        .code("NO_SHEET") // to branch on
        .suggestion("`sheets` lists what is there")) // the next step
}

#[test]
fn a_handler_is_an_ordinary_function() {
    let input = Input {
        name: "Ada".to_owned(),
    };
    assert!(greet(&Context::default(), input).is_ok_and(|text| text == "Hello, Ada!"));
    assert!(sheet("a").is_err());
}
