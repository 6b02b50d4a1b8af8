//! The `{{name}}` tool.

use std::fs;

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, handlers};

// A name for each function, as goondan.yaml names it.
handlers! {
    "count" => count { description: "Counts the lines, words and characters of a text file of the workdir" },
}

#[derive(Deserialize)]
struct Input {
    path: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Counts {
    lines: usize,
    words: usize,
    chars: usize,
}

fn count(ctx: &Context, input: Input) -> Result<Counts, ToolError> {
    let path = &input.path;
    let text = fs::read_to_string(path).map_err(|error| ToolError::from(error).at(path))?;
    ctx.logger().info(format_args!("read {path}"));
    Ok(counts(&text))
}

fn counts(text: &str) -> Counts {
    Counts {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        chars: text.chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, counts};

    #[test]
    fn counts_lines_words_and_characters() {
        let expected = Counts {
            lines: 2,
            words: 3,
            chars: 14,
        };
        assert_eq!(counts("one two\nthree\n"), expected);
    }
}
