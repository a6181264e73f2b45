//! The order in which a convolution visits its outputs: runs of equally spaced pixels that share their taps.
//!
//! Pixels that a tap would read beyond the map are not visited at all, so that maps need no border and small maps
//! cost no multiplications with zero.

/// One tap of a run: where it reads, relative to the run's pixel, and which slab of weights it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tap {
    /// Offset in values from the run's source pixel.
    pub src: isize,
    /// Index of the `[in][out]` slab.
    pub slab: usize,
}

/// Equally spaced output pixels with the same taps, offsets in values within a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub src: isize,
    pub dst: usize,
    /// Pixels; all samples of the block instead where the plan runs along samples.
    pub len: usize,
    pub src_step: usize,
    pub dst_step: usize,
    /// Index into [`RunPlan::tap_sets`].
    pub taps: usize,
}

/// Every output pixel of a layer, once per sample.
#[derive(Clone, Debug)]
pub(crate) struct RunPlan {
    pub runs: Vec<Run>,
    pub tap_sets: Vec<Vec<Tap>>,
    /// Whether runs go over the samples of a block, for maps too small to have long rows.
    pub along_samples: bool,
}

/// Size of one sample's map, the input or the output of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapSize {
    pub height: usize,
    pub width: usize,
    /// Channels with padding.
    pub channels: usize,
}

impl MapSize {
    /// Values in one sample.
    pub fn len(self) -> usize {
        self.height * self.width * self.channels
    }

    fn at(self, y: isize, x: isize) -> isize {
        (y * self.width as isize + x) * self.channels as isize
    }
}

/// Maps narrower than this run along samples.
const LONG_ROW: usize = 8;

impl RunPlan {
    /// A square kernel with stride 1 whose source is framed by `frame` pixels of zeros; `flipped` numbers the
    /// slabs backwards, as the gradient of the input needs.
    pub fn convolution(
        src: MapSize,
        dst: MapSize,
        kernel: usize,
        frame: usize,
        flipped: bool,
    ) -> Self {
        let mut plan = Self::empty(dst.width < LONG_ROW);
        let taps_at = |y: usize, x: usize| -> Vec<Tap> {
            let mut taps = Vec::new();
            for ky in 0..kernel {
                for kx in 0..kernel {
                    let dy = ky as isize - frame as isize;
                    let dx = kx as isize - frame as isize;
                    let (sy, sx) = (y as isize + dy, x as isize + dx);
                    let inside = (0..src.height as isize).contains(&sy)
                        && (0..src.width as isize).contains(&sx);
                    if inside {
                        let slab = ky * kernel + kx;
                        taps.push(Tap {
                            src: src.at(dy, dx),
                            slab: if flipped {
                                kernel * kernel - 1 - slab
                            } else {
                                slab
                            },
                        });
                    }
                }
            }
            taps
        };
        for y in 0..dst.height {
            let mut x = 0;
            while x < dst.width {
                let taps = taps_at(y, x);
                let mut len = 1;
                while !plan.along_samples && x + len < dst.width && taps_at(y, x + len) == taps {
                    len += 1;
                }
                plan.push(
                    Run {
                        src: src.at(y as isize, x as isize),
                        dst: dst.at(y as isize, x as isize) as usize,
                        len,
                        src_step: src.channels,
                        dst_step: dst.channels,
                        taps: 0,
                    },
                    taps,
                );
                x += len;
            }
        }
        plan
    }

    /// An odd square kernel with a stride, framed by half a kernel of zeros.
    pub fn strided(src: MapSize, dst: MapSize, kernel: usize, stride: usize) -> Self {
        let mut plan = Self::empty(dst.width < LONG_ROW);
        let frame = (kernel / 2) as isize;
        let taps_at = |y: usize, x: usize| -> Vec<Tap> {
            let mut taps = Vec::new();
            for slab in 0..kernel * kernel {
                let dy = (slab / kernel) as isize - frame;
                let dx = (slab % kernel) as isize - frame;
                let (sy, sx) = ((y * stride) as isize + dy, (x * stride) as isize + dx);
                let inside =
                    (0..src.height as isize).contains(&sy) && (0..src.width as isize).contains(&sx);
                if inside {
                    let src = src.at(dy, dx);
                    taps.push(Tap { src, slab });
                }
            }
            taps
        };
        for y in 0..dst.height {
            let mut x = 0;
            while x < dst.width {
                let taps = taps_at(y, x);
                let mut len = 1;
                while !plan.along_samples && x + len < dst.width && taps_at(y, x + len) == taps {
                    len += 1;
                }
                plan.push(
                    Run {
                        src: src.at((y * stride) as isize, (x * stride) as isize),
                        dst: dst.at(y as isize, x as isize) as usize,
                        len,
                        src_step: stride * src.channels,
                        dst_step: dst.channels,
                        taps: 0,
                    },
                    taps,
                );
                x += len;
            }
        }
        plan
    }

