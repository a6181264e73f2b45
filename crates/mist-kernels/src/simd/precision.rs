//! Selection of the precision of convolutions.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::Isa;
use crate::tiles::TileUnit;

/// Precision of the factors in convolutions; sums and all other layers are f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// bf16 where the instruction set has tiles for it, else f32.
    #[default]
    Auto,
    /// f32.
    F32,
    /// bf16. The forward pass also multiplies the rounding errors of the factors, so that outputs are nearly those of f32;
    /// gradients do without. Without AMX its tiles are emulated, which is slow and meant for checking results.
    Bf16,
}

/// An unknown name, or a selection that comes too late.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrecisionError {
    /// No such name.
    #[error("there is no precision `{0}`; the names are auto, f32, bf16")]
    Unknown(String),
    /// The process already uses another one.
    #[error("the precision `{0}` was selected too late: this process already uses another one")]
    TooLate(Precision),
}

static SELECTED: OnceLock<Result<Precision, PrecisionError>> = OnceLock::new();

impl Precision {
    /// The environment variable that sets it.
    pub const VARIABLE: &'static str = "MIST_PRECISION";

    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::F32, Self::Bf16];

    /// Sets the precision of the whole process, in place of `$MIST_PRECISION`.
    ///
    /// # Errors
    /// When another one is in use already.
    pub fn select(self) -> Result<(), PrecisionError> {
        match SELECTED.get_or_init(|| Ok(self)) {
            Ok(selected) if *selected == self => Ok(()),
            _ => Err(PrecisionError::TooLate(self)),
        }
    }

    /// What [`Precision::select`] or else `$MIST_PRECISION` says, decided once per process.
    ///
    /// # Errors
    /// When the variable holds an unknown name.
    pub fn selected() -> Result<Self, PrecisionError> {
        let decide = || match std::env::var(Self::VARIABLE) {
            Ok(name) if !name.is_empty() => name.parse(),
            _ => Ok(Self::Auto),
        };
        SELECTED.get_or_init(decide).clone()
    }

    /// The tiles that convolutions run on, if any.
    pub(crate) fn tiles(self, isa: Isa) -> Option<TileUnit> {
        let unit = match isa {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Isa::Amx => TileUnit::Amx,
            _ => TileUnit::Emulated,
        };
        match self {
            Self::F32 => None,
            Self::Bf16 => Some(unit),
            Self::Auto => (unit != TileUnit::Emulated).then_some(unit),
        }
    }
}

impl FromStr for Precision {
    type Err = PrecisionError;

    fn from_str(name: &str) -> Result<Self, PrecisionError> {
        Self::ALL
            .into_iter()
            .find(|precision| precision.to_string() == name)
            .ok_or_else(|| PrecisionError::Unknown(name.to_owned()))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        assert!("fp16".parse::<Precision>().is_err());
    }

    #[test]
    fn tiles_are_emulated_only_on_request() {
        assert_eq!(Precision::Auto.tiles(Isa::Avx512), None);
        assert_eq!(Precision::F32.tiles(Isa::Amx), None);
        assert_eq!(
            Precision::Bf16.tiles(Isa::Portable),
            Some(TileUnit::Emulated)
        );
    }

    #[test]
    fn the_first_choice_stays() {
        assert_eq!(Precision::F32.select(), Ok(()));
        assert_eq!(Precision::F32.select(), Ok(()));
        assert_eq!(Precision::selected(), Ok(Precision::F32));
        let late = Precision::Bf16.select();
        assert_eq!(late, Err(PrecisionError::TooLate(Precision::Bf16)));
    }
}
