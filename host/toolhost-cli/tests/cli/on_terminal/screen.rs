//! What is left on the screen of a terminal.

/// Returns the lines without those of notes.
pub(super) fn without_notes(screen: &str) -> String {
    let lines = screen.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("note: ")).collect()
}

/// Returns the lines that a terminal displays in the end. Knows what the command line writes: line breaks,
/// returns, erasing to the end of the line, and colours.
pub(super) fn screen(written: &str) -> String {
    let (mut done, mut line, mut column) = (String::new(), Vec::new(), 0);
    let mut written = written.chars();
    while let Some(c) = written.next() {
        match c {
            '\n' => {
                done.extend(line.drain(..));
                done.push('\n');
                column = 0;
            }
            '\r' => column = 0,
            '\u{1b}' => {
                let mut sequence = String::new();
                while !sequence.ends_with(|c: char| c.is_ascii_alphabetic()) {
                    sequence.push(written.next().expect("the sequence ends"));
                }
                match sequence.as_str() {
                    "[K" => line.truncate(column),
                    colour if colour.ends_with('m') => {}
                    other => panic!("the terminal of this test does not know {other:?}"),
                }
            }
            c => {
                match line.get_mut(column) {
                    Some(old) => *old = c,
                    None => line.push(c),
                }
                column += 1;
            }
        }
    }
    done.extend(line);
    done
}

#[test]
fn an_erased_line_is_not_on_the_screen() {
    assert_eq!(screen("\r\u{1b}[Kone\r\u{1b}[Ktwo"), "two");
    assert_eq!(
        screen("a\r\nbcd\rx\r\u{1b}[K\u{1b}[31me\u{1b}[0m\n"),
        "a\ne\n"
    );
}
