//! `tee`: standard input to files and to standard output.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional};

pub(super) const TEE: Command = Command::new(
    "tee",
    Spec::new(&[
        flag('a', "append"),
        flag('i', "ignore-interrupts"),
        flag('p', ""),
        optional('\0', "output-error"),
    ]),
    tee,
);

fn tee(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let input = call.stdin;
    let mut exit_code = 0;
    let mut copies = 1;
    for operand in &line.operands {
        if matches!(operand.as_str(), "-" | "/dev/stdout") {
            copies += usize::from(operand != "-");
            // A file of that name, as GNU's.
            if operand == "-" && call.files.write(&call.path(operand), input).is_err() {
                exit_code = 1;
            }
            continue;
        }
        let written = if line.has("append") {
            call.append(operand, input)
        } else {
            call.write(operand, input)
        };
        if let Err(error) = written {
            call.complain_of(operand, &error);
            exit_code = 1;
        }
    }
    for _ in 0..copies {
        call.print(input);
    }
    Ok(exit_code)
}
