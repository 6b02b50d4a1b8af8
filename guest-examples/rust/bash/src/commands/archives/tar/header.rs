//! The header of a member: one block of 512 bytes.

use std::array;

pub(super) const BLOCK: usize = 512;

/// A block as bytes; fields are at fixed places.
pub(super) type Block = [u8; BLOCK];

/// A field of a header: where it begins and how many bytes it has.
#[derive(Clone, Copy)]
pub(super) struct Field(usize, usize);

pub(super) const NAME: Field = Field(0, 100);
pub(super) const MODE: Field = Field(100, 8);
pub(super) const USER_ID: Field = Field(108, 8);
pub(super) const GROUP_ID: Field = Field(116, 8);
pub(super) const SIZE: Field = Field(124, 12);
pub(super) const MODIFIED: Field = Field(136, 12);
const SUM: Field = Field(148, 8);
pub(super) const KIND: Field = Field(156, 1);
pub(super) const LINK: Field = Field(157, 100);
pub(super) const MAGIC: Field = Field(257, 8);
pub(super) const USER: Field = Field(265, 32);
pub(super) const GROUP: Field = Field(297, 32);
pub(super) const MAJOR: Field = Field(329, 8);
pub(super) const MINOR: Field = Field(337, 8);
pub(super) const PREFIX: Field = Field(345, 155);

/// Magic and version of POSIX, and those of GNU.
pub(super) const POSIX: &[u8] = b"ustar\x0000";
pub(super) const GNU: &[u8] = b"ustar  \0";

impl Field {
    /// The bytes of the field.
    pub(super) fn of(self, block: &Block) -> &[u8] {
        block.get(self.0..self.0 + self.1).unwrap_or_default()
    }

    /// The text of the field, up to a NUL.
    pub(super) fn text(self, block: &Block) -> &[u8] {
        let bytes = self.of(block);
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default()
    }

    /// The number of the field: octal digits, or bytes after a mark.
    pub(super) fn number(self, block: &Block) -> Option<i64> {
        let bytes = self.of(block);
        match bytes.split_first() {
            Some((first @ (0x80 | 0xFF), rest)) => {
                let mut number: i64 = if *first == 0xFF { -1 } else { 0 };
                for byte in rest {
                    number = number.checked_mul(256)?.checked_add(i64::from(*byte))?;
                }
                Some(number)
            }
            _ => {
                let digits = bytes.iter().skip_while(|byte| **byte == b' ');
                let digits = digits.take_while(|byte| !matches!(byte, b' ' | 0));
                let mut number: i64 = 0;
                for digit in digits {
                    let digit = (*digit as char).to_digit(8)?;
                    number = number.checked_mul(8)?.checked_add(i64::from(digit))?;
                }
                Some(number)
            }
        }
    }

    pub(super) fn set(self, block: &mut Block, value: &[u8]) {
        let field = block.get_mut(self.0..self.0 + self.1);
        for (byte, value) in field.unwrap_or_default().iter_mut().zip(value) {
            *byte = *value;
        }
    }

    /// Writes octal digits and a NUL. Returns whether they suffice.
    pub(super) fn set_octal(self, block: &mut Block, number: i64) -> bool {
        let width = self.1 - 1;
        let digits = format!("{number:0width$o}");
        let fits = number >= 0 && digits.len() <= width;
        if fits {
            self.set(block, digits.as_bytes());
        }
        fits
    }

    /// Writes octal digits, or bytes as GNU does where these do not suffice.
    pub(super) fn set_number(self, block: &mut Block, number: i64) {
        if self.set_octal(block, number) {
            return;
        }
        let fill = if number < 0 { 0xFF } else { 0 };
        let mut bytes = vec![fill; self.1];
        for (byte, value) in bytes.iter_mut().rev().zip(number.to_le_bytes()) {
            *byte = value;
        }
        if let Some(first) = bytes.first_mut() {
            *first = if number < 0 { 0xFF } else { 0x80 };
        }
        self.set(block, &bytes);
    }
}

/// The sum of the bytes where the field of the sum is blank: unsigned, and as old programs added them.
fn sums(block: &Block) -> (i64, i64) {
    let bytes: [u8; BLOCK] = array::from_fn(|at| {
        let is_sum = (SUM.0..SUM.0 + SUM.1).contains(&at);
        if is_sum {
            b' '
        } else {
            block.get(at).copied().unwrap_or(0)
        }
    });
    let unsigned = bytes.iter().map(|byte| i64::from(*byte)).sum();
    let signed = bytes.iter().map(|byte| i64::from(byte.cast_signed())).sum();
    (unsigned, signed)
}

/// Whether the sum of a block is the one that it has.
pub(super) fn is_valid(block: &Block) -> bool {
    let (unsigned, signed) = sums(block);
    let sum = SUM.number(block);
    sum == Some(unsigned) || sum == Some(signed)
}

/// Writes the sum of a block whose other fields are set.
pub(super) fn seal(block: &mut Block) {
    let (sum, _) = sums(block);
    SUM.set(block, format!("{sum:06o}\0 ").as_bytes());
}

/// How many bytes follow so many to fill the last block.
pub(super) fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}
