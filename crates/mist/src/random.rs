//! Random numbers that several modules draw.

use rand::{Rng, RngExt};

/// Two normal numbers of a standard deviation (Box and Muller).
pub(crate) fn normals(deviation: f32, random: &mut impl Rng) -> (f32, f32) {
    let uniform = random.random::<f32>().max(f32::MIN_POSITIVE);
    let length = deviation * (-2.0 * uniform.ln()).sqrt();
    let (sine, cosine) = (std::f32::consts::TAU * random.random::<f32>()).sin_cos();
    (length * cosine, length * sine)
}
