//! `xargs`: a command with the words of a text as arguments.

use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::commands::{Command, quoted};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    flag('0', "null"),
    value('a', "arg-file"),
    value('d', "delimiter"),
    value('E', ""),
    optional('e', "eof"),
    value('I', ""),
    optional('i', "replace"),
    value('L', ""),
    optional('l', "max-lines"),
    value('n', "max-args"),
    value('P', "max-procs"),
    flag('r', "no-run-if-empty"),
    value('s', "max-chars"),
    flag('t', "verbose"),
    flag('x', "exit"),
])
.ends_at_operand();

pub(super) const XARGS: Command = Command::of_shell("xargs", SPEC, xargs);

/// The most bytes of one command line.
const LONGEST: usize = 131_072;

/// What a text is cut into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// At blanks, with quotes and backslashes.
    Words,
    /// At a byte.
    Byte(u8),
    /// At newlines, without the blanks at the beginning, with quotes and backslashes.
    Lines,
}

fn xargs(call: &mut Call, line: &Line) -> Result<String, Failure> {
    let replace = line.value("I").or_else(|| {
        line.has("replace")
            .then(|| line.value("replace").unwrap_or("{}"))
    });
    let max_lines = match line.last_of(&["L", "max-lines"]) {
        Some("L") => number(line, "L")?,
        Some(_) => number(line, "max-lines")?.or(Some(1)),
        None => None,
    };
    let max_args = number(line, "max-args")?;
    let max_chars = number(line, "max-chars")?.unwrap_or(LONGEST);
    number(line, "max-procs")?;
    // The last of them holds.
    let last = line.last_of(&["I", "replace", "L", "max-lines", "max-args"]);
    let replace = replace.filter(|_| matches!(last, Some("I" | "replace")) || max_args == Some(1));
    let max_args = max_args.filter(|_| last == Some("max-args") && replace.is_none());
    let max_lines = max_lines.filter(|_| matches!(last, Some("L" | "max-lines")));
    let cut = match line.last_of(&["null", "delimiter"]) {
        Some("null") => Cut::Byte(0),
        Some(_) => Cut::Byte(delimiter(line.value("delimiter").unwrap_or_default())?),
        None if replace.is_some() => Cut::Lines,
        None => Cut::Words,
    };
    let text = match line.value("arg-file") {
        Some(file) => call.read(file).map_err(|error| {
            Failure::new(
                1,
                format!("Cannot open input file '{file}': {}", text_of(&error)),
            )
        })?,
        None => std::borrow::Cow::Borrowed(call.stdin),
    };
    let text = std::str::from_utf8(&text)
        .map_err(|_| Failure::usage("the input is not UTF-8, and arguments are texts here"))?;
    let eof = line
        .value("E")
        .or_else(|| line.value("eof"))
        .filter(|_| !matches!(cut, Cut::Byte(_)));
    let words = words(text, cut, eof)?;
    let echo = ["echo".to_owned()];
    let command = if line.operands.is_empty() {
        &echo
    } else {
        &*line.operands
    };
    let mut groups: Vec<Vec<String>> = Vec::new();
    if let Some(mark) = replace {
        for word in words {
            let args = command.iter().enumerate().map(|(index, arg)| {
                if index == 0 {
                    arg.clone()
                } else {
                    arg.replace(mark, &word.text)
                }
            });
            groups.push(args.collect());
        }
    } else {
        let fixed: usize = command.iter().map(|arg| arg.len() + 1).sum();
        let (mut group, mut size, mut lines) = (Vec::new(), fixed, 0);
        for word in &words {
            let is_full = max_args.is_some_and(|most| group.len() >= most)
                || max_lines.is_some_and(|most| lines >= most)
                || size + word.text.len() + 1 > max_chars;
            if is_full && !group.is_empty() {
                groups.push(
                    command
                        .iter()
                        .cloned()
                        .chain(std::mem::take(&mut group))
                        .collect(),
                );
                (size, lines) = (fixed, 0);
            }
            if size + word.text.len() + 1 > max_chars {
                return Err(Failure::new(1, "argument line too long"));
            }
            size += word.text.len() + 1;
            group.push(word.text.clone());
            lines += usize::from(word.ends_line);
        }
        if !group.is_empty() {
            groups.push(command.iter().cloned().chain(group).collect());
        } else if groups.is_empty() && !line.has("no-run-if-empty") {
            groups.push(command.to_vec());
        }
    }
    Ok(script(&groups, line.has("verbose")))
}