    /// A 2x2 transposed convolution with stride 2, from the small map to the large one.
    pub fn up_convolution(small: MapSize, large: MapSize) -> Self {
        let mut plan = Self::empty(small.width < LONG_ROW);
        for slab in 0..4 {
            for y in 0..small.height {
                for (x, len) in plan.segments(small.width) {
                    plan.push(
                        Run {
                            src: small.at(y as isize, x as isize),
                            dst: large.at((2 * y + slab / 2) as isize, (2 * x + slab % 2) as isize)
                                as usize,
                            len,
                            src_step: small.channels,
                            dst_step: 2 * large.channels,
                            taps: 0,
                        },
                        vec![Tap { src: 0, slab }],
                    );
                }
            }
        }
        plan
    }

    /// The gradient of [`RunPlan::up_convolution`]: each small pixel reads its four large ones.
    pub fn up_convolution_gradient(large: MapSize, small: MapSize) -> Self {
        let mut plan = Self::empty(small.width < LONG_ROW);
        let taps: Vec<Tap> = (0..4)
            .map(|slab| Tap {
                src: large.at(slab as isize / 2, slab as isize % 2),
                slab,
            })
            .collect();
        for y in 0..small.height {
            for (x, len) in plan.segments(small.width) {
                plan.push(
                    Run {
                        src: large.at(2 * y as isize, 2 * x as isize),
                        dst: small.at(y as isize, x as isize) as usize,
                        len,
                        src_step: 2 * large.channels,
                        dst_step: small.channels,
                        taps: 0,
                    },
                    taps.clone(),
                );
            }
        }
        plan
    }

    fn empty(along_samples: bool) -> Self {
        Self {
            runs: Vec::new(),
            tap_sets: Vec::new(),
            along_samples,
        }
    }

    /// A row as one run, or pixel by pixel where runs go along samples.
    fn segments(&self, width: usize) -> Vec<(usize, usize)> {
        if self.along_samples {
            (0..width).map(|x| (x, 1)).collect()
        } else {
            vec![(0, width)]
        }
    }

    fn push(&mut self, run: Run, taps: Vec<Tap>) {
        let known = self.tap_sets.iter().position(|set| *set == taps);
        let index = known.unwrap_or_else(|| {
            self.tap_sets.push(taps);
            self.tap_sets.len() - 1
        });
        self.runs.push(Run { taps: index, ..run });
    }

    /// Every run of a block of samples with its taps, as plain data: closures would not be compiled for the kernel's
    /// instruction set.
    pub fn over(&self, samples: usize, src_sample: usize, dst_sample: usize) -> Runs<'_> {
        Runs {
            plan: self,
            samples,
            src_sample,
            dst_sample,
            run: 0,
            sample: 0,
        }
    }
}

/// See [`RunPlan::over`].
pub(crate) struct Runs<'a> {
    plan: &'a RunPlan,
    samples: usize,
    src_sample: usize,
    dst_sample: usize,
    run: usize,
    sample: usize,
}

impl<'a> Iterator for Runs<'a> {
    type Item = (Run, &'a [Tap]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.samples == 0 {
            return None;
        }
        let mut run = self.plan.runs.get(self.run)?.clone();
        let taps = &self.plan.tap_sets[run.taps];
        if self.plan.along_samples {
            run.len = self.samples;
            run.src_step = self.src_sample;
            run.dst_step = self.dst_sample;
            self.run += 1;
        } else {
            run.src += (self.sample * self.src_sample) as isize;
            run.dst += self.sample * self.dst_sample;
            // Row after row of one sample keeps its rows in cache.
            self.run += 1;
            if self.run == self.plan.runs.len() && self.sample + 1 < self.samples {
                self.run = 0;
                self.sample += 1;
            }
        }
        Some((run, taps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(height: usize, width: usize) -> MapSize {
        MapSize {
            height,
            width,
            channels: 8,
        }
    }

    #[test]
    fn every_output_pixel_is_visited_once() {
        for (src, dst, frame) in [
            (size(9, 12), size(9, 12), 1),
            (size(9, 12), size(7, 10), 0),
            (size(7, 10), size(9, 12), 2),
            (size(1, 1), size(1, 1), 1),
            (size(2, 2), size(2, 2), 1),
        ] {
            let plan = RunPlan::convolution(src, dst, 3, frame, false);
            let mut visits = vec![0; 3 * dst.len() / 8];
            for (run, _) in plan.over(3, src.len(), dst.len()) {
                for index in 0..run.len {
                    visits[(run.dst + index * run.dst_step) / 8] += 1;
                }
            }
            assert!(visits.iter().all(|&count| count == 1));
        }
    }

    #[test]
    fn a_single_pixel_meets_the_centre_tap_only() {
        let plan = RunPlan::convolution(size(1, 1), size(1, 1), 3, 1, false);
        assert_eq!(plan.tap_sets, [[Tap { src: 0, slab: 4 }]]);
    }
}
