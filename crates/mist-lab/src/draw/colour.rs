//! Colours of classes and of what is between pictures.

/// Class colours, told apart on black, on gray and on photographs.
const PALETTE: [Colour; 10] = [
    Colour([1.0, 0.35, 0.35]),
    Colour([0.35, 0.8, 1.0]),
    Colour([0.45, 1.0, 0.35]),
    Colour([1.0, 0.75, 0.2]),
    Colour([0.85, 0.5, 1.0]),
    Colour([0.2, 1.0, 0.8]),
    Colour([1.0, 0.5, 0.85]),
    Colour([0.9, 1.0, 0.4]),
    Colour([0.5, 0.6, 1.0]),
    Colour([1.0, 0.6, 0.4]),
];

/// Red, green and blue in `[0, 1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour(pub [f32; 3]);

impl Colour {
    /// No light.
    pub const BLACK: Self = Self([0.0; 3]);
    /// Full light.
    pub const WHITE: Self = Self([1.0; 3]);
    /// What was found rightly.
    pub const RIGHT: Self = PALETTE[2];
    /// What was not.
    pub const WRONG: Self = PALETTE[0];
    /// The palette's orange.
    pub const ORANGE: Self = PALETTE[3];
    /// The palette's cyan.
    pub const CYAN: Self = PALETTE[1];
    /// What stands between the parts of a sheet.
    pub const GAP: Self = Self([0.3, 0.3, 0.35]);

    /// The colour of a class; the ten colours repeat.
    pub fn of_class(label: usize) -> Self {
        PALETTE[label % PALETTE.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_classes_have_ten_colours() {
        for label in 0..10 {
            let same = (0..10).filter(|&other| Colour::of_class(other) == Colour::of_class(label));
            assert_eq!(same.count(), 1);
        }
        assert_eq!(Colour::of_class(13), Colour::of_class(3));
    }
}
