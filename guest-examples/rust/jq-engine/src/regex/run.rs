//! Searches a text.

use super::Flags;
use super::class::{Named, lower};
use super::node::Assertion;
use super::program::{Program, Step};

/// The most steps of one search, as Oniguruma limits them.
const MAX_STEPS: usize = 10_000_000;

pub(super) type Spans = Vec<Option<(usize, usize)>>;

/// Returns the span of the first match, and those of its groups.
pub(super) fn search(
    program: &Program,
    groups: usize,
    flags: Flags,
    text: &str,
    from: usize,
) -> Result<Option<Spans>, String> {
    let mut run = Run {
        text,
        steps: 0,
        search_start: from,
    };
    let first = program.first();
    let mut start = from;
    loop {
        if let Some(first) = first {
            match text.get(start..).and_then(|rest| rest.find(first)) {
                Some(skip) => start += skip,
                None => return Ok(None),
            }
        }
        let mut slots = vec![None; 2 * (groups + 1)];
        if let Some(slot) = slots.first_mut() {
            *slot = Some(start);
        }
        let goal = if flags.longest {
            Goal::Longest {
                not_empty: flags.not_empty,
            }
        } else {
            Goal::First {
                not_empty: flags.not_empty,
            }
        };
        if let Some((end, mut slots)) = run.run(program, start, slots, goal)? {
            if let Some(slot) = slots.get_mut(1) {
                *slot = Some(end);
            }
            let pair = |pair: &[Option<usize>]| match pair {
                [Some(from), Some(to)] => Some((*from, *to)),
                _ => None,
            };
            return Ok(Some(slots.chunks(2).map(pair).collect()));
        }
        let Some(char) = text.get(start..).and_then(|rest| rest.chars().next()) else {
            return Ok(None);
        };
        if program.is_anchored() {
            return Ok(None);
        }
        start += char.len_utf8();
    }
}

struct Run<'t> {
    text: &'t str,
    steps: usize,
    search_start: usize,
}

#[derive(Clone, Copy)]
enum Goal {
    First {
        not_empty: bool,
    },
    Longest {
        not_empty: bool,
    },
    /// A match that ends here.
    EndsAt(usize),
}

type Slots = Vec<Option<usize>>;

/// What is undone when a branch fails.
enum Undo {
    Branch { step: usize, at: usize },
    Slot { slot: usize, before: Option<usize> },
    Loop { number: usize, before: usize },
}

