//! `tac`: lines from the last to the first.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec};
use crate::files::text_of;

pub(super) const TAC: Command = Command::new("tac", Spec::new(&[]), tac);

fn tac(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(bytes) => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n').rev() {
                    call.print(piece);
                }
            }
            Err(error) => {
                call.complain(format_args!(
                    "failed to open '{operand}' for reading: {}",
                    text_of(&error)
                ));
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}
