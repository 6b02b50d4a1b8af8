//! `sdiff`: two files side by side, as `diff -y` prints them.

use super::diff;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};

const SPEC: Spec = Spec::new(&[
    flag('i', "ignore-case"),
    flag('E', "ignore-tab-expansion"),
    flag('Z', "ignore-trailing-space"),
    flag('b', "ignore-space-change"),
    flag('W', "ignore-all-space"),
    flag('B', "ignore-blank-lines"),
    value('I', "ignore-matching-lines"),
    flag('\0', "strip-trailing-cr"),
    flag('a', "text"),
    value('w', "width"),
    flag('l', "left-column"),
    flag('s', "suppress-common-lines"),
    flag('t', "expand-tabs"),
    value('\0', "tabsize"),
    flag('d', "minimal"),
    flag('H', "speed-large-files"),
    value('o', "output"),
]);

pub(super) const SDIFF: Command = Command::new("sdiff", SPEC, sdiff);

fn sdiff(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.has("output") {
        let text = "-o asks which side each change is taken from, and nobody answers here; \
                    use `diff3 -m` or `patch`";
        return Err(Failure::usage(text));
    }
    let text = match &*line.operands {
        [_, _] => return diff::compare(call, line, diff::Default::SideBySide),
        [.., last] if line.operands.len() > 2 => format!("extra operand '{last}'"),
        [last] => format!("missing operand after '{last}'"),
        _ => "missing operand after 'sdiff'".to_owned(),
    };
    let hint = "sdiff: Try 'sdiff --help' for more information.";
    Err(Failure::new(2, format!("{text}\n{hint}")))
}
