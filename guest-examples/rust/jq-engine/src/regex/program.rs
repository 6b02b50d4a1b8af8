//! Regular expressions as steps.

use super::class::Class;
use super::node::{Assertion, Kind, Node};

#[derive(Debug)]
pub(super) enum Step {
    Char(char, bool),
    Any(bool),
    Class(Class),
    Assert(Assertion),
    /// Goes on at the first step, and at the second if that fails.
    Split(usize, usize),
    Jump(usize),
    Save(usize),
    /// Remembers where a round of a loop began.
    LoopStart(usize),
    /// Fails if the round was empty.
    LoopEnd(usize),
    Back(Vec<usize>, bool),
    Look {
        program: Program,
        behind: bool,
        negated: bool,
    },
    Atomic(Program),
    Keep,
    Match,
}

#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// The number of loops that must not be empty.
    pub(super) loops: usize,
}

/// The most steps of a program: repetitions are written out.
const MAX_STEPS: usize = 200_000;

impl Program {
    pub(super) fn new(node: &Node) -> Result<Self, String> {
        let mut program = Self::default();
        program.add(node)?;
        program.steps.push(Step::Match);
        Ok(program)
    }

    /// The character that every match begins with, if there is one.
    pub(super) fn first(&self) -> Option<char> {
        let mut steps = self
            .steps
            .iter()
            .skip_while(|step| matches!(step, Step::Save(_)));
        match steps.next() {
            Some(Step::Char(char, false)) => Some(*char),
            _ => None,
        }
    }

    pub(super) fn is_anchored(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Assert(Assertion::TextStart)))
    }

    fn push(&mut self, step: Step) -> Result<usize, String> {
        if self.steps.len() >= MAX_STEPS {
            return Err("too big number is specified".to_owned());
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    fn add(&mut self, node: &Node) -> Result<(), String> {
        match node {
            Node::Empty => {}
            Node::Char(char, ignore_case) => {
                self.push(Step::Char(*char, *ignore_case))?;
            }
            Node::Any(all) => {
                self.push(Step::Any(*all))?;
            }
            Node::Class(class) => {
                self.push(Step::Class(class.clone()))?;
            }
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.add(node))?,
            Node::Alternatives(nodes) => self.alternatives(nodes)?,
            Node::Group(number, node) => {
                self.push(Step::Save(2 * number))?;
                self.add(node)?;
                self.push(Step::Save(2 * number + 1))?;
            }
            Node::Repeat {
                node,
                least,
                most,
                kind: Kind::Possessive,
            } => {
                let greedy = Node::Repeat {
                    node: node.clone(),
                    least: *least,
                    most: *most,
                    kind: Kind::Greedy,
                };
                self.push(Step::Atomic(Self::new(&greedy)?))?;
            }
            Node::Repeat {
                node,
                least,
                most,
                kind,
            } => self.repeat(node, *least, *most, *kind == Kind::Greedy)?,
            Node::Assert(assertion) => {
                self.push(Step::Assert(*assertion))?;
            }
            Node::Look {
                node,
                behind,
                negated,
            } => {
                let program = Self::new(node)?;
                self.push(Step::Look {
                    program,
                    behind: *behind,
                    negated: *negated,
                })?;
            }
            Node::Atomic(node) => {
                self.push(Step::Atomic(Self::new(node)?))?;
            }
            Node::Back(groups, ignore_case) => {
                self.push(Step::Back(groups.clone(), *ignore_case))?;
            }
            Node::Keep => {
                self.push(Step::Keep)?;
            }
        }
        Ok(())
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Result<(), String> {
        let mut ends = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.add(node)?;
                continue;
            }
            let split = self.push(Step::Split(0, 0))?;
            self.add(node)?;
            ends.push(self.push(Step::Jump(0))?);
            self.set(split, Step::Split(split + 1, self.steps.len()));
        }
        for end in ends {
            self.set(end, Step::Jump(self.steps.len()));
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        least: usize,
        most: Option<usize>,
        greedy: bool,
    ) -> Result<(), String> {
        for _ in 0..least {
            self.add(node)?;
        }
        let split = |inner: usize, after: usize| {
            if greedy {
                Step::Split(inner, after)
            } else {
                Step::Split(after, inner)
            }
        };
        let Some(most) = most else {
            let start = self.push(Step::Split(0, 0))?;
            let number = self.loops;
            self.loops += 1;
            let may_be_empty = !matches!(node, Node::Char(..) | Node::Any(_) | Node::Class(_));
            if may_be_empty {
                self.push(Step::LoopStart(number))?;
            }
            self.add(node)?;
            if may_be_empty {
                self.push(Step::LoopEnd(number))?;
            }
            self.push(Step::Jump(start))?;
            self.set(start, split(start + 1, self.steps.len()));
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(Step::Split(0, 0))?);
            self.add(node)?;
        }
        for at in splits {
            self.set(at, split(at + 1, self.steps.len()));
        }
        Ok(())
    }
}
