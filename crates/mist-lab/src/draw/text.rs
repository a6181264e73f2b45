//! Letters of 8 x 8 dots.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};

use super::{Canvas, Colour};

/// Height of a line of text at scale 1, descenders included.
pub const TEXT_HEIGHT_PX: usize = 8;

const SPACE_PX: usize = 3;
const LETTER_GAP_PX: usize = 1;

/// A letter without the empty columns around it.
struct Glyph {
    /// From the top; the lowest bit is the left dot.
    rows: [u8; TEXT_HEIGHT_PX],
    width_px: usize,
}

impl Glyph {
    /// ASCII, Latin-1 and Greek; a question mark for everything else.
    fn of(letter: char) -> Self {
        let known = Some(letter).filter(|letter| !letter.is_control());
        let rows = known
            .and_then(|letter| {
                let basic = BASIC_FONTS.get(letter);
                let latin = || LATIN_FONTS.get(letter);
                basic.or_else(latin).or_else(|| GREEK_FONTS.get(letter))
            })
            .or_else(|| BASIC_FONTS.get('?'))
            .unwrap_or_default();
        let columns = rows.iter().fold(0, |columns, row| columns | row);
        if columns == 0 {
            return Self {
                rows,
                width_px: SPACE_PX,
            };
        }
        let first = columns.trailing_zeros();
        Self {
            rows: rows.map(|row| row >> first),
            width_px: (u8::BITS - columns.leading_zeros() - first) as usize,
        }
    }

    /// Calls `draw` with each row's runs of dots: row, first column, length.
    fn for_runs(&self, mut draw: impl FnMut(usize, usize, usize)) {
        for (row, bits) in self.rows.into_iter().enumerate() {
            let (mut bits, mut column) = (u16::from(bits), 0);
            while bits != 0 {
                let gap = bits.trailing_zeros() as usize;
                let length = (bits >> gap).trailing_ones() as usize;
                draw(row, column + gap, length);
                column += gap + length;
                bits >>= gap + length;
            }
        }
    }
}

/// The width of a line of text, each dot of which is `scale` pixels wide.
pub fn text_width_px(text: &str, scale: usize) -> usize {
    let advances = text
        .chars()
        .map(|letter| Glyph::of(letter).width_px + LETTER_GAP_PX);
    let width_px = advances.sum::<usize>().saturating_sub(LETTER_GAP_PX);
    width_px.saturating_mul(scale)
}

impl Canvas {
    /// Writes a line of text with its top-left corner at `at_px`, each dot of which is a square of
    /// `scale * scale` pixels.
    ///
    /// ASCII, Latin-1 and Greek are known; other letters become question marks.
    pub fn draw_text(
        &mut self,
        text: &str,
        (left_px, top_px): (usize, usize),
        scale: usize,
        colour: Colour,
    ) {
        let mut left_px = left_px;
        for letter in text.chars() {
            if left_px >= self.width_px() {
                break;
            }
            let glyph = Glyph::of(letter);
            glyph.for_runs(|row, column, length| {
                let place =
                    |offset: usize, dots: usize| offset.saturating_add(dots.saturating_mul(scale));
                self.fill(
                    place(left_px, column)..place(left_px, column + length),
                    place(top_px, row)..place(top_px, row + 1),
                    colour,
                );
            });
            let advance_px = (glyph.width_px + LETTER_GAP_PX).saturating_mul(scale);
            left_px = left_px.saturating_add(advance_px);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, scale: usize) -> Canvas {
        let mut canvas = Canvas::new(200, 20, Colour::BLACK).unwrap();
        canvas.draw_text(text, (5, 2), scale, Colour::CYAN);
        canvas
    }

    /// The columns and rows from the first to the last drawn pixel.
    fn extent(canvas: Canvas) -> (usize, usize, usize, usize) {
        let image = canvas.into_image();
        let drawn = |x: usize, y: usize| image.pixels[image.offset(x, y, 2)] > 0.0;
        let places = (0..image.height_px).flat_map(|y| (0..image.width_px).map(move |x| (x, y)));
        let places: Vec<_> = places.filter(|&(x, y)| drawn(x, y)).collect();
        let xs = || places.iter().map(|place| place.0);
        let ys = || places.iter().map(|place| place.1);
        (
            xs().min().unwrap(),
            xs().max().unwrap(),
            ys().min().unwrap(),
            ys().max().unwrap(),
        )
    }

    #[test]
    fn text_stands_where_it_is_put_and_is_as_wide_as_measured() {
        for (scale, text) in [(1, "seven 0.93"), (2, "Gg"), (2, "_"), (1, "il.")] {
            let (left, right, top, bottom) = extent(written(text, scale));
            assert_eq!((left, right + 1 - left), (5, text_width_px(text, scale)));
            assert!(top >= 2 && bottom < 2 + TEXT_HEIGHT_PX * scale);
        }
    }

    #[test]
    fn different_strings_look_different() {
        let strings = [
            "seven", "eleven", "seven.", "0.93", "0.98", "é", "e", "µ", "λ",
        ];
        for (place, text) in strings.iter().enumerate() {
            for other in &strings[..place] {
                assert_ne!(written(text, 1), written(other, 1), "{text} and {other}");
            }
        }
        let printable: Vec<Canvas> = ('!'..='~')
            .map(|letter| written(&letter.to_string(), 1))
            .collect();
        for (place, letter) in printable.iter().enumerate() {
            assert!(!printable[..place].contains(letter), "letter {place}");
        }
    }

    #[test]
    fn unknown_letters_become_question_marks() {
        assert_eq!(written("猫\n", 1), written("??", 1));
    }

    #[test]
    fn text_beyond_the_edge_is_cut() {
        let mut canvas = Canvas::new(10, 5, Colour::BLACK).unwrap();
        canvas.draw_text("beyond", (4, 1), usize::MAX, Colour::WHITE);
        canvas.draw_text("beyond", (usize::MAX, usize::MAX), 3, Colour::WHITE);
        canvas.draw_text("beyond", (8, 3), 2, Colour::WHITE);
        canvas.draw_text("nothing", (0, 0), 0, Colour::WHITE);
        assert_eq!(canvas.width_px(), 10);
    }
}
