//! Eight tiles in memory, written from the manual's operations and apart from the library's emulation.

use super::decode::Instruction;

/// Tiles as bytes, with what LDTILECFG has said about their sizes.
pub struct TileFile {
    data: [[[u8; 64]; 16]; 8],
    rows: [usize; 8],
    row_bytes: [usize; 8],
}

impl TileFile {
    pub const fn new() -> Self {
        Self {
            data: [[[0; 64]; 16]; 8],
            rows: [0; 8],
            row_bytes: [0; 8],
        }
    }

    /// # Safety
    /// Addresses are what the program wanted the processor to read and write.
    pub unsafe fn execute(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Configure { from } => {
                // SAFETY: LDTILECFG reads 64 bytes.
                let bytes = unsafe { *(from as *const [u8; 64]) };
                assert_eq!(bytes[..2], [1, 0], "palette and start row");
                assert!(bytes[2..16].iter().all(|&byte| byte == 0), "reserved");
                *self = Self::new();
                for tile in 0..8 {
                    let at = 16 + 2 * tile;
                    let row_bytes = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
                    let rows = usize::from(bytes[48 + tile]);
                    assert!((1..=16).contains(&rows) && (1..=64).contains(&row_bytes));
                    assert!(row_bytes.is_multiple_of(4));
                    (self.rows[tile], self.row_bytes[tile]) = (rows, row_bytes);
                }
                assert!(
                    bytes[32..48]
                        .iter()
                        .chain(&bytes[56..])
                        .all(|&byte| byte == 0)
                );
            }
            Instruction::Release => *self = Self::new(),
            Instruction::Zero { tile } => {
                self.expect_configured(tile);
                self.data[tile] = [[0; 64]; 16];
            }
            Instruction::Load { tile, from, stride } => {
                self.expect_configured(tile);
                self.data[tile] = [[0; 64]; 16];
                for row in 0..self.rows[tile] {
                    let from = from.wrapping_add(row.wrapping_mul(stride)) as *const u8;
                    let to = &mut self.data[tile][row][..self.row_bytes[tile]];
                    // SAFETY: the program's own addresses.
                    unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
                }
            }
            Instruction::Store { tile, to, stride } => {
                self.expect_configured(tile);
                for row in 0..self.rows[tile] {
                    let to = to.wrapping_add(row.wrapping_mul(stride)) as *mut u8;
                    let from = &self.data[tile][row][..self.row_bytes[tile]];
                    // SAFETY: the program's own addresses.
                    unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
                }
            }
            Instruction::Dot { sums, left, right } => self.dot(sums, left, right),
        }
    }

    fn expect_configured(&self, tile: usize) {
        assert_ne!(self.rows[tile], 0, "tile {tile} is not configured");
    }

    fn word(&self, tile: usize, row: usize, column: usize) -> u32 {
        let bytes = &self.data[tile][row][4 * column..];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// TDPBF16PS: fused multiply-add of each half of the pairs, then both halves, then the sum so far.
    fn dot(&mut self, sums: usize, left: usize, right: usize) {
        let (rows, columns) = (self.rows[sums], self.row_bytes[sums] / 4);
        let pairs = self.row_bytes[left] / 4;
        // What the processor would refuse.
        assert!(sums != left && sums != right && left != right);
        assert_eq!(self.rows[left], rows);
        assert_eq!(self.row_bytes[right] / 4, columns);
        assert_eq!(self.rows[right], pairs);
        for row in 0..rows {
            for column in 0..columns {
                let mut halves = [0.0f32; 2];
                for pair in 0..pairs {
                    let (a, b) = (self.word(left, row, pair), self.word(right, pair, column));
                    for (half, sum) in halves.iter_mut().enumerate() {
                        let number = |word: u32| normal(f32::from_bits(word >> (16 * half) << 16));
                        *sum = normal(number(a).mul_add(number(b), *sum));
                    }
                }
                let so_far = normal(f32::from_bits(self.word(sums, row, column)));
                let sum = normal(so_far + normal(halves[0] + halves[1]));
                self.data[sums][row][4 * column..][..4].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// Denormals are zero.
fn normal(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0f32.copysign(value)
    } else {
        value
    }
}
