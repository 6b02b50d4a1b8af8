//! The snippets of `docs/authors/rust.md`; a test of the command line compares the two.

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, handlers, schemars, tool};

handlers! { search }

/// Finds notes.
#[tool]
fn search(
    ctx: &Context,
    /// Words that a note contains.
    words: &str,
    /// How many notes to return.
    #[tool(default = 10)]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    /// Only notes of this kind.
    kind: Option<Kind>,
) -> Result<Notes, ToolError> {
    ctx.logger().info(format_args!("searching for {words}"));
    find(words, limit, kind)
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Task,
    Idea,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Notes {
    paths: Vec<String>,
}

fn find(words: &str, limit: u32, kind: Option<Kind>) -> Result<Notes, ToolError> {
    let kind = match kind {
        None => "all",
        Some(Kind::Task) => "tasks",
        Some(Kind::Idea) => "ideas",
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let paths = [format!("{kind}/{words}.md")];
    Ok(Notes {
        paths: paths.into_iter().take(limit).collect(),
    })
}

mod with_input {
    use super::{Deserialize, Notes, ToolError, find, schemars, tool};

    #[derive(Deserialize, schemars::JsonSchema)]
    struct Search {
        /// Words that a note contains.
        words: String,
    }

    /// Finds notes.
    #[tool]
    fn search(input: Search) -> Result<Notes, ToolError> {
        find(&input.words, 10, None)
    }

    #[test]
    fn it_is_an_ordinary_function_too() {
        let words = "budget".to_owned();
        let notes = search(Search { words });
        assert!(notes.is_ok_and(|notes| notes.paths == ["all/budget.md"]));
    }
}

fn sheet(name: &str) -> Result<(), ToolError> {
    Err(ToolError::new(format!("sheet `{name}` does not exist"))
        .code("NO_SHEET") // to branch on
        .suggestion("`sheets` lists what is there")) // the next step
}

#[test]
fn a_tool_is_an_ordinary_function() {
    let notes = search(&Context::default(), "budget", 10, Some(Kind::Task));
    assert!(notes.is_ok_and(|notes| notes.paths == ["tasks/budget.md"]));
    let ideas = search(&Context::default(), "budget", 0, Some(Kind::Idea));
    assert!(ideas.is_ok_and(|notes| notes.paths.is_empty()));
    assert!(sheet("a").is_err());
}
