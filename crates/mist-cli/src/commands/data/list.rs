//! `mist data list`

use mist_data::{SceneKind, locate};
use mist_lab::Result;

use crate::cli::DataPlace;
use crate::stdout;

/// Prints every kind, tab-separated: name, `ready` or what is missing, description.
pub fn run(place: &DataPlace) -> Result<()> {
    let mnist = locate(place.data.as_deref());
    let mut table = String::new();
    for kind in SceneKind::ALL {
        let state = if !kind.needs_digits() || mnist.is_ok() {
            "ready"
        } else {
            "needs mnist"
        };
        table += &format!("{}\t{state}\t{}\n", kind.name(), kind.description());
    }
    stdout::write(&table)?;
    if let (Err(error), Some(_)) = (mnist, &place.data) {
        return Err(error.into());
    }
    Ok(())
}
