//! The options of a command, as GNU's `getopt_long` reads them.

use super::call::Failure;

/// Exit code of an option that is not implemented.
const NOT_IMPLEMENTED: i32 = 2;

/// What [`Line::given`] calls an operand.
pub(crate) const OPERAND: &str = "";

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// Only attached: `-iSUFFIX`, `--color=WHEN`.
    Optional,
}

/// An option of a command.
#[derive(Clone, Copy)]
pub(crate) struct Opt {
    short: Option<char>,
    long: &'static str,
    takes: Takes,
}

/// An option without a value. `'\0'` stands for no short name and `""` for no long one.
pub(crate) const fn flag(short: char, long: &'static str) -> Opt {
    Opt::new(short, long, Takes::Nothing)
}

/// An option with a value.
pub(crate) const fn value(short: char, long: &'static str) -> Opt {
    Opt::new(short, long, Takes::Value)
}

/// An option that may have a value attached to it.
pub(crate) const fn optional(short: char, long: &'static str) -> Opt {
    Opt::new(short, long, Takes::Optional)
}

impl Opt {
    const fn new(short: char, long: &'static str, takes: Takes) -> Self {
        let short = if short == '\0' { None } else { Some(short) };
        Self { short, long, takes }
    }

    /// What [`Line`] calls the option: its long name, or else its short one.
    fn is(&self, name: &str) -> bool {
        if self.long.is_empty() {
            let mut chars = name.chars();
            return chars.next() == self.short && chars.next().is_none();
        }
        self.long == name
    }

    fn shown(&self) -> String {
        match self.short {
            Some(short) => format!("-{short}"),
            None => format!("--{}", self.long),
        }
    }
}

/// What `-5` and `-.5` are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Options,
    Operands,
    /// `-5` is the option named `number`, with the value 5.
    Value,
}

/// The options that a command implements.
pub(crate) struct Spec {
    pub(crate) options: &'static [Opt],
    /// Whether what follows the first operand belongs to another command.
    pub(crate) ends_at_operand: bool,
    /// Whether the command reads its arguments itself: all are operands.
    pub(crate) is_raw: bool,
    /// Whether operands are among what [`Line::given`] returns, under the name [`OPERAND`].
    pub(crate) has_order: bool,
    pub(crate) numbers: Numbers,
    /// Whether the value of a long option may follow a `=`.
    pub(crate) attaches: bool,
}

impl Spec {
    pub(crate) const fn new(options: &'static [Opt]) -> Self {
        Self {
            options,
            ends_at_operand: false,
            is_raw: false,
            has_order: false,
            numbers: Numbers::Options,
            attaches: true,
        }
    }

    /// For commands that take the value of a long option from the next argument only.
    pub(crate) const fn detached(mut self) -> Self {
        self.attaches = false;
        self
    }

    /// For arguments that are no options: the command reads them itself.
    pub(crate) const fn raw() -> Self {
        let mut spec = Self::new(&[]);
        spec.is_raw = true;
        spec
    }

    /// For options that hold from their place on: operands keep their place among them.
    pub(crate) const fn in_order(mut self) -> Self {
        self.has_order = true;
        self
    }

    /// Has the command read its arguments itself; its options are only shown.
    pub(crate) const fn shown_only(mut self) -> Self {
        self.is_raw = true;
        self
    }

    /// Whether a short option has a value.
    pub(crate) fn has_value(&self, short: char) -> bool {
        let mut options = self.options.iter();
        options.any(|option| option.short == Some(short) && option.takes == Takes::Value)
    }

    pub(crate) const fn ends_at_operand(mut self) -> Self {
        self.ends_at_operand = true;
        self
    }

    pub(crate) const fn numbers(mut self, numbers: Numbers) -> Self {
        self.numbers = numbers;
        self
    }

