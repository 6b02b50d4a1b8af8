//! bashkit's own commands of which some ignore an option that they do not know, or take it for an operand.

use bashkit::ExecResult;

use super::call::Failure;
use super::options::{Numbers, Spec, flag, value};

/// The options that each of these implements.
const CHECKED: &[(&str, Spec)] = &[
    ("busybox", Spec::new(&[]).ends_at_operand()),
    ("clear", Spec::new(&[])),
    (
        "dirs",
        Spec::new(&[flag('c', ""), flag('l', ""), flag('p', ""), flag('v', "")])
            .numbers(Numbers::Operands),
    ),
    ("factor", Spec::new(&[])),
    (
        "less",
        Spec::new(&[
            flag('e', ""),
            flag('E', ""),
            flag('F', ""),
            flag('i', ""),
            flag('N', ""),
            flag('R', ""),
            flag('r', ""),
            flag('s', ""),
            flag('S', ""),
            flag('X', ""),
        ]),
    ),
    (
        "nice",
        Spec::new(&[value('n', "adjustment")])
            .ends_at_operand()
            .numbers(Numbers::Value),
    ),
    ("nohup", Spec::new(&[]).ends_at_operand()),
    ("printenv", Spec::new(&[])),
    (
        "strings",
        Spec::new(&[flag('a', "all"), value('n', "bytes"), value('t', "radix")])
            .numbers(Numbers::Value),
    ),
    (
        "wait",
        Spec::new(&[flag('f', ""), flag('n', ""), value('p', "")]),
    ),
    ("which", Spec::new(&[flag('a', ""), flag('s', "")])),
];

/// Answers in the place of a command of bashkit that would ignore an option, or take it for an operand.
pub(crate) fn refusal(name: &str, args: &[String]) -> Option<ExecResult> {
    let first = args.first()?;
    if !args.iter().any(|arg| arg.starts_with('-'))
        || matches!(first.as_str(), "--help" | "--version")
    {
        return None;
    }
    let (_, spec) = CHECKED.iter().find(|(checked, _)| *checked == name)?;
    let Failure { code, text } = spec.read(args).err()?;
    Some(ExecResult::err(format!("{name}: {text}\n"), code))
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn an_option_that_is_not_implemented_is_refused() {
        let check = |name: &str, args: &[&str], code: Option<i32>| {
            let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let answer = refusal(name, &args).map(|result| result.exit_code);
            assert_eq!(answer, code, "{name} {args:?}");
        };
        check("strings", &["--nosuchopt", "f"], Some(2));
        check("strings", &["-8", "-t", "x", "f"], None);
        check("nohup", &["-x"], Some(2));
        check("nohup", &["grep", "-x"], None);
        check("nice", &["-n", "5", "grep", "-x"], None);
        check("factor", &["-h"], Some(2));
        check("which", &["-a", "ls"], None);
        check("awk", &["-x"], None);
    }
}
