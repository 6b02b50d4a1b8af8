//! The place of a text that is most like some lines which it does not have.

/// Lines that are compared; a longer text is compared as far as this.
const LINES_MAX: usize = 50_000;

/// Lines of what is looked for that count.
const WANTED_MAX: usize = 8;

/// Of 100: less is not alike.
const ALIKE_MIN: u32 = 45;

#[derive(Debug, PartialEq)]
pub(crate) struct Nearest {
    /// Index of its first line.
    pub(crate) at: usize,
    /// Whether the lines are the same but for white space.
    pub(crate) is_same_but_space: bool,
}

/// Returns the place that is most like the wanted lines, if one is like them at all.
pub(crate) fn nearest(lines: &[&str], wanted: &[&str]) -> Option<Nearest> {
    let lines = lines.get(..LINES_MAX).unwrap_or(lines);
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let same =
        |(line, wanted): (&&str, &&str)| line.split_whitespace().eq(wanted.split_whitespace());
    let is_same = |at: &usize| {
        let here = lines.get(*at..*at + wanted.len());
        here.is_some_and(|here| here.iter().zip(wanted).all(same))
    };
    if let Some(at) = (0..lines.len()).find(is_same) {
        return Some(Nearest {
            at,
            is_same_but_space: true,
        });
    }
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    let wanted: Vec<_> = wanted
        .iter()
        .skip(first)
        .take(WANTED_MAX)
        .map(|it| Pairs::of(it))
        .collect();
    let prints: Vec<_> = lines.iter().map(|it| Pairs::of(it)).collect();
    let score = |at: usize| {
        let here = prints
            .iter()
            .skip(at)
            .chain(std::iter::repeat(&Pairs::NONE));
        let scores = wanted
            .iter()
            .zip(here)
            .map(|(wanted, line)| wanted.likeness(line));
        scores.sum::<u32>() / wanted.len() as u32
    };
    // The first of the best.
    let (best, at) = (0..lines.len())
        .rev()
        .map(|at| (score(at), at))
        .max_by_key(|it| it.0)?;
    (best >= ALIKE_MIN).then_some(Nearest {
        at: at.saturating_sub(first),
        is_same_but_space: false,
    })
}

/// Which pairs of neighbours a line has, without its white space.
struct Pairs([u64; 8]);

impl Pairs {
    const NONE: Self = Self([0; 8]);

    fn of(line: &str) -> Self {
        let mut bits = [0u64; 8];
        let mut before = 0u8;
        for byte in line
            .bytes()
            .filter(|it| !it.is_ascii_whitespace())
            .take(400)
        {
            let hash = (usize::from(before) * 31 + usize::from(byte) * 7) % 512;
            if let Some(word) = bits.get_mut(hash / 64) {
                *word |= 1 << (hash % 64);
            }
            before = byte;
        }
        Self(bits)
    }

    /// Returns how alike two lines are, of 100.
    fn likeness(&self, other: &Self) -> u32 {
        let ones = |it: &Self| it.0.iter().map(|word| word.count_ones()).sum::<u32>();
        let both = self
            .0
            .iter()
            .zip(&other.0)
            .map(|(a, b)| (a & b).count_ones());
        match ones(self) + ones(other) {
            0 => 100,
            all => 200 * both.sum::<u32>() / all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Nearest, nearest};

    #[test]
    fn the_most_similar_place_is_found_if_there_is_one() {
        let text = [
            "fn main() {",
            "\tlet a = read(1);",
            "\twrite(a);",
            "}",
            "",
            "fn other() {",
            "    stop();",
            "}",
        ];
        for (wanted, at, is_same_but_space) in [
            (&["    let a = read(1);", "    write(a);"][..], 1, true),
            (&["let a = reads(2);"], 1, false),
            (&["fn othr() {", "    stop();"], 5, false),
        ] {
            let expected = Nearest {
                at,
                is_same_but_space,
            };
            assert_eq!(nearest(&text, wanted), Some(expected), "{wanted:?}");
        }
        assert_eq!(nearest(&text, &["SELECT * FROM users WHERE id = 7"]), None);
        assert_eq!(nearest(&text, &["", " "]), None);
        assert_eq!(nearest(&[], &["a"]), None);
    }
}
