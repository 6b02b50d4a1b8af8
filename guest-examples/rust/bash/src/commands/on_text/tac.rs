//! `tac`: lines from the last to the first.

use memchr::memmem;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

pub(super) const TAC: Command = Command::new(
    "tac",
    Spec::new(&[flag('b', "before"), value('s', "separator")]),
    tac,
);

fn tac(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let separator = line.value("separator").unwrap_or("\n").as_bytes();
    // GNU's takes an empty one for NUL.
    let separator = if separator.is_empty() {
        b"\0"
    } else {
        separator
    };
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(bytes) => {
                let mut end = bytes.len();
                let places: Vec<_> = memmem::rfind_iter(&bytes, separator).collect();
                for place in places {
                    let start = if line.has("before") {
                        place
                    } else {
                        place + separator.len()
                    };
                    if start < end {
                        call.print(bytes.get(start..end).unwrap_or_default());
                        end = start;
                    }
                }
                call.print(bytes.get(..end).unwrap_or_default());
            }
            Err(error) => {
                let why = text_of(&error);
                let is_folder = error.kind() == std::io::ErrorKind::IsADirectory;
                call.complain(if is_folder {
                    format!("{operand}: read error: {why}")
                } else {
                    format!("failed to open '{operand}' for reading: {why}")
                });
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}
