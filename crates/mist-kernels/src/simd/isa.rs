//! Selection of the instruction set.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::Kernel;
use super::portable::PortableF32x8;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust.
    Portable,
    /// AVX2 and FMA, 8 lanes.
    Avx2,
    /// AVX-512 F and VL, 16 lanes.
    Avx512,
    /// AVX-512 and AMX tiles for bf16.
    Amx,
}

/// An unknown name, or an instruction set that this machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsaError {
    /// No such name.
    #[error("there is no instruction set `{0}`; the names are portable, avx2, avx512, amx")]
    Unknown(String),
    /// Not on this machine.
    #[error("this machine does not have the instruction set `{0}`")]
    Absent(Isa),
}

impl Isa {
    /// The environment variable that selects an instruction set.
    pub const VARIABLE: &'static str = "MIST_ISA";

    /// All, slowest first.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Amx];

    /// Whether this machine can run it.
    pub fn is_present(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_present()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
            Self::Amx => Self::Avx512.is_present() && crate::tiles::amx_is_usable(),
        }
    }

    /// Itself, if this machine can run it.
    ///
    /// # Errors
    /// When it cannot.
    pub fn checked(self) -> Result<Self, IsaError> {
        match self.is_present() {
            true => Ok(self),
            false => Err(IsaError::Absent(self)),
        }
    }

    /// The best that this machine has.
    pub fn best() -> Self {
        let present = Self::ALL.into_iter().rev().find(|isa| isa.is_present());
        present.unwrap_or(Self::Portable)
    }

    /// The one that `$MIST_ISA` names, else the best; decided once per process.
    ///
    /// # Errors
    /// When the variable names something unknown or absent.
    pub fn selected() -> Result<Self, IsaError> {
        static SELECTED: OnceLock<Result<Isa, IsaError>> = OnceLock::new();
        SELECTED
            .get_or_init(|| match std::env::var(Self::VARIABLE) {
                Ok(name) if !name.is_empty() => name.parse::<Self>()?.checked(),
                _ => Ok(Self::best()),
            })
            .clone()
    }

    /// Runs a kernel over data whose channels are padded to a multiple of 8, with 16 lanes where that divides
    /// `channels`.
    ///
    /// # Safety
    /// The instruction set is present on this machine. All padded numbers of channels that the kernel steps over are
    /// multiples of 8, and of 16 if `channels` is. The kernel's slices are as long as its fields say.
    pub(crate) unsafe fn launch<K: Kernel>(self, channels: usize, kernel: K) {
        #[cfg(target_arch = "x86_64")]
        {
            use super::avx2::{Avx2F32x8, Avx512F32x8};
            use super::avx512::Avx512F32x16;

            #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
            unsafe fn sixteen<K: Kernel>(kernel: K) {
                // SAFETY: the features of this function are those of the vector; the rest is the caller's promise.
                unsafe { kernel.run::<Avx512F32x16>() }
            }
            #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
            unsafe fn eight<K: Kernel>(kernel: K) {
                // SAFETY: as in `sixteen`.
                unsafe { kernel.run::<Avx512F32x8>() }
            }
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2<K: Kernel>(kernel: K) {
                // SAFETY: as in `sixteen`.
                unsafe { kernel.run::<Avx2F32x8>() }
            }
            match self {
                Self::Avx512 | Self::Amx if channels.is_multiple_of(16) => {
                    // SAFETY: AVX-512 is present, and 16 lanes divide the channels.
                    return unsafe { sixteen(kernel) };
                }
                // SAFETY: AVX-512 is present, and 8 lanes divide all padded channels.
                Self::Avx512 | Self::Amx => return unsafe { eight(kernel) },
                // SAFETY: AVX2 and FMA are present, and 8 lanes divide all padded channels.
                Self::Avx2 => return unsafe { avx2(kernel) },
                Self::Portable => {}
            }
        }
        let _ = channels;
        // SAFETY: plain Rust runs everywhere, and 8 lanes divide all padded channels.
        unsafe { kernel.run::<PortableF32x8>() }
    }
}

impl FromStr for Isa {
    type Err = IsaError;

    fn from_str(name: &str) -> Result<Self, IsaError> {
        Self::ALL
            .into_iter()
            .find(|isa| isa.to_string() == name)
            .ok_or_else(|| IsaError::Unknown(name.to_owned()))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Amx => "amx",
        })
    }
}
