//! `diff3`: how two files differ from one that both come from, and the file with the changes of both.

use super::diff::lines;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod blocks;
mod script;

use blocks::{Block, COMMON, Kind, ONE, TWO};

const SPEC: Spec = Spec::new(&[
    flag('A', "show-all"),
    flag('e', "ed"),
    flag('E', "show-overlap"),
    flag('3', "easy-only"),
    flag('x', "overlap-only"),
    flag('X', ""),
    flag('m', "merge"),
    flag('i', ""),
    flag('a', "text"),
    flag('\0', "strip-trailing-cr"),
    flag('T', "initial-tab"),
    value('L', "label"),
]);

pub(super) const DIFF3: Command = Command::new("diff3", SPEC, diff3);

/// The lines at the start and the end of files that are compared although they are the same.
const HORIZON: usize = 100;

/// What of the changes is written, and how conflicts are.
struct Wishes {
    shows_second: bool,
    flags_conflicts: bool,
    only_overlaps: bool,
    only_simple: bool,
    /// Whether commands that write the file and leave `ed` are at the end.
    saves: bool,
}

impl Wishes {
    /// Whether a block is written as a conflict; `None` if it is not written.
    fn conflict(&self, kind: Kind) -> Option<bool> {
        match kind {
            Kind::First => None,
            Kind::Second => self.shows_second.then_some(true),
            Kind::Third => (!self.only_overlaps).then_some(false),
            Kind::All => (!self.only_simple).then_some(self.flags_conflicts),
        }
    }
}

/// The three texts as lines, in the order of the operands.
struct Texts<'a> {
    lines: [Vec<&'a [u8]>; 3],
    labels: [String; 3],
    /// Which role the file of each operand has.
    roles: [usize; 3],
}

impl<'a> Texts<'a> {
    /// The lines of a block in the file of an operand.
    fn of(&self, block: &Block, operand: usize) -> &[&'a [u8]] {
        let (low, high) = self.range(block, operand);
        let lines = self.lines.get(operand).map_or(&[][..], Vec::as_slice);
        lines.get(low - 1..high).unwrap_or_default()
    }

    /// The first and the last line of a block, from 1; the last is before the first if there are none.
    fn range(&self, block: &Block, operand: usize) -> (usize, usize) {
        let role = self.roles.get(operand).copied().unwrap_or(COMMON);
        block.ranges.get(role).copied().unwrap_or((1, 0))
    }

    /// What a block is, by the order of the operands.
    fn kind(&self, block: &Block) -> Kind {
        let role = match block.kind {
            Kind::First => ONE,
            Kind::Second => TWO,
            Kind::Third => COMMON,
            Kind::All => return Kind::All,
        };
        match self.roles.iter().position(|other| *other == role) {
            Some(0) => Kind::First,
            Some(1) => Kind::Second,
            _ => Kind::Third,
        }
    }
}

