//! The fewest lines that change one text into another: Myers' algorithm from both ends, as GNU's diffutils
//! has it, so that hunks are the same.

/// Lines `from..to` of the one text become lines `other_from..other_to` of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::on_text) struct Change {
    pub(in crate::commands::on_text) from: usize,
    pub(in crate::commands::on_text) to: usize,
    pub(in crate::commands::on_text) other_from: usize,
    pub(in crate::commands::on_text) other_to: usize,
    /// All its lines are of those that an option ignores.
    pub(in crate::commands::on_text) is_ignored: bool,
}

impl Change {
    /// Which of the commands of `ed` it is: to add, to change, to delete.
    pub(in crate::commands::on_text) fn letter(&self) -> char {
        match (self.from == self.to, self.other_from == self.other_to) {
            (true, _) => 'a',
            (_, true) => 'd',
            _ => 'c',
        }
    }
}

/// Returns the changes between two rows of lines, each line as the number of its class.
pub(in crate::commands::on_text) fn changes(one: &[usize], other: &[usize]) -> Vec<Change> {
    let mut search = Search {
        one: matched(one, other),
        other: matched(other, one),
        forward: Vec::new(),
        backward: Vec::new(),
        shift: 0,
        deleted: Flags::all(one.len()),
        inserted: Flags::all(other.len()),
    };
    let diagonals = search.one.len() + search.other.len() + 3;
    search.forward = vec![-1; diagonals + 2];
    search.backward = vec![-1; diagonals + 2];
    search.shift = to_signed(search.other.len()) + 2;
    for (at, _) in &search.one {
        search.deleted.set(to_signed(*at), false);
    }
    for (at, _) in &search.other {
        search.inserted.set(to_signed(*at), false);
    }
    let (xlim, ylim) = (to_signed(search.one.len()), to_signed(search.other.len()));
    search.compare(0, xlim, 0, ylim);
    let Search {
        mut deleted,
        mut inserted,
        ..
    } = search;
    shift(&mut deleted, &inserted, one);
    shift(&mut inserted, &deleted, other);
    script(&deleted, &inserted, one.len(), other.len())
}

/// The lines that the other text has, too, with their places.
fn matched(lines: &[usize], other: &[usize]) -> Vec<(usize, usize)> {
    let classes: std::collections::HashSet<_> = other.iter().collect();
    let lines = lines.iter().copied().enumerate();
    lines.filter(|(_, class)| classes.contains(class)).collect()
}

fn to_signed(value: usize) -> isize {
    isize::try_from(value).unwrap_or(isize::MAX)
}

/// Which lines are changed; there is an unchanged one before the first and after the last.
struct Flags(Vec<bool>);

impl Flags {
    fn all(count: usize) -> Self {
        let mut flags = vec![true; count + 2];
        for end in [0, count + 1] {
            if let Some(flag) = flags.get_mut(end) {
                *flag = false;
            }
        }
        Self(flags)
    }

    fn is(&self, at: isize) -> bool {
        let at = usize::try_from(at + 1).ok();
        at.and_then(|at| self.0.get(at)).copied().unwrap_or(false)
    }

    fn set(&mut self, at: isize, changed: bool) {
        let at = usize::try_from(at + 1).ok();
        if let Some(flag) = at.and_then(|at| self.0.get_mut(at)) {
            *flag = changed;
        }
    }
}

struct Search {
    one: Vec<(usize, usize)>,
    other: Vec<(usize, usize)>,
    /// The farthest place on each diagonal.
    forward: Vec<isize>,
    backward: Vec<isize>,
    shift: isize,
    deleted: Flags,
    inserted: Flags,
}

fn class(lines: &[(usize, usize)], at: isize) -> Option<usize> {
    let at = usize::try_from(at).ok()?;
    lines.get(at).map(|(_, class)| *class)
}

impl Search {
    fn is_same(&self, x: isize, y: isize) -> bool {
        class(&self.one, x) == class(&self.other, y)
    }

    fn compare(&mut self, mut xoff: isize, mut xlim: isize, mut yoff: isize, mut ylim: isize) {
        loop {
            while xoff < xlim && yoff < ylim && self.is_same(xoff, yoff) {
                xoff += 1;
                yoff += 1;
            }
            while xoff < xlim && yoff < ylim && self.is_same(xlim - 1, ylim - 1) {
                xlim -= 1;
                ylim -= 1;
            }
            if xoff == xlim || yoff == ylim {
                let place = |lines: &[(usize, usize)], at: isize| {
                    let at = usize::try_from(at).ok().and_then(|at| lines.get(at));
                    at.map_or(-1, |(at, _)| to_signed(*at))
                };
                for x in xoff..xlim {
                    self.deleted.set(place(&self.one, x), true);
                }
                for y in yoff..ylim {
                    self.inserted.set(place(&self.other, y), true);
                }
                return;
            }
            let (xmid, ymid) = self.middle(xoff, xlim, yoff, ylim);
            self.compare(xoff, xmid, yoff, ymid);
            (xoff, yoff) = (xmid, ymid);
        }
    }

    fn get(row: &[isize], shift: isize, diagonal: isize) -> isize {
        let at = usize::try_from(diagonal + shift).ok();
        at.and_then(|at| row.get(at)).copied().unwrap_or(-1)
    }

    fn put(row: &mut [isize], shift: isize, diagonal: isize, value: isize) {
        let at = usize::try_from(diagonal + shift).ok();
        if let Some(entry) = at.and_then(|at| row.get_mut(at)) {
            *entry = value;
        }
    }

