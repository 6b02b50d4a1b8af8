//! Doc comments as descriptions for a model.

/// Returns a doc comment without its line breaks within paragraphs, up to a heading such as `# Errors`, which is for
/// readers of the code.
pub(crate) fn description(doc: &str) -> String {
    let mut text = String::new();
    // What goes before the next line.
    let mut gap = "";
    let mut is_code = false;
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        let is_fence = line.trim_start().starts_with("```");
        if is_code || is_fence {
            if !text.is_empty() {
                text.push_str(if gap == "\n\n" { gap } else { "\n" });
            }
            text.push_str(line);
            is_code ^= is_fence;
            gap = "\n";
            continue;
        }
        if line.is_empty() {
            gap = if text.is_empty() { "" } else { "\n\n" };
            continue;
        }
        if line.starts_with('#') && !text.is_empty() {
            break;
        }
        if gap == " " && starts_a_line(line) {
            gap = "\n";
        }
        text.push_str(gap);
        text.push_str(if gap == " " { line.trim_start() } else { line });
        gap = " ";
    }
    text
}

/// Whether Markdown does not take the line for a part of the paragraph before it.
fn starts_a_line(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_numbered =
        number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") "));
    is_numbered
        || ["- ", "* ", "+ ", "> ", "|"]
            .iter()
            .any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::description;

    #[test]
    fn joins_the_lines_of_paragraphs_and_leaves_lists_and_code() {
        for (doc, expected) in [
            ("", ""),
            (" One line.\n", "One line."),
            (
                " A sentence over\n two lines.\n\n Another.\n",
                "A sentence over two lines.\n\nAnother.",
            ),
            (
                " Units:\n - `m`, which\n   is a metre\n - `s`\n 1. first\n",
                "Units:\n- `m`, which is a metre\n- `s`\n1. first",
            ),
            (
                " Such as:\n ```\n a\n\n   b\n ```\n and more",
                "Such as:\n```\na\n\n  b\n```\nand more",
            ),
            (" Reads.\n\n # Errors\n It is not there.", "Reads."),
            (" # Title\n Text", "# Title Text"),
        ] {
            assert_eq!(description(doc), expected, "{doc:?}");
        }
    }
}
