//! Modes of files: octal and symbolic, and `chmod`.

use super::names::{joined, quoted};
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag, value};

/// Arguments are read here: `-x` is a mode, not an option.
pub(super) const CHMOD: Command = Command::new("chmod", Spec::raw(), chmod);

const CHMOD_SPEC: Spec = Spec::new(&[
    flag('c', "changes"),
    flag('f', "silent"),
    flag('\0', "quiet"),
    flag('v', "verbose"),
    flag('\0', "no-preserve-root"),
    flag('\0', "preserve-root"),
    value('\0', "reference"),
    flag('R', "recursive"),
]);

/// A change of a mode.
pub(in crate::commands) enum Mode {
    Octal { bits: u32, keeps_special: bool },
    Symbolic(Vec<Clause>),
}

/// `ug+rx`
pub(in crate::commands) struct Clause {
    who: u32,
    is_for_all: bool,
    actions: Vec<(char, Permissions)>,
}

enum Permissions {
    Letters { bits: u32, x_if_any: bool },
    OfWho(char),
}

impl Mode {
    /// Returns `None` for a text that is not a mode.
    pub(in crate::commands) fn parse(text: &str) -> Option<Self> {
        let octal = text.strip_prefix(['=']).unwrap_or(text);
        if !octal.is_empty() && octal.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
            let bits = u32::from_str_radix(octal, 8)
                .ok()
                .filter(|bits| *bits <= 0o7777)?;
            let keeps_special = octal.len() < 5 && octal.len() == text.len();
            return Some(Self::Octal {
                bits,
                keeps_special,
            });
        }
        let clauses: Option<Vec<_>> = text.split(',').map(Clause::parse).collect();
        clauses.map(Self::Symbolic)
    }

    /// The mode that a file or a folder of a mode gets. What names nobody (`+w`) leaves out the bits of the umask.
    pub(in crate::commands) fn apply(&self, mode: u32, is_folder: bool, umask: u32) -> u32 {
        match self {
            Self::Octal {
                bits,
                keeps_special,
            } => {
                let kept = if is_folder && *keeps_special {
                    mode & 0o6000
                } else {
                    0
                };
                bits | kept
            }
            Self::Symbolic(clauses) => clauses.iter().fold(mode & 0o7777, |mode, clause| {
                clause.apply(mode, is_folder, umask)
            }),
        }
    }
}

impl Clause {
    fn parse(text: &str) -> Option<Self> {
        let mut who = 0;
        let mut chars = text.chars().peekable();
        while let Some(bits) = chars.peek().and_then(|char| bits_of_who(*char)) {
            who |= bits;
            chars.next();
        }
        let is_for_all = who == 0;
        let mut actions = Vec::new();
        while let Some(operator) = chars.next() {
            if !matches!(operator, '+' | '-' | '=') {
                return None;
            }
            let mut permissions = Permissions::Letters {
                bits: 0,
                x_if_any: false,
            };
            while let Some(char) = chars.peek().copied().filter(|char| !"+-=".contains(*char)) {
                chars.next();
                if "ugo".contains(char) {
                    permissions = Permissions::OfWho(char);
                    break;
                }
                let Permissions::Letters { bits, x_if_any } = &mut permissions else {
                    return None;
                };
                match char {
                    'r' => *bits |= 0o444,
                    'w' => *bits |= 0o222,
                    'x' => *bits |= 0o111,
                    'X' => *x_if_any = true,
                    's' => *bits |= 0o6000,
                    't' => *bits |= 0o1000,
                    _ => return None,
                }
            }
            actions.push((operator, permissions));
        }
        (!actions.is_empty()).then_some(Self {
            who,
            is_for_all,
            actions,
        })
    }

    fn apply(&self, mut mode: u32, is_folder: bool, umask: u32) -> u32 {
        let who = if self.is_for_all {
            0o7777 & !umask
        } else {
            self.who
        };
        for (operator, permissions) in &self.actions {
            let bits = match permissions {
                Permissions::Letters { bits, x_if_any } => {
                    let x = if *x_if_any && (is_folder || mode & 0o111 != 0) {
                        0o111
                    } else {
                        0
                    };
                    bits | x
                }
                Permissions::OfWho(char) => {
                    let shift = match char {
                        'u' => 6,
                        'g' => 3,
                        _ => 0,
                    };
                    (mode >> shift & 0o7) * 0o111
                }
            } & who;
            mode = match operator {
                '+' => mode | bits,
                '-' => mode & !bits,
                _ => {
                    let all = if self.is_for_all { 0o7777 } else { self.who };
                    let special = if is_folder { 0o6000 } else { 0 };
                    mode & !(all & !special) | bits
                }
            };
        }
        mode
    }
}

