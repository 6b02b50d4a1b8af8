//! The changes of two files against a third one, put together where they meet.

use crate::commands::on_text::diff::changes::Change;
use crate::commands::on_text::diff::lines::Compared;

/// The roles of files: two that are compared with a common one.
pub(super) const ONE: usize = 0;
pub(super) const TWO: usize = 1;
pub(super) const COMMON: usize = 2;

/// Which file is the odd one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    First,
    Second,
    Third,
    /// Each differs from the others.
    All,
}

/// Lines that differ. Ranges go from the first to the last line, from 1; the last is before the first if
/// there are none.
#[derive(Debug)]
pub(super) struct Block {
    /// By role.
    pub(super) ranges: [(usize, usize); 3],
    pub(super) kind: Kind,
}

/// The first and the last line in the common file.
fn common(change: &Change) -> (usize, usize) {
    (change.other_from + 1, change.other_to)
}

/// Returns the blocks of two comparisons, both with the common file on the right.
pub(super) fn blocks(one: &Compared, two: &Compared) -> Vec<Block> {
    let mut threads = [&*one.changes, &*two.changes];
    let mut blocks = Vec::new();
    let mut last = [(0, 0); 3];
    loop {
        let starts = threads.map(|changes| changes.first().map(|change| common(change).0));
        let base = match starts {
            [None, None] => return blocks,
            [None, _] => 1,
            [_, None] => 0,
            [one, two] => usize::from(one > two),
        };
        // Changes are added from both sides as long as they touch what is there.
        let mut counts = [0, 0];
        let mut high = 0;
        let mut next = base;
        while let Some(change) = threads
            .get(next)
            .zip(counts.get(next))
            .and_then(|(changes, count)| changes.get(*count))
        {
            let (start, end) = common(change);
            let is_first = counts == [0, 0];
            if !is_first && start > high + 1 {
                break;
            }
            if let Some(count) = counts.get_mut(next) {
                *count += 1;
            }
            if is_first || high < end {
                // Only the other side can touch what this one has reached.
                high = end;
                next ^= 1;
            }
        }
        let used = [
            threads[0].get(..counts[0]).unwrap_or_default(),
            threads[1].get(..counts[1]).unwrap_or_default(),
        ];
        threads = [
            threads[0].get(counts[0]..).unwrap_or_default(),
            threads[1].get(counts[1]..).unwrap_or_default(),
        ];
        let low = used
            .iter()
            .filter_map(|changes| changes.first())
            .map(|change| common(change).0)
            .min()
            .unwrap_or(1);
        let mut ranges = [(low, high); 3];
        for (side, changes) in used.iter().enumerate() {
            let range = match (changes.first(), changes.last()) {
                (Some(first), Some(end)) => (
                    low + first.from - first.other_from,
                    high + end.to - end.other_to,
                ),
                // The file is as the common one here, moved by what came before.
                _ => {
                    let (reached, reached_common) = (last[side].1, last[COMMON].1);
                    (
                        low + reached - reached_common,
                        high + reached - reached_common,
                    )
                }
            };
            ranges[side] = range;
        }
        let kind = match used {
            [[], _] => Kind::Second,
            [_, []] => Kind::First,
            _ => {
                let lines = |compared: &Compared, (low, high): (usize, usize)| {
                    let lines = compared.one.get(low - 1..high).unwrap_or_default();
                    lines.concat()
                };
                if lines(one, ranges[ONE]) == lines(two, ranges[TWO]) {
                    Kind::Third
                } else {
                    Kind::All
                }
            }
        };
        last = ranges;
        blocks.push(Block { ranges, kind });
    }
}
