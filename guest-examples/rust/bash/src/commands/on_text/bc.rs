//! `bc`: a calculator with numbers of any length.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag};
use crate::files::text_of;

mod number;
mod parse;
mod run;

const SPEC: Spec = Spec::new(&[
    flag('l', "mathlib"),
    flag('q', "quiet"),
    flag('s', "standard"),
    flag('w', "warn"),
    flag('i', "interactive"),
]);

pub(super) const BC: Command = Command::new("bc", SPEC, bc);

/// How long a line of output is, with the backslash that breaks it.
fn line_length(call: &Call) -> usize {
    let length = call
        .env
        .get("BC_LINE_LENGTH")
        .and_then(|text| text.parse().ok());
    match length {
        Some(0) => usize::MAX,
        Some(length) if length > 2 => length,
        _ => 70,
    }
}

fn bc(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut machine = run::Machine::new(line.has("mathlib"), line_length(call));
    let mut texts = Vec::new();
    for operand in &line.operands {
        let bytes = call.read(operand).map_err(|error| {
            Failure::new(
                1,
                format!("File {operand} is unavailable: {}", text_of(&error)),
            )
        })?;
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    texts.push(String::from_utf8_lossy(call.stdin).into_owned());
    for text in texts {
        let mut parser = parse::Parser::new(&text);
        loop {
            match parser.next_line() {
                Ok(None) => break,
                Ok(Some(statements)) => {
                    let flow = machine.run(&statements, &mut call.out);
                    match flow {
                        Ok(run::Flow::Quit) => return Ok(0),
                        Ok(_) => {}
                        Err(why) => call.warn(
                            format!("Runtime error (func=(main), adr=0): {why}\n").as_bytes(),
                        ),
                    }
                }
                Err(_) if parser.quits => return Ok(0),
                Err(why) => {
                    let place = format!("(standard_in) {}: {why}\n", parser.line);
                    call.warn(place.as_bytes());
                }
            }
        }
    }
    Ok(0)
}
