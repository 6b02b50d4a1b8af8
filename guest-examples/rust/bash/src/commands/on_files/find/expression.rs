//! The expression of `find` as a program.

use std::cmp::Ordering;
use std::time::SystemTime;

use bashkit::FileType;

use crate::commands::on_text::glob::Glob;
use crate::commands::on_text::pattern::Pattern;

/// A part of a file's status that is a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Accessed,
    Changed,
    Modified,
}

/// `5`, `+5`, `-5`
#[derive(Clone, Copy)]
pub(super) struct Amount {
    pub(super) order: Ordering,
    pub(super) number: u64,
}

impl Amount {
    pub(super) fn is(self, value: u64) -> bool {
        value.cmp(&self.number) == self.order
    }
}

#[derive(Clone, Copy)]
pub(super) enum Bits {
    Exactly,
    All,
    Any,
}

/// Where an action writes: `None` is standard output, or else one of the files of the walk.
pub(super) type Sink = Option<usize>;

/// A test or an action.
pub(super) enum Primary {
    Always(bool),
    Name(Glob),
    Path(Glob),
    LinkTarget(Glob),
    Regex(Box<Pattern>),
    /// `-type`, `-xtype`. FIFOs stand for kinds that no entry here has.
    Kind {
        kinds: Vec<FileType>,
        of_other: bool,
    },
    Size {
        amount: Amount,
        unit: u64,
    },
    Empty,
    /// Age in nanoseconds: longer than, less than, or within a unit that ends here.
    Age {
        time: Time,
        order: Ordering,
        nanos: i128,
        unit: i128,
    },
    Newer {
        time: Time,
        than: SystemTime,
    },
    Mode {
        bits: u32,
        test: Bits,
    },
    /// Permission bits of the owner.
    Access(u32),
    Owner(Amount),
    Links(Amount),
    Inode(Amount),
    SameFile {
        device: u64,
        inode: u64,
    },
    Print {
        sink: Sink,
        end: char,
    },
    Format {
        sink: Sink,
        format: String,
    },
    List(Sink),
    Delete,
    Prune,
    Quit,
    /// One of the commands of the walk, for each entry.
    Command(usize),
    /// One of the commands of the walk, for many entries at once.
    Collect(usize),
}

impl Primary {
    /// Whether an expression with this prints nothing by itself.
    pub(super) const fn is_action(&self) -> bool {
        matches!(
            self,
            Self::Print { .. }
                | Self::Format { .. }
                | Self::List(_)
                | Self::Delete
                | Self::Command(_)
                | Self::Collect(_)
        )
    }
}

/// An expression as it is written.
pub(super) enum Expression {
    Primary(Primary),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    /// All are evaluated; the last one counts.
    List(Vec<Expression>),
}

/// A step of the program: what it evaluates, and where it goes on.
pub(super) struct Node {
    pub(super) primary: Primary,
    pub(super) when_true: usize,
    pub(super) when_false: usize,
}

/// Place of a program at which it ends.
pub(super) const END: usize = usize::MAX;

#[derive(Default)]
pub(super) struct Program {
    nodes: Vec<Node>,
    pub(super) start: usize,
}

impl Program {
    pub(super) fn new(expression: Expression) -> Self {
        let mut program = Self::default();
        program.start = program.add(expression, END, END);
        program
    }

    pub(super) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Adds an expression, and returns where it begins.
    fn add(&mut self, expression: Expression, when_true: usize, when_false: usize) -> usize {
        match expression {
            Expression::Primary(primary) => {
                self.nodes.push(Node {
                    primary,
                    when_true,
                    when_false,
                });
                self.nodes.len() - 1
            }
            Expression::Not(inner) => self.add(*inner, when_false, when_true),
            Expression::And(parts) => {
                let parts = parts.into_iter().rev();
                parts.fold(when_true, |next, part| self.add(part, next, when_false))
            }
            Expression::Or(parts) => {
                let parts = parts.into_iter().rev();
                parts.fold(when_false, |next, part| self.add(part, when_true, next))
            }
            Expression::List(parts) => {
                let mut parts = parts.into_iter().rev();
                let Some(last) = parts.next() else {
                    return when_true;
                };
                let last = self.add(last, when_true, when_false);
                parts.fold(last, |next, part| self.add(part, next, next))
            }
        }
    }
}