    /// A place in the middle of the shortest way.
    fn middle(&mut self, xoff: isize, xlim: isize, yoff: isize, ylim: isize) -> (isize, isize) {
        let shift = self.shift;
        let (dmin, dmax) = (xoff - ylim, xlim - yoff);
        let (fmid, bmid) = (xoff - yoff, xlim - ylim);
        let (mut fmin, mut fmax, mut bmin, mut bmax) = (fmid, fmid, bmid, bmid);
        let odd = (fmid - bmid) & 1 != 0;
        Self::put(&mut self.forward, shift, fmid, xoff);
        Self::put(&mut self.backward, shift, bmid, xlim);
        loop {
            if fmin > dmin {
                fmin -= 1;
                Self::put(&mut self.forward, shift, fmin - 1, -1);
            } else {
                fmin += 1;
            }
            if fmax < dmax {
                fmax += 1;
                Self::put(&mut self.forward, shift, fmax + 1, -1);
            } else {
                fmax -= 1;
            }
            let mut d = fmax;
            while d >= fmin {
                let low = Self::get(&self.forward, shift, d - 1);
                let high = Self::get(&self.forward, shift, d + 1);
                let mut x = if low < high { high } else { low + 1 };
                let mut y = x - d;
                while x < xlim && y < ylim && self.is_same(x, y) {
                    x += 1;
                    y += 1;
                }
                Self::put(&mut self.forward, shift, d, x);
                if odd && bmin <= d && d <= bmax && Self::get(&self.backward, shift, d) <= x {
                    return (x, y);
                }
                d -= 2;
            }
            if bmin > dmin {
                bmin -= 1;
                Self::put(&mut self.backward, shift, bmin - 1, isize::MAX);
            } else {
                bmin += 1;
            }
            if bmax < dmax {
                bmax += 1;
                Self::put(&mut self.backward, shift, bmax + 1, isize::MAX);
            } else {
                bmax -= 1;
            }
            let mut d = bmax;
            while d >= bmin {
                let low = Self::get(&self.backward, shift, d - 1);
                let high = Self::get(&self.backward, shift, d + 1);
                let mut x = if low < high { low } else { high - 1 };
                let mut y = x - d;
                while xoff < x && yoff < y && self.is_same(x - 1, y - 1) {
                    x -= 1;
                    y -= 1;
                }
                Self::put(&mut self.backward, shift, d, x);
                if !odd && fmin <= d && d <= fmax && x <= Self::get(&self.forward, shift, d) {
                    return (x, y);
                }
                d -= 2;
            }
        }
    }
}

/// Moves runs of changes as far down as they go, so that runs meet, and back to a run of the other text.
fn shift(changed: &mut Flags, other: &Flags, lines: &[usize]) {
    let line = |at: isize| usize::try_from(at).ok().and_then(|at| lines.get(at));
    let end = to_signed(lines.len());
    let (mut i, mut j) = (0, 0);
    loop {
        while i < end && !changed.is(i) {
            while other.is(j) {
                j += 1;
            }
            j += 1;
            i += 1;
        }
        if i == end {
            return;
        }
        let mut start = i;
        i += 1;
        while changed.is(i) {
            i += 1;
        }
        while other.is(j) {
            j += 1;
        }
        let mut corresponding;
        loop {
            let length = i - start;
            while start > 0 && line(start - 1) == line(i - 1) {
                start -= 1;
                changed.set(start, true);
                i -= 1;
                changed.set(i, false);
                while changed.is(start - 1) {
                    start -= 1;
                }
                j -= 1;
                while other.is(j) {
                    j -= 1;
                }
            }
            corresponding = if other.is(j - 1) { i } else { end };
            while i != end && line(start) == line(i) {
                changed.set(start, false);
                start += 1;
                changed.set(i, true);
                i += 1;
                while changed.is(i) {
                    i += 1;
                }
                j += 1;
                while other.is(j) {
                    corresponding = i;
                    j += 1;
                }
            }
            if length == i - start {
                break;
            }
        }
        while corresponding < i {
            start -= 1;
            changed.set(start, true);
            i -= 1;
            changed.set(i, false);
            j -= 1;
            while other.is(j) {
                j -= 1;
            }
        }
    }
}

fn script(deleted: &Flags, inserted: &Flags, length: usize, other_length: usize) -> Vec<Change> {
    let (mut script, mut x, mut y) = (Vec::new(), 0, 0);
    while x < length || y < other_length {
        if !deleted.is(to_signed(x)) && !inserted.is(to_signed(y)) {
            x += 1;
            y += 1;
            continue;
        }
        let (from, other_from) = (x, y);
        while deleted.is(to_signed(x)) {
            x += 1;
        }
        while inserted.is(to_signed(y)) {
            y += 1;
        }
        script.push(Change {
            from,
            to: x,
            other_from,
            other_to: y,
            is_ignored: false,
        });
    }
    script
}

#[cfg(test)]
mod tests {
    use super::{Change, changes};

    #[test]
    fn a_repeated_line_is_added_at_the_end_of_its_run() {
        let change = |from, to, other_from, other_to| Change {
            from,
            to,
            other_from,
            other_to,
            is_ignored: false,
        };
        assert_eq!(changes(&[1, 2, 3], &[1, 2, 3]), []);
        assert_eq!(changes(&[1, 2], &[1, 2, 2]), [change(2, 2, 2, 3)]);
        assert_eq!(
            changes(&[1, 9, 3], &[1, 8, 3, 4]),
            [change(1, 2, 1, 2), change(3, 3, 3, 4)]
        );
        assert_eq!(changes(&[], &[5]), [change(0, 0, 0, 1)]);
    }
}