fn diff3(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let usage = |text: &str| {
        let hint = "diff3: Try 'diff3 --help' for more information.";
        Failure::new(2, format!("{text}\n{hint}"))
    };
    let styles = [
        "show-all",
        "ed",
        "show-overlap",
        "easy-only",
        "overlap-only",
        "X",
    ];
    let style_count = line
        .given()
        .filter(|(name, _)| styles.contains(&&**name))
        .count();
    let merges = line.has("merge");
    let is_script = style_count > 0 && !merges;
    let merges_all = merges && style_count == 0;
    let wishes = Wishes {
        shows_second: line.has("show-all") || merges_all,
        flags_conflicts: ["show-all", "show-overlap"]
            .iter()
            .any(|name| line.has(name))
            || merges_all,
        only_overlaps: line.has("overlap-only") || line.has("X"),
        only_simple: line.has("easy-only"),
        saves: line.has("i"),
    };
    let labels: Vec<&str> = line.values("label").collect();
    if labels.len() > 3 {
        return Err(usage("too many file label options"));
    }
    if style_count > 1 || wishes.saves && merges || !labels.is_empty() && !wishes.flags_conflicts {
        return Err(usage("incompatible options"));
    }
    let [one, two, three] = &*line.operands else {
        let text = match &*line.operands {
            [.., last] if line.operands.len() < 3 => format!("missing operand after '{last}'"),
            [_, _, _, extra, ..] => format!("extra operand '{extra}'"),
            _ => "missing operand after 'diff3'".to_owned(),
        };
        return Err(usage(&text));
    };
    let operands = [one, two, three];
    let mut contents = Vec::new();
    for operand in operands {
        if call.is_folder(operand) {
            return Err(Failure::new(2, format!("{operand}: Is a directory")));
        }
        let content = call
            .read(operand)
            .map_err(|error| Failure::new(2, format!("{operand}: {}", text_of(&error))))?;
        let is_binary = content.iter().take(32_768).any(|byte| *byte == 0);
        if is_binary && !line.has("text") {
            return Err(Failure::new(
                2,
                format!("{operand}: is a binary file; use -a"),
            ));
        }
        contents.push(content.into_owned());
    }
    let [first, second, third] = &*contents else {
        return Ok(2);
    };
    let comparison = lines::Comparison::read(line)?;
    let roles = if is_script || merges {
        [ONE, COMMON, TWO]
    } else {
        [ONE, TWO, COMMON]
    };
    let (common, other) = if is_script || merges {
        (second, third)
    } else {
        (third, second)
    };
    let (from_first, from_other) = (
        comparison.compare(first, common, HORIZON)?,
        comparison.compare(other, common, HORIZON)?,
    );
    let label = |index: usize| {
        let label = labels
            .get(index)
            .copied()
            .or(operands.get(index).map(|name| &***name));
        label.unwrap_or_default().to_owned()
    };
    let texts = Texts {
        lines: [first, second, third]
            .map(|text| text.split_inclusive(|byte| *byte == b'\n').collect()),
        labels: [label(0), label(1), label(2)],
        roles,
    };
    let blocks = blocks::blocks(&from_first, &from_other);
    if is_script {
        Ok(script::print(call, &texts, &blocks, &wishes).into())
    } else if merges {
        Ok(merge(call, &texts, &blocks, &wishes).into())
    } else {
        list(call, &texts, &blocks, line.has("initial-tab"));
        Ok(0)
    }
}

/// Lists the blocks, each with its lines in each file.
fn list(call: &mut Call, texts: &Texts, blocks: &[Block], has_tab: bool) {
    for block in blocks {
        let kind = texts.kind(block);
        let odd = match kind {
            Kind::First => Some(0),
            Kind::Second => Some(1),
            Kind::Third => Some(2),
            Kind::All => None,
        };
        let number = odd.map(|odd| (odd + 1).to_string()).unwrap_or_default();
        call.print(format!("===={number}\n"));
        // Two files that agree are shown one after the other, and their lines once.
        let hidden = odd.map(|odd| usize::from(odd == 0));
        let order = if odd == Some(1) { [0, 2, 1] } else { [0, 1, 2] };
        for operand in order {
            let (low, high) = texts.range(block, operand);
            let place = match (high + 1) - low {
                0 => format!("{}a", low - 1),
                1 => format!("{low}c"),
                _ => format!("{low},{high}c"),
            };
            call.print(format!("{}:{place}\n", operand + 1));
            if hidden == Some(operand) {
                continue;
            }
            let lines = texts.of(block, operand);
            for line in lines {
                call.print(if has_tab { "\t" } else { "  " });
                call.print(line);
            }
            if lines.last().is_some_and(|last| !last.ends_with(b"\n")) {
                call.print("\n\\ No newline at end of file\n");
            }
        }
    }
}

/// Writes the first file with the changes from the second to the third. Returns whether there are conflicts.
fn merge(call: &mut Call, texts: &Texts, blocks: &[Block], wishes: &Wishes) -> bool {
    let [mine, older, yours] = &texts.labels;
    let mut has_conflicts = false;
    let mut at = 0;
    let [first, ..] = &texts.lines;
    for block in blocks {
        let kind = texts.kind(block);
        let Some(is_conflict) = wishes.conflict(kind) else {
            continue;
        };
        let (low, high) = texts.range(block, 0);
        let before = first.get(at..low - 1).unwrap_or_default();
        before.iter().for_each(|line| call.print(line));
        if is_conflict {
            has_conflicts = true;
            let mut sign = "<<<<<<<";
            if kind == Kind::All {
                call.print(format!("<<<<<<< {mine}\n"));
                texts.of(block, 0).iter().for_each(|line| call.print(line));
                sign = "|||||||";
            }
            if wishes.shows_second {
                call.print(format!("{sign} {older}\n"));
                texts.of(block, 1).iter().for_each(|line| call.print(line));
            }
            call.print("=======\n");
        }
        texts.of(block, 2).iter().for_each(|line| call.print(line));
        if is_conflict {
            call.print(format!(">>>>>>> {yours}\n"));
        }
        at = high;
    }
    let rest = first.get(at..).unwrap_or_default();
    rest.iter().for_each(|line| call.print(line));
    has_conflicts
}