impl Run<'_> {
    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn char_before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    fn run(
        &mut self,
        program: &Program,
        start: usize,
        mut slots: Slots,
        goal: Goal,
    ) -> Result<Option<(usize, Slots)>, String> {
        let mut undo: Vec<Undo> = Vec::new();
        let mut loops = vec![usize::MAX; program.loops];
        let mut best: Option<(usize, Slots)> = None;
        let (mut step, mut at) = (0, start);
        loop {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err("retry-limit-in-match over".to_owned());
            }
            let next = match program.steps.get(step) {
                None => None,
                Some(Step::Match) => {
                    let fits = match goal {
                        Goal::First { not_empty } | Goal::Longest { not_empty } => {
                            !not_empty || at > start
                        }
                        Goal::EndsAt(end) => at == end,
                    };
                    if fits && !matches!(goal, Goal::Longest { .. }) {
                        return Ok(Some((at, slots)));
                    }
                    if fits && best.as_ref().is_none_or(|(end, _)| at > *end) {
                        best = Some((at, slots.clone()));
                    }
                    None
                }
                Some(Step::Char(wanted, ignore_case)) => self
                    .char_at(at)
                    .filter(|char| {
                        char == wanted || (*ignore_case && lower(*char) == lower(*wanted))
                    })
                    .map(|char| (step + 1, at + char.len_utf8())),
                Some(Step::Any(all)) => {
                    let char = self.char_at(at).filter(|char| *all || *char != '\n');
                    char.map(|char| (step + 1, at + char.len_utf8()))
                }
                Some(Step::Class(class)) => {
                    let char = self.char_at(at).filter(|char| class.contains(*char));
                    char.map(|char| (step + 1, at + char.len_utf8()))
                }
                Some(Step::Assert(assertion)) => {
                    self.holds(*assertion, at).then_some((step + 1, at))
                }
                Some(Step::Split(first, second)) => {
                    undo.push(Undo::Branch { step: *second, at });
                    Some((*first, at))
                }
                Some(Step::Jump(to)) => Some((*to, at)),
                Some(Step::Save(slot)) => {
                    save(&mut slots, *slot, Some(at), &mut undo);
                    Some((step + 1, at))
                }
                Some(Step::Keep) => {
                    save(&mut slots, 0, Some(at), &mut undo);
                    Some((step + 1, at))
                }
                Some(Step::LoopStart(number)) => {
                    if let Some(place) = loops.get_mut(*number) {
                        undo.push(Undo::Loop {
                            number: *number,
                            before: *place,
                        });
                        *place = at;
                    }
                    Some((step + 1, at))
                }
                Some(Step::LoopEnd(number)) => {
                    // After an empty round, what follows the loop comes next.
                    let is_empty = loops.get(*number) == Some(&at);
                    Some((if is_empty { step + 2 } else { step + 1 }, at))
                }
                Some(Step::Back(groups, ignore_case)) => self
                    .back(groups, *ignore_case, &slots, at)
                    .map(|end| (step + 1, end)),
                Some(Step::Look {
                    program,
                    behind,
                    negated,
                }) => match self.look(program, *behind, at, &slots)? {
                    Some(inner) if !negated => {
                        adopt(&mut slots, inner, &mut undo);
                        Some((step + 1, at))
                    }
                    None if *negated => Some((step + 1, at)),
                    _ => None,
                },
                Some(Step::Atomic(program)) => {
                    match self.run(program, at, slots.clone(), Goal::First { not_empty: false })? {
                        Some((end, inner)) => {
                            adopt(&mut slots, inner, &mut undo);
                            Some((step + 1, end))
                        }
                        None => None,
                    }
                }
            };
            (step, at) = match next {
                Some(next) => next,
                None => match backtrack(&mut undo, &mut slots, &mut loops) {
                    Some(branch) => branch,
                    None => return Ok(best),
                },
            };
        }
    }

    fn look(
        &mut self,
        program: &Program,
        behind: bool,
        at: usize,
        slots: &Slots,
    ) -> Result<Option<Slots>, String> {
        if !behind {
            let found = self.run(program, at, slots.clone(), Goal::First { not_empty: false })?;
            return Ok(found.map(|(_, slots)| slots));
        }
        let mut start = at;
        loop {
            if let Some((_, slots)) = self.run(program, start, slots.clone(), Goal::EndsAt(at))? {
                return Ok(Some(slots));
            }
            match self.char_before(start) {
                Some(char) => start -= char.len_utf8(),
                None => return Ok(None),
            }
        }
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let is_word = |char: Option<char>| char.is_some_and(|char| Named::Word.contains(char));
        let edge = || is_word(self.char_before(at)) != is_word(self.char_at(at));
        match assertion {
            Assertion::TextStart => at == 0,
            Assertion::TextEnd => at == self.text.len(),
            Assertion::LastLineEnd => matches!(self.text.get(at..), Some("" | "\n")),
            Assertion::LineStart => {
                at == 0 || (self.char_before(at) == Some('\n') && at < self.text.len())
            }
            Assertion::LineEnd => at == self.text.len() || self.char_at(at) == Some('\n'),
            Assertion::WordEdge => edge(),
            Assertion::NoWordEdge => !edge(),
            Assertion::SearchStart => at == self.search_start,
        }
    }

    /// The end of what a group matched before, again at this place.
    fn back(&self, groups: &[usize], ignore_case: bool, slots: &Slots, at: usize) -> Option<usize> {
        let span = |group: &usize| {
            let from = slots.get(2 * group).copied().flatten()?;
            let to = slots.get(2 * group + 1).copied().flatten()?;
            self.text.get(from..to)
        };
        let wanted = groups.iter().rev().find_map(span)?;
        let mut end = at;
        for wanted in wanted.chars() {
            let char = self.char_at(end)?;
            if char != wanted && !(ignore_case && lower(char) == lower(wanted)) {
                return None;
            }
            end += char.len_utf8();
        }
        Some(end)
    }
}

fn save(slots: &mut Slots, slot: usize, value: Option<usize>, undo: &mut Vec<Undo>) {
    if let Some(place) = slots.get_mut(slot) {
        undo.push(Undo::Slot {
            slot,
            before: *place,
        });
        *place = value;
    }
}

/// Takes over the groups of an inner match.
fn adopt(slots: &mut Slots, inner: Slots, undo: &mut Vec<Undo>) {
    for (slot, value) in inner.into_iter().enumerate() {
        if slots.get(slot) != Some(&value) {
            save(slots, slot, value, undo);
        }
    }
}

/// Undoes up to the last branch, and returns where that goes on.
fn backtrack(
    undo: &mut Vec<Undo>,
    slots: &mut Slots,
    loops: &mut [usize],
) -> Option<(usize, usize)> {
    loop {
        match undo.pop()? {
            Undo::Branch { step, at } => return Some((step, at)),
            Undo::Slot { slot, before } => {
                if let Some(place) = slots.get_mut(slot) {
                    *place = before;
                }
            }
            Undo::Loop { number, before } => {
                if let Some(place) = loops.get_mut(number) {
                    *place = before;
                }
            }
        }
    }
}
