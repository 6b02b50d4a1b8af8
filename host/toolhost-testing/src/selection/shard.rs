//! Divides cases among several runs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::planned_case::TestCase;

/// Most parts.
const COUNT_MAX: u64 = 10_000;

/// One of several parts of the cases: `2/3` is the second of three. Each case is in exactly one part, which
/// depends only on the name of its file and its own name, or on its tool and its arguments if it is
/// generated: not on the other cases, their order, or the path of the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shard {
    /// From 1 to `count`.
    number: u64,
    count: u64,
}

/// A text that is not a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write K/N, such as 2/3 for the second of three parts; N is at most {COUNT_MAX}")]
pub struct InvalidShard;

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let (number, count) = text.split_once('/').ok_or(InvalidShard)?;
        let parse = |part: &str| part.parse::<u64>().map_err(|_| InvalidShard);
        let (number, count) = (parse(number)?, parse(count)?);
        if (1..=count).contains(&number) && count <= COUNT_MAX {
            Ok(Self { number, count })
        } else {
            Err(InvalidShard)
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl Shard {
    pub(crate) fn contains(self, case: &TestCase) -> bool {
        self.contains_identity(&identity(case))
    }

    fn contains_identity(self, identity: &[String]) -> bool {
        let mut hash = Sha256::new();
        for part in identity {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash: [u8; 32] = hash.finalize().into();
        let first = hash.first_chunk().copied().unwrap_or_default();
        u64::from_le_bytes(first) % self.count == self.number - 1
    }
}

/// Returns what distinguishes a case from the others of the bundle.
fn identity(case: &TestCase) -> Vec<String> {
    match case {
        TestCase::Written { case, .. } => {
            let file = Path::new(&case.place.file).file_name();
            let file = file.unwrap_or_default().to_string_lossy().into_owned();
            vec![file, case.name.clone()]
        }
        TestCase::Generated(case) => {
            let args = serde_json::Value::Object(case.args.clone()).to_string();
            let kind = case.kind.as_str().to_owned();
            vec![case.tool.to_string(), kind, case.name.clone(), args]
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_case_is_in_exactly_one_shard(
            identity in prop::collection::vec(".{0,40}", 1..4),
            count in 1_u64..200,
        ) {
            let of = |number| Shard { number, count };
            let shards = (1..=count).map(of);
            let holding = shards.filter(|shard| shard.contains_identity(&identity));
            prop_assert_eq!(holding.count(), 1);
        }

        #[test]
        fn a_shard_is_read_as_it_is_written(number in 1_u64..200, more in 0_u64..200) {
            let shard = Shard { number, count: number + more };
            prop_assert_eq!(shard.to_string().parse(), Ok(shard));
        }
    }

    #[test]
    fn cases_are_spread_and_stay_where_they_are() {
        let mut sizes = [0; 4];
        for index in 0..400 {
            let identity = [format!("case {index}"), "a.yaml".to_owned()];
            for (size, number) in sizes.iter_mut().zip(1..) {
                let shard = Shard { number, count: 4 };
                *size += usize::from(shard.contains_identity(&identity));
            }
        }
        // The value of an earlier run: another one would move cases between the jobs of a workflow.
        assert_eq!(sizes.iter().sum::<usize>(), 400);
        assert!(
            sizes.iter().all(|size| (70..130).contains(size)),
            "{sizes:?}"
        );
    }

    #[test]
    fn what_is_not_a_part_is_refused() {
        for text in [
            "", "1", "0/1", "2/1", "1/0", "-1/2", "1/2/3", "a/b", "1/10001", "1 /2",
        ] {
            assert_eq!(text.parse::<Shard>(), Err(InvalidShard), "{text}");
        }
    }
}
