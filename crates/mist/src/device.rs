//! Where tensors live, chosen at run time among the devices that were compiled in.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;

use crate::Error;

/// A device by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// The fastest present: CUDA, then wgpu, then the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU through wgpu; needs the cargo feature `wgpu`.
    Wgpu,
    /// An NVIDIA GPU; needs the cargo feature `cuda`.
    Cuda,
}

impl Compute {
    /// Every name, for help texts.
    pub const NAMES: [&str; 4] = ["auto", "cpu", "wgpu", "cuda"];

    /// The burn device.
    ///
    /// # Errors
    /// When the device is not compiled in or this machine has none.
    pub fn device(self) -> Result<Device, Error> {
        match self {
            Self::Auto => Ok(cuda()
                .or_else(|_| wgpu())
                .unwrap_or_else(|_| Device::flex())),
            Self::Cpu => Ok(Device::flex()),
            Self::Wgpu => wgpu(),
            Self::Cuda => cuda(),
        }
    }
}

#[cfg(feature = "wgpu")]
fn wgpu() -> Result<Device, Error> {
    first(burn::tensor::DeviceType::Wgpu, "wgpu")
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Result<Device, Error> {
    Err(Error::Device {
        name: "wgpu",
        reason: "rebuild with `--features wgpu`",
    })
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Device, Error> {
    first(burn::tensor::DeviceType::Cuda, "cuda")
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Device, Error> {
    Err(Error::Device {
        name: "cuda",
        reason: "rebuild with `--features cuda`",
    })
}

#[cfg(any(feature = "wgpu", feature = "cuda"))]
fn first(kind: burn::tensor::DeviceType, name: &'static str) -> Result<Device, Error> {
    Device::enumerate(kind)
        .into_iter()
        .next()
        .ok_or(Error::Device {
            name,
            reason: "none was found on this machine",
        })
}

impl FromStr for Compute {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "wgpu" => Ok(Self::Wgpu),
            "cuda" => Ok(Self::Cuda),
            _ => Err(Error::Setting {
                name: "device",
                requirement: "one of auto, cpu, wgpu, cuda".into(),
            }),
        }
    }
}

impl fmt::Display for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_the_cpu_is_always_there() {
        for name in Compute::NAMES {
            assert_eq!(name.parse::<Compute>().unwrap().to_string(), name);
        }
        assert!("gpu".parse::<Compute>().is_err());
        assert!(Compute::Cpu.device().is_ok());
        assert!(Compute::Auto.device().is_ok());
    }
}
