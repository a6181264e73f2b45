//! The losses. Each returns one value per image, `[batch]`, so that step sizes and weights do not depend on the
//! batch size.

mod heatmap;
mod multi_instance;
mod offset;
mod reconstruction;

pub(crate) use heatmap::check_window;
pub use heatmap::heatmap_loss;
pub use multi_instance::{MeanDistance, multi_instance_loss};
pub use offset::offset_loss;
pub use reconstruction::reconstruction_loss;

use burn::tensor::Tensor;

use crate::Error;

/// Sum of squared differences per image, `[batch]`.
fn squared_distance<const D: usize>(
    what: &'static str,
    a: Tensor<D>,
    b: Tensor<D>,
) -> Result<Tensor<1>, Error> {
    same_shape(what, &a, &b)?;
    let dims = a.dims();
    let batch = dims[0];
    let values = dims[1..].iter().product::<usize>();
    Ok((a - b)
        .square()
        .reshape([batch, values])
        .sum_dim(1)
        .reshape([batch]))
}

fn same_shape<const D: usize>(
    what: &'static str,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<(), Error> {
    if a.dims() != b.dims() {
        return Err(Error::Mismatch {
            what,
            expected: a.dims().to_vec(),
            actual: b.dims().to_vec(),
        });
    }
    Ok(())
}