fn bits_of_who(char: char) -> Option<u32> {
    match char {
        'u' => Some(0o4700),
        'g' => Some(0o2070),
        'o' => Some(0o1007),
        'a' => Some(0o7777),
        _ => None,
    }
}

/// `rwxr-xr-x`
pub(in crate::commands) fn letters(mode: u32) -> String {
    let mut text = String::with_capacity(9);
    for (shift, special, set, unset) in [
        (6, 0o4000, 's', 'S'),
        (3, 0o2000, 's', 'S'),
        (0, 0o1000, 't', 'T'),
    ] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (true, false) => 'x',
            (false, false) => '-',
            (true, true) => set,
            (false, true) => unset,
        });
    }
    text
}

fn chmod(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut args = line.operands.clone();
    let is_mode = |arg: &String| {
        arg.len() > 1
            && arg.starts_with('-')
            && arg
                .chars()
                .skip(1)
                .all(|char| "rwxXstugoa,+=-01234567".contains(char))
            && arg != "--"
    };
    let end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    let minus = args
        .iter()
        .take(end)
        .position(is_mode)
        .map(|at| args.remove(at));
    let line = CHMOD_SPEC.read(&args)?;
    let mut operands = line.operands.as_slice();
    let mode = if let Some(reference) = line.value("reference") {
        match call.metadata(reference, Links::Follow) {
            Ok(metadata) => Mode::Octal {
                bits: metadata.mode,
                keeps_special: false,
            },
            Err(error) => {
                fail(
                    call,
                    format_args!("failed to get attributes of {}", quoted(reference)),
                    &error,
                );
                return Ok(1);
            }
        }
    } else {
        let text = match (&minus, operands.split_first()) {
            (Some(mode), _) => mode,
            (None, Some((mode, rest))) => {
                operands = rest;
                mode
            }
            (None, None) => return Err(call.misuse("missing operand")),
        };
        if operands.is_empty() {
            return Err(call.misuse(format_args!("missing operand after {}", call.quoted(text))));
        }
        Mode::parse(text)
            .ok_or_else(|| call.misuse(format_args!("invalid mode: {}", call.quoted(text))))?
    };
    if operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let mut all = true;
    for operand in operands {
        all &= change(call, &line, &mode, operand, Links::Follow);
    }
    Ok(i32::from(!all))
}

fn change(call: &mut Call, line: &Line, mode: &Mode, operand: &str, links: Links) -> bool {
    let is_quiet = line.has("silent") || line.has("quiet");
    let metadata = match call.metadata(operand, links) {
        Ok(metadata) => metadata,
        Err(_) if is_quiet => return false,
        Err(error) => {
            let dangles = call.metadata(operand, Links::Keep).is_ok();
            let what = if dangles {
                "cannot operate on dangling symlink"
            } else {
                "cannot access"
            };
            if dangles {
                call.complain(format_args!("{what} {}", quoted(operand)));
                return false;
            }
            return fail(call, format_args!("{what} {}", quoted(operand)), &error);
        }
    };
    if metadata.file_type.is_symlink() {
        return true;
    }
    let (old, is_folder) = (metadata.mode & 0o7777, metadata.file_type.is_dir());
    let new = mode.apply(old, is_folder, call.files.umask());
    let path = call.path(operand);
    let set = call.files.target(&path).and_then(|path| {
        call.files.set_mode(&path, new)?;
        Ok(call.files.metadata(&path)?.mode)
    });
    let mut all = true;
    // The host may set less than is asked for.
    let asked = new;
    let new = *set.as_ref().unwrap_or(&asked);
    if new != asked && !is_quiet {
        call.complain(format_args!(
            "{operand}: new permissions are {}, not {}",
            letters(new),
            letters(asked)
        ));
    }
    if let Err(error) = set {
        if !is_quiet {
            fail(
                call,
                format_args!("changing permissions of {}", quoted(operand)),
                &error,
            );
        }
        all = false;
    } else if old != new && (line.has("changes") || line.has("verbose")) {
        let (before, after) = (letters(old), letters(new));
        call.print(format!(
            "mode of {} changed from {old:04o} ({before}) to {new:04o} ({after})\n",
            quoted(operand)
        ));
    } else if line.has("verbose") {
        call.print(format!(
            "mode of {} retained as {old:04o} ({})\n",
            quoted(operand),
            letters(old)
        ));
    }
    if is_folder && line.has("recursive") {
        let names = call
            .files
            .target(&path)
            .and_then(|path| call.files.names(&path));
        match names {
            Ok(names) => {
                for (name, _) in names {
                    all &= change(call, line, mode, &joined(operand, &name), Links::Keep);
                }
            }
            Err(error) => {
                all = fail(
                    call,
                    format_args!("cannot read directory {}", quoted(operand)),
                    &error,
                )
            }
        }
    }
    all
}
