//! Sums of rows in an order that halves of the rows keep.

use std::ops::AddAssign;

use crate::Error;

/// A number that ranks add up and send.
pub trait Number: Copy + AddAssign {
    /// Bytes of one.
    const LEN: usize;

    /// Appends its bytes.
    fn write(self, bytes: &mut Vec<u8>);

    /// Reads [`Number::LEN`] bytes.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! number {
    ($kind:ty) => {
        impl Number for $kind {
            const LEN: usize = size_of::<$kind>();

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    };
}

number!(f32);
number!(f64);

/// The sum of `[rows, length]` over rows: neighbours first, then their sums, and so on.
pub(crate) fn sum_rows<N: Number>(mut rows: Vec<N>, length: usize) -> Vec<N> {
    let count = rows.len() / length.max(1);
    let mut step = 1;
    while step < count {
        for left in (0..count - step).step_by(2 * step) {
            let (to, from) = rows.split_at_mut((left + step) * length);
            let to = &mut to[left * length..][..length];
            for (sum, &value) in to.iter_mut().zip(&from[..length]) {
                *sum += value;
            }
        }
        step *= 2;
    }
    rows.truncate(length);
    rows
}

pub(super) fn to_bytes<N: Number>(values: &[N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * N::LEN + 1);
    values.iter().for_each(|value| value.write(&mut bytes));
    bytes
}

/// The numbers of all messages, `expected` of them.
pub(super) fn from_bytes<N: Number>(
    messages: &[Vec<u8>],
    expected: usize,
) -> Result<Vec<N>, Error> {
    let mut values = Vec::with_capacity(expected);
    for message in messages {
        values.extend(message.chunks(N::LEN).filter_map(N::read));
    }
    match values.len() == expected {
        true => Ok(values),
        false => Err(Error::LostRank(format!(
            "the ranks do not do the same: {expected} numbers were expected, {} came",
            values.len()
        ))),
    }
}