/// The commands as a text of the shell, with exit code 123 to 127 as of `xargs`.
fn script(groups: &[Vec<String>], verbose: bool) -> String {
    let mut script = String::from("__x=0\n");
    for group in groups {
        let words: Vec<_> = group.iter().map(|word| quoted(word)).collect();
        let mut command = words.join(" ");
        if let Some(shell @ ("sh" | "bash")) = group.first().map(String::as_str) {
            command = format!("{shell} {}", words.get(1..).unwrap_or_default().join(" "));
        }
        if verbose {
            let shown: Vec<_> = group.iter().map(|word| shown(word)).collect();
            script.push_str(&format!(
                "printf '%s\\n' {} >&2\n",
                quoted(&shown.join(" "))
            ));
        }
        let name = group.first().map_or("", String::as_str);
        let absent = quoted(&format!("xargs: {name}: No such file or directory"));
        // The shell runs itself, and has no command of that name.
        if matches!(name, "sh" | "bash") {
            script.push_str(&format!("{command} </dev/null\n"));
        } else {
            script.push_str(&format!(
                "if type {name} >/dev/null 2>&1; then command {command} </dev/null; else printf '%s\\n' {absent} >&2; exit 127; fi\n",
                name = quoted(name),
            ));
        }
        let ended = quoted(&format!("xargs: {name}: exited with status 255; aborting"));
        script.push_str(&format!(
            "case $? in 0) ;; 255) printf '%s\\n' {ended} >&2; exit 124 ;; 126) exit 126 ;; 127) exit 127 ;; *) __x=123 ;; esac\n",
        ));
    }
    script.push_str("exit $__x");
    script
}

fn shown(word: &str) -> String {
    let is_plain = |char: char| {
        char.is_ascii_alphanumeric() || "_-./=+:,@%".contains(char) || !char.is_ascii()
    };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    quoted(word)
}

fn number(line: &Line, name: &str) -> Result<Option<usize>, Failure> {
    let Some(text) = line.value(name) else {
        return Ok(None);
    };
    let short = match name {
        "max-args" => "-n",
        "max-procs" => "-P",
        "max-chars" => "-s",
        "max-lines" => "-l",
        _ => "-L",
    };
    let wrong = |text| Failure::new(1, text);
    let value: usize = text.parse().map_err(|_| {
        wrong(format!(
            "invalid number \"{text}\" for {short} option\nTry 'xargs --help' for more information."
        ))
    })?;
    if value == 0 && short != "-P" {
        return Err(wrong(format!(
            "value {text} for {short} option should be >= 1\nTry 'xargs --help' for more information."
        )));
    }
    Ok(Some(value))
}

fn delimiter(text: &str) -> Result<u8, Failure> {
    let byte = match text.as_bytes() {
        [byte] => Some(*byte),
        [b'\\', rest @ ..] => match rest {
            b"n" => Some(b'\n'),
            b"t" => Some(b'\t'),
            b"r" => Some(b'\r'),
            b"0" => Some(0),
            b"\\" => Some(b'\\'),
            b"a" => Some(7),
            b"b" => Some(8),
            b"f" => Some(12),
            b"v" => Some(11),
            [b'x', hex @ ..] => std::str::from_utf8(hex)
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok()),
            octal => std::str::from_utf8(octal)
                .ok()
                .and_then(|octal| u8::from_str_radix(octal, 8).ok()),
        },
        _ => None,
    };
    byte.ok_or_else(|| {
        let text = format!(
            "Invalid input delimiter specification {text}: the delimiter must be either a single character or an escape sequence starting with \\."
        );
        Failure::new(1, text)
    })
}

struct Word {
    text: String,
    /// Whether a line of the input ends after it.
    ends_line: bool,
}

fn words(text: &str, cut: Cut, eof: Option<&str>) -> Result<Vec<Word>, Failure> {
    let mut words: Vec<Word> = Vec::new();
    if let Cut::Byte(byte) = cut {
        let text = text.strip_suffix(char::from(byte)).unwrap_or(text);
        if !text.is_empty() {
            words.extend(text.split(char::from(byte)).map(|text| Word {
                text: text.to_owned(),
                ends_line: true,
            }));
        }
        return Ok(words);
    }
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let is_blank = |char: char| matches!(char, ' ' | '\t');
    let push = |words: &mut Vec<Word>, word: &mut Option<String>| -> bool {
        let Some(text) = word.take() else { return true };
        if eof == Some(&*text) {
            return false;
        }
        words.push(Word {
            text,
            ends_line: false,
        });
        true
    };
    let mut last = '\n';
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            quote @ ('\'' | '"') => {
                let inner = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(char) if char == quote => break,
                        Some('\n') | None => {
                            let kind = if quote == '"' { "double" } else { "single" };
                            let text = format!(
                                "unmatched {kind} quote; by default quotes are special to xargs unless you use the -0 option"
                            );
                            return Err(Failure::new(1, text));
                        }
                        Some(char) => inner.push(char),
                    }
                }
            }
            '\n' => {
                // A line that ends in a blank goes on.
                if !push(&mut words, &mut word) {
                    return Ok(words);
                }
                if !is_blank(last)
                    && let Some(word) = words.last_mut()
                {
                    word.ends_line = true;
                }
            }
            char if is_blank(char) && cut == Cut::Words => {
                if !push(&mut words, &mut word) {
                    return Ok(words);
                }
            }
            char if is_blank(char) && word.is_none() => {}
            char => word.get_or_insert_default().push(char),
        }
        last = char;
    }
    push(&mut words, &mut word);
    Ok(words)
}