    /// Reads arguments.
    ///
    /// # Errors
    /// An option that is not implemented, or has no value that it needs.
    pub(crate) fn read(&self, args: &[String]) -> Result<Line, Failure> {
        let mut line = Line::default();
        if self.is_raw {
            line.operands = args.to_vec();
            return Ok(line);
        }
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                for operand in args {
                    self.push_operand(operand, &mut line);
                }
                break;
            }
            if let Some(long) = arg.strip_prefix("--") {
                let (name, attached) = match long.split_once('=') {
                    Some((name, value)) if self.attaches => (name, Some(value.to_owned())),
                    Some(_) | None => (long, None),
                };
                let option = self.long(name)?;
                let given = match (option.takes, attached) {
                    (Takes::Nothing, Some(_)) => {
                        let text = format!("option '--{}' doesn't allow an argument", option.long);
                        return Err(Failure::usage(text));
                    }
                    (Takes::Value, None) => Some(args.next().cloned().ok_or_else(|| {
                        Failure::usage(format!("option '--{}' requires an argument", option.long))
                    })?),
                    (_, attached) => attached,
                };
                line.given.push((option, given));
            } else if arg.len() > 1 && arg.starts_with('-') && !self.is_number(arg, &mut line) {
                self.read_cluster(&arg[1..], &mut args, &mut line)?;
            } else if arg.len() == 1 || !arg.starts_with('-') || self.numbers == Numbers::Operands {
                self.push_operand(arg, &mut line);
                if self.ends_at_operand {
                    line.operands.extend(args.cloned());
                    break;
                }
            }
        }
        Ok(line)
    }

    fn push_operand(&self, operand: &str, line: &mut Line) {
        if self.has_order {
            line.given
                .push((value('\0', OPERAND), Some(operand.to_owned())));
        }
        line.operands.push(operand.to_owned());
    }

    /// Whether an argument is a number; as an option, it is added to the line.
    fn is_number(&self, arg: &str, line: &mut Line) -> bool {
        let digits = &arg[1..];
        match self.numbers {
            Numbers::Options => false,
            Numbers::Operands => {
                digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
            }
            Numbers::Value => {
                let all = digits.bytes().all(|byte| byte.is_ascii_digit());
                if all {
                    let number = value('\0', "number");
                    line.given.push((number, Some(digits.to_owned())));
                }
                all
            }
        }
    }

    /// Reads `-abc`, where the value of an option may follow in the argument or be the next one.
    fn read_cluster<'a>(
        &self,
        cluster: &str,
        args: &mut impl Iterator<Item = &'a String>,
        line: &mut Line,
    ) -> Result<(), Failure> {
        let mut chars = cluster.chars();
        while let Some(char) = chars.next() {
            if self.numbers == Numbers::Value && char.is_ascii_digit() {
                let rest = chars.as_str();
                let more = rest
                    .find(|char: char| !char.is_ascii_digit())
                    .unwrap_or(rest.len());
                let (more, rest) = rest.split_at(more);
                line.given
                    .push((value('\0', "number"), Some(format!("{char}{more}"))));
                chars = rest.chars();
                continue;
            }
            let option = self.short(char)?;
            let rest = chars.as_str();
            let attached = (!rest.is_empty()).then(|| rest.to_owned());
            let given = match option.takes {
                Takes::Nothing => {
                    line.given.push((option, None));
                    continue;
                }
                Takes::Optional => attached,
                Takes::Value => {
                    Some(attached.or_else(|| args.next().cloned()).ok_or_else(|| {
                        Failure::usage(format!("option requires an argument -- '{char}'"))
                    })?)
                }
            };
            line.given.push((option, given));
            break;
        }
        Ok(())
    }

    fn short(&self, char: char) -> Result<Opt, Failure> {
        let mut options = self.options.iter();
        let option = options.find(|option| option.short == Some(char));
        option
            .copied()
            .ok_or_else(|| self.unknown(&format!("-{char}")))
    }

    /// An option by its long name or an unambiguous beginning of it.
    fn long(&self, name: &str) -> Result<Opt, Failure> {
        let exact = self.options.iter().find(|option| option.long == name);
        if let (Some(option), false) = (exact, name.is_empty()) {
            return Ok(*option);
        }
        let mut matches = self
            .options
            .iter()
            .filter(|option| !name.is_empty() && option.long.starts_with(name));
        match (matches.next(), matches.next()) {
            (Some(option), None) => Ok(*option),
            (Some(_), Some(_)) => Err(Failure::usage(format!("option '--{name}' is ambiguous"))),
            (None, _) => Err(self.unknown(&format!("--{name}"))),
        }
    }

    /// The names of all options.
    pub(crate) fn shown(&self) -> String {
        let options: Vec<_> = self.options.iter().map(Opt::shown).collect();
        options.join(" ")
    }

    fn unknown(&self, option: &str) -> Failure {
        let options = self.shown();
        let text = if options.is_empty() {
            format!("the option {option} is not implemented here; there are no options")
        } else {
            format!("the option {option} is not implemented here; these are: {options}")
        };
        Failure::new(NOT_IMPLEMENTED, text)
    }
}

/// What a command was given.
#[derive(Default)]
pub(crate) struct Line {
    /// In the order of the command line.
    given: Vec<(Opt, Option<String>)>,
    pub(crate) operands: Vec<String>,
}

impl Line {
    /// The operands, or `-` if there are none.
    pub(crate) fn operands_or_stdin(&self) -> impl Iterator<Item = &str> {
        let stdin = self.operands.is_empty().then_some("-");
        self.operands.iter().map(String::as_str).chain(stdin)
    }

    /// Whether an option was given. Options are named by their long name, those without one by the short.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(option, _)| option.is(name))
    }

    /// The value of the last option of a name.
    pub(crate) fn value<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).last()
    }

    /// The values of all options of a name, in order.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_name = self.given.iter().filter(move |(option, _)| option.is(name));
        of_name.filter_map(|(_, value)| value.as_deref())
    }

    /// The last option given of several that exclude each other.
    pub(crate) fn last_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        let name = |option: &Opt| names.iter().copied().find(|name| option.is(name));
        self.given.iter().rev().find_map(|(option, _)| name(option))
    }

    /// All options in the order of the command line: name (long, or else short) and value.
    pub(crate) fn given(&self) -> impl Iterator<Item = (String, Option<&str>)> {
        self.given.iter().map(|(option, value)| {
            let name = match option.short {
                Some(short) if option.long.is_empty() => short.to_string(),
                _ => option.long.to_owned(),
            };
            (name, value.as_deref())
        })
    }
}
