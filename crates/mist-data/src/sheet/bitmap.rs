//! Digits of 3 x 5 dots.

const WIDTH: usize = 3;

/// Rows from the top, three bits each, the left dot highest.
const DIGITS: [[u8; 5]; 10] = [
    [0b111, 0b101, 0b101, 0b101, 0b111],
    [0b010, 0b110, 0b010, 0b010, 0b111],
    [0b111, 0b001, 0b111, 0b100, 0b111],
    [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001],
    [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111],
    [0b111, 0b001, 0b010, 0b010, 0b010],
    [0b111, 0b101, 0b111, 0b101, 0b111],
    [0b111, 0b101, 0b111, 0b001, 0b111],
];

/// The dots of a number, as column and row from its top-left corner.
pub fn dots(number: usize) -> Vec<(i64, i64)> {
    let mut dots = Vec::new();
    for (place, digit) in number.to_string().bytes().enumerate() {
        for (row, bits) in DIGITS[usize::from(digit - b'0')].into_iter().enumerate() {
            for column in 0..WIDTH {
                if bits >> (WIDTH - 1 - column) & 1 == 1 {
                    dots.push(((place * (WIDTH + 1) + column) as i64, row as i64));
                }
            }
        }
    }
    dots
}
