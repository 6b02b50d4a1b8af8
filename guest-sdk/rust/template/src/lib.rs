//! The `{{name}}` tool.

use std::fs;

use serde::Serialize;
use toolhost_guest::{Context, ToolError, handlers, schemars, tool};

// What the component exports. The model sees {{name}}__count.
handlers! { count }

/// Counts the lines, words and characters of a text file of the workdir.
#[tool]
fn count(
    ctx: &Context,
    /// Path relative to the workdir.
    path: &str,
) -> Result<Counts, ToolError> {
    let text = fs::read_to_string(path).map_err(|error| ToolError::from(error).at(path))?;
    ctx.logger().info(format_args!("read {path}"));
    Ok(counts(&text))
}

#[derive(Debug, PartialEq, Serialize, schemars::JsonSchema)]
struct Counts {
    lines: usize,
    words: usize,
    chars: usize,
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
    use super::{Context, Counts, count, counts};

    #[test]
    fn counts_lines_words_and_characters() {
        let expected = Counts {
            lines: 2,
            words: 3,
            chars: 14,
        };
        assert_eq!(counts("one two\nthree\n"), expected);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = count(&Context::default(), "nowhere.txt").unwrap_err();
        assert_eq!(error.code.as_deref(), Some("NOT_FOUND"));
    }
}
