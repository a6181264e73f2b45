//! How many objects are looked for.

use std::str::FromStr;

/// How many objects an image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// As many as this, in an image of any size.
    Exactly(usize),
    /// Those whose scores the model's calibration takes for objects.
    Auto,
}

impl FromStr for Instances {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u16>() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(instances) if instances > 0 => Ok(Self::Exactly(instances.into())),
            _ => Err(format!("`{text}` is no number from 1 to 65535, nor `auto`")),
        }
    }
}
