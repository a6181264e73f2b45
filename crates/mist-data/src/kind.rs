//! The scene families by name.

use std::fmt;
use std::str::FromStr;

use crate::glyphs;

/// A family of scenes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SceneKind {
    /// Built-in stroke shapes.
    Glyphs,
    /// MNIST-easy of the paper.
    Easy,
    /// MNIST-hard of the paper.
    Hard,
    /// Hard, closer together.
    Crowded,
    /// Three digits, for the comparison with Xie20.
    Three,
    /// Clustered positions.
    Uneven,
    /// K study: always nine.
    K9,
    /// K study: six to nine.
    K6to9,
    /// K study: three to nine.
    K3to9,
    /// As easy, with any number of cells filled, for Esl16.
    Easy0to9,
    /// As hard, with any number of digits, for Esl16.
    Hard0to9,
    /// None, one or two digits: what Esl16 was made for.
    Upto2,
    /// Hard, with pieces of other digits between them.
    Cluttered,
    /// Hard, at low contrast over a texture.
    Textured,
    /// Digits of varying size.
    Scale,
    /// Sparse Gabor noise.
    Gabor,
    /// Gabor noise with 64 impulses.
    Gabor64,
    /// Gabor noise with 256 impulses.
    Gabor256,
}

impl SceneKind {
    /// Every kind, in the order in which they are listed to people.
    pub const ALL: [SceneKind; 18] = [
        SceneKind::Glyphs,
        SceneKind::Easy,
        SceneKind::Hard,
        SceneKind::Crowded,
        SceneKind::Three,
        SceneKind::Uneven,
        SceneKind::K9,
        SceneKind::K6to9,
        SceneKind::K3to9,
        SceneKind::Easy0to9,
        SceneKind::Hard0to9,
        SceneKind::Upto2,
        SceneKind::Cluttered,
        SceneKind::Textured,
        SceneKind::Scale,
        SceneKind::Gabor,
        SceneKind::Gabor64,
        SceneKind::Gabor256,
    ];

    /// The name on the command line and in configs.
    pub fn name(self) -> &'static str {
        match self {
            SceneKind::Glyphs => "glyphs",
            SceneKind::Easy => "easy",
            SceneKind::Hard => "hard",
            SceneKind::Crowded => "crowded",
            SceneKind::Three => "three",
            SceneKind::Uneven => "uneven",
            SceneKind::K9 => "k9",
            SceneKind::K6to9 => "k6to9",
            SceneKind::K3to9 => "k3to9",
            SceneKind::Easy0to9 => "easy0to9",
            SceneKind::Hard0to9 => "hard0to9",
            SceneKind::Upto2 => "upto2",
            SceneKind::Cluttered => "cluttered",
            SceneKind::Textured => "textured",
            SceneKind::Scale => "scale",
            SceneKind::Gabor => "gabor",
            SceneKind::Gabor64 => "gabor64",
            SceneKind::Gabor256 => "gabor256",
        }
    }

    /// One line for listings.
    pub fn description(self) -> &'static str {
        match self {
            SceneKind::Glyphs => "nine built-in stroke shapes with noise; needs no download",
            SceneKind::Easy => "MNIST-easy: nine sorted digits on a jittered 3x3 grid",
            SceneKind::Hard => "MNIST-hard: nine random digits, at least 20 px apart",
            SceneKind::Crowded => "as hard, at least 16 px apart: strokes overlap heavily",
            SceneKind::Three => "as hard, with three digits",
            SceneKind::Uneven => "nine digits clustered on a 112-px canvas, the rest left empty",
            SceneKind::K9 => "as hard: the K study with always nine digits",
            SceneKind::K6to9 => "as hard: the K study with six to nine digits",
            SceneKind::K3to9 => "as hard: the K study with three to nine digits",
            SceneKind::Easy0to9 => "as easy, with zero to nine digits",
            SceneKind::Hard0to9 => "as hard, with zero to nine digits",
            SceneKind::Upto2 => "none, one or two digits on a 50-px canvas",
            SceneKind::Cluttered => "as hard, between fragments of other digits",
            SceneKind::Textured => "as hard, at low contrast over natural-looking noise",
            SceneKind::Scale => "nine digits of 14 to 28 px on a 112-px canvas",
            SceneKind::Gabor => "Gabor noise with 16 impulses on average",
            SceneKind::Gabor64 => "Gabor noise with 64 impulses on average",
            SceneKind::Gabor256 => "Gabor noise with 256 impulses on average",
        }
    }

    /// What the classes are called, by label.
    pub fn class_names(self) -> &'static [&'static str] {
        match self {
            SceneKind::Glyphs => &glyphs::NAMES,
            SceneKind::Gabor | SceneKind::Gabor64 | SceneKind::Gabor256 => &["impulse"],
            SceneKind::Easy
            | SceneKind::Hard
            | SceneKind::Crowded
            | SceneKind::Three
            | SceneKind::Uneven
            | SceneKind::K9
            | SceneKind::K6to9
            | SceneKind::K3to9
            | SceneKind::Easy0to9
            | SceneKind::Hard0to9
            | SceneKind::Upto2
            | SceneKind::Cluttered
            | SceneKind::Textured
            | SceneKind::Scale => &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        }
    }

    /// Whether scenes of this kind are drawn with MNIST digits.
    pub fn needs_digits(self) -> bool {
        match self {
            SceneKind::Glyphs | SceneKind::Gabor | SceneKind::Gabor64 | SceneKind::Gabor256 => {
                false
            }
            SceneKind::Easy
            | SceneKind::Hard
            | SceneKind::Crowded
            | SceneKind::Three
            | SceneKind::Uneven
            | SceneKind::K9
            | SceneKind::K6to9
            | SceneKind::K3to9
            | SceneKind::Easy0to9
            | SceneKind::Hard0to9
            | SceneKind::Upto2
            | SceneKind::Cluttered
            | SceneKind::Textured
            | SceneKind::Scale => true,
        }
    }
}

impl fmt::Display for SceneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no scene kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scene kind `{name}`; did you mean `{nearest}`? the kinds are {}",
    list_kinds()
)]
pub struct UnknownKind {
    /// What was asked for.
    pub name: String,
    /// The kind with the most similar name.
    pub nearest: SceneKind,
}

fn list_kinds() -> String {
    SceneKind::ALL.map(SceneKind::name).join(", ")
}

impl FromStr for SceneKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let mut nearest = SceneKind::Glyphs;
        let mut least_edits = usize::MAX;
        for kind in SceneKind::ALL {
            let edits = strsim::damerau_levenshtein(name, kind.name());
            if edits == 0 {
                return Ok(kind);
            }
            if edits < least_edits {
                (nearest, least_edits) = (kind, edits);
            }
        }
        Err(UnknownKind {
            name: name.to_owned(),
            nearest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in SceneKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert!(!kind.description().is_empty());
        }
    }

    #[test]
    fn unknown_names_point_to_the_nearest() {
        let error = "crowdde".parse::<SceneKind>().unwrap_err();
        assert_eq!(error.nearest, SceneKind::Crowded);
        let message = error.to_string();
        for kind in SceneKind::ALL {
            assert!(message.contains(kind.name()), "{message}");
        }
    }
}
