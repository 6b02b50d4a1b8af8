//! Reproducible random numbers.

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    /// Seeds the generator with `seed` and a name, so that a tool's cases do not depend on other tools.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed ^ hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns one of the values.
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(choices.len())
            .ok()
            .filter(|count| *count > 0)?;
        choices.get(usize::try_from(self.next() % count).ok()?)
    }

    /// Returns `true` or `false`.
    pub(super) fn coin(&mut self) -> bool {
        self.next() & 1 == 0
    }
}
