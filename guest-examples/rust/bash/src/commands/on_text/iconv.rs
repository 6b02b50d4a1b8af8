//! `iconv`: texts in other encodings.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod encodings;

use encodings::{Encoding, Malformed, NAMES};

const SPEC: Spec = Spec::new(&[
    flag('c', ""),
    value('f', "from-code"),
    flag('l', "list"),
    value('o', "output"),
    flag('s', "silent"),
    value('t', "to-code"),
]);

pub(super) const ICONV: Command = Command::new("iconv", SPEC, iconv);

/// What becomes of a character that the encoding of the output lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lacking {
    IsError,
    /// It is left out.
    IsSkipped,
    /// The same, and the exit code says so.
    IsReported,
}

fn encoding(text: &str) -> Result<Encoding, Failure> {
    Encoding::named(text).ok_or_else(|| {
        let names = NAMES.map(|(name, _)| name).join(" ");
        let text = format!("the encoding '{text}' is not known here; these are: {names}");
        Failure::new(1, text)
    })
}

fn iconv(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.has("list") {
        for (name, _) in NAMES {
            call.print(format!("{name}//\n"));
        }
        return Ok(0);
    }
    let source = line.value("from-code").unwrap_or("UTF-8");
    let source = encoding(source.split("//").next().unwrap_or(source))?;
    let mut target = line.value("to-code").unwrap_or("UTF-8").split("//");
    let name = target.next().unwrap_or_default();
    let target_encoding = encoding(if name.is_empty() { "UTF-8" } else { name })?;
    let mut lacking = if line.has("c") {
        Lacking::IsSkipped
    } else {
        Lacking::IsError
    };
    let mut replaces = false;
    for suffix in target.flat_map(|suffix| suffix.split(',')) {
        match &*suffix.to_ascii_uppercase() {
            "TRANSLIT" => replaces = true,
            "IGNORE" if lacking == Lacking::IsError => lacking = Lacking::IsReported,
            "IGNORE" | "" => {}
            _ => {
                return Err(Failure::usage(format!(
                    "//{suffix} is not implemented here; these are: //TRANSLIT //IGNORE"
                )));
            }
        }
    }
    let (mut out, mut exit_code) = (Vec::new(), 0);
    target_encoding.begin(&mut out);
    let (mut problem, mut lost) = (None, None);
    for operand in line.operands_or_stdin() {
        let bytes = match call.read(operand) {
            Ok(bytes) => bytes,
            Err(error) => {
                call.complain(format_args!(
                    "cannot open input file `{operand}': {}",
                    text_of(&error)
                ));
                exit_code = 1;
                continue;
            }
        };
        let mut reader = source.reader(&bytes);
        while let Some((place, read)) = reader.next() {
            let char = match read {
                Ok(char) => char,
                Err(Malformed::Incomplete) => {
                    problem =
                        Some("incomplete character or shift sequence at end of buffer".to_owned());
                    break;
                }
                Err(Malformed::Illegal) if lacking != Lacking::IsError => {
                    lost.get_or_insert(place);
                    continue;
                }
                Err(Malformed::Illegal) => {
                    problem = Some(format!("illegal input sequence at position {place}"));
                    break;
                }
            };
            if target_encoding.write(char, &mut out) {
                continue;
            }
            let replacement = encodings::replacement(char).filter(|_| replaces);
            match (replacement, lacking) {
                (Some(text), _) => {
                    for char in text.chars() {
                        target_encoding.write(char, &mut out);
                    }
                }
                (None, _) if replaces => {
                    target_encoding.write('?', &mut out);
                }
                (None, Lacking::IsSkipped) => {}
                (None, Lacking::IsReported) => {
                    lost.get_or_insert(place);
                }
                (None, Lacking::IsError) => {
                    problem = Some(format!("illegal input sequence at position {place}"));
                    break;
                }
            }
        }
        if problem.is_some() {
            break;
        }
    }
    if let Some(output) = line.value("output") {
        call.write(output, &out).map_err(|error| {
            Failure::new(
                1,
                format!("unable to open output file: {}", text_of(&error)),
            )
        })?;
    } else {
        call.print(out);
    }
    let problem =
        problem.or_else(|| lost.map(|place| format!("illegal input sequence at position {place}")));
    if let Some(problem) = problem {
        return Err(Failure::new(1, problem));
    }
    Ok(exit_code)
}
