//! The backward pass of one box after another.

use super::Wanted;
use super::axis::Axis;
use super::padded::Padded;
use super::samples::Samples;

/// The source and its gradient, each only if needed, and scratch memory.
pub(super) struct SamplerBackward {
    source: Option<Padded>,
    source_gradient: Option<Padded>,
    /// The source interpolated at the columns, `[line][column]`: values, slopes along x, gradients.
    values: Vec<f32>,
    slopes: Vec<f32>,
    gradients: Vec<f32>,
    sums: Sums,
}

/// Derivatives of the loss by the positions of the samples, summed over channels and rows, one per column.
#[derive(Default)]
struct Sums {
    along_x: Vec<f32>,
    along_y: Vec<f32>,
    /// As `along_y`, each row times the derivative of its position by the scale.
    along_y_by_scale: Vec<f32>,
}

impl SamplerBackward {
    /// For sources of this size, without the margin.
    pub fn new(wanted: Wanted, channels: usize, height_px: usize, width_px: usize) -> Self {
        let padded = || Padded::new(channels, height_px, width_px);
        Self {
            source: wanted.keypoints.then(padded),
            source_gradient: wanted.source.then(padded),
            values: Vec::new(),
            slopes: Vec::new(),
            gradients: Vec::new(),
            sums: Sums::default(),
        }
    }

    /// Loads the next source and clears its gradient.
    pub fn start(&mut self, planes: &[f32]) {
        if let Some(source) = &mut self.source {
            source.load(planes);
        }
        if let Some(gradient) = &mut self.source_gradient {
            gradient.clear();
        }
    }

    /// Writes the gradient of the source, if wanted, summed since [`SamplerBackward::start`].
    pub fn finish(&mut self, planes: &mut [f32]) {
        if let Some(gradient) = &mut self.source_gradient {
            gradient.unload(planes);
        }
    }

    /// Propagates the gradient of the output of [`Samples::read`]: adds to that of the source and returns that of
    /// (x, y, scale), zero unless wanted.
    pub fn run(&mut self, samples: &Samples, gradient: &[f32]) -> [f32; 3] {
        if samples.is_empty() {
            return [0.0; 3];
        }
        let count = samples.columns.len();
        self.sums.clear(count);
        for (channel, plane) in gradient.chunks_exact(samples.plane_px).enumerate() {
            self.spread_rows(samples, plane);
            if self.source.is_some() {
                self.gather_slopes(samples, channel);
                self.sums.add_x(&self.gradients, &self.slopes);
                self.sums.add_y(samples, plane, &self.values);
            }
            if let Some(into) = &mut self.source_gradient {
                let gradients = self.gradients.chunks_exact(count);
                for (&line, gradients) in samples.lines.read.iter().zip(gradients) {
                    scatter(gradients, &samples.columns, into.line_mut(channel, line));
                }
            }
        }
        self.sums.total(samples)
    }

    fn spread_rows(&mut self, samples: &Samples, plane: &[f32]) {
        let count = samples.columns.len();
        self.gradients.clear();
        self.gradients.resize(samples.lines.read.len() * count, 0.0);
        for (row, &slot) in samples.lines.slots.iter().enumerate() {
            let fraction = samples.rows.fraction[row];
            let gradients = &plane[samples.start(row)..][..count];
            let (upper, lower) = self.gradients[slot * count..][..2 * count].split_at_mut(count);
            for ((&gradient, upper), lower) in gradients.iter().zip(upper).zip(lower) {
                let to_lower = fraction * gradient;
                *upper += gradient - to_lower;
                *lower += to_lower;
            }
        }
    }

    fn gather_slopes(&mut self, samples: &Samples, channel: usize) {
        let Some(source) = &self.source else { return };
        let (columns, read) = (&samples.columns, &samples.lines.read);
        let count = columns.len();
        self.values.resize(read.len() * count, 0.0);
        self.slopes.resize(read.len() * count, 0.0);
        let values = self.values.chunks_exact_mut(count);
        let outputs = values.zip(self.slopes.chunks_exact_mut(count));
        for (&line, (values, slopes)) in read.iter().zip(outputs) {
            let line = source.line(channel, line);
            let neighbours = columns.lower.iter().zip(&columns.fraction);
            let outputs = values.iter_mut().zip(slopes);
            for ((value, slope), (&lower, &fraction)) in outputs.zip(neighbours) {
                let (left, right) = (line[lower], line[lower + 1]);
                *slope = right - left;
                *value = left + fraction * *slope;
            }
        }
    }
}

impl Sums {
    fn clear(&mut self, columns: usize) {
        for sums in [
            &mut self.along_x,
            &mut self.along_y,
            &mut self.along_y_by_scale,
        ] {
            sums.clear();
            sums.resize(columns, 0.0);
        }
    }

    fn add_x(&mut self, gradients: &[f32], slopes: &[f32]) {
        let count = self.along_x.len();
        let lines = gradients
            .chunks_exact(count)
            .zip(slopes.chunks_exact(count));
        for (gradients, slopes) in lines {
            let terms = gradients.iter().zip(slopes);
            for (sum, (&gradient, &slope)) in self.along_x.iter_mut().zip(terms) {
                *sum += gradient * slope;
            }
        }
    }

    fn add_y(&mut self, samples: &Samples, plane: &[f32], values: &[f32]) {
        let count = self.along_y.len();
        for (row, &slot) in samples.lines.slots.iter().enumerate() {
            let by_scale = samples.rows.by_scale[row];
            let gradients = &plane[samples.start(row)..][..count];
            let (upper, lower) = values[slot * count..][..2 * count].split_at(count);
            let terms = gradients.iter().zip(upper.iter().zip(lower));
            let sums = self.along_y.iter_mut().zip(&mut self.along_y_by_scale);
            for ((sum, sum_by_scale), (&gradient, (&upper, &lower))) in sums.zip(terms) {
                let term = gradient * (lower - upper);
                *sum += term;
                *sum_by_scale += by_scale * term;
            }
        }
    }

    /// The gradient of (x, y, scale).
    fn total(&self, samples: &Samples) -> [f32; 3] {
        let (columns, rows) = (&samples.columns, &samples.rows);
        let by_scale = self.along_x.iter().zip(&columns.by_scale);
        let by_scale: f32 = by_scale.map(|(sum, by_scale)| sum * by_scale).sum();
        [
            columns.by_centre * self.along_x.iter().sum::<f32>(),
            rows.by_centre * self.along_y.iter().sum::<f32>(),
            by_scale + self.along_y_by_scale.iter().sum::<f32>(),
        ]
    }
}

fn scatter(gradients: &[f32], columns: &Axis, line: &mut [f32]) {
    let neighbours = columns.lower.iter().zip(&columns.fraction);
    for (&gradient, (&lower, &fraction)) in gradients.iter().zip(neighbours) {
        let to_right = fraction * gradient;
        line[lower] += gradient - to_right;
        line[lower + 1] += to_right;
    }
}
