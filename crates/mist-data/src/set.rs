//! Scene sets: scenes by index.

use std::ops::Range;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::digit_scene;
use crate::error::{RequestError, Result};
use crate::gabor::GaborNoise;
use crate::glyphs;
use crate::kind::SceneKind;
use crate::layout::{BASE_BOX_PX, Layout};
use crate::mnist::Digits;
use crate::random::SceneRng;
use crate::scene::Scene;
use crate::split::Split;

/// An endless set of scenes, each a pure function of kind, seed, split and index.
#[derive(Debug, Clone)]
pub struct SceneSet {
    kind: SceneKind,
    seed: u64,
    split: Split,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Digits { layout: Layout, digits: Arc<Digits> },
    Glyphs { layout: Layout },
    Gabor(GaborNoise),
}

/// How many instances a scene has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InstanceCount {
    /// Uniform from `fewest` to `most`, both included.
    Uniform {
        /// At least so many.
        fewest: usize,
        /// At most so many.
        most: usize,
    },
    /// Poisson with this mean, but at least one.
    Poisson {
        /// The mean.
        mean: f64,
    },
}

impl SceneSet {
    /// A set of the given kind; the kinds drawn with MNIST need the digits.
    pub fn new(
        kind: SceneKind,
        seed: u64,
        split: Split,
        digits: Option<Arc<Digits>>,
    ) -> Result<Self> {
        let gabor = |mean_impulses| Source::Gabor(GaborNoise::with_mean_impulses(mean_impulses));
        let digit_scenes = |layout| match digits {
            Some(digits) => Ok(Source::Digits { layout, digits }),
            None => Err(RequestError::DigitsNeeded(kind)),
        };
        let source = match kind {
            SceneKind::Glyphs => Source::Glyphs {
                layout: Layout::disks(9..=9, 20),
            },
            SceneKind::Easy => digit_scenes(Layout::easy())?,
            SceneKind::Hard | SceneKind::K9 => digit_scenes(Layout::disks(9..=9, 20))?,
            SceneKind::Crowded => digit_scenes(Layout::disks(9..=9, 16))?,
            SceneKind::Three => digit_scenes(Layout::disks(3..=3, 20))?,
            SceneKind::K6to9 => digit_scenes(Layout::disks(6..=9, 20))?,
            SceneKind::K3to9 => digit_scenes(Layout::disks(3..=9, 20))?,
            SceneKind::Easy0to9 => digit_scenes(Layout::easy_with(0..=9))?,
            SceneKind::Hard0to9 => digit_scenes(Layout::disks(0..=9, 20))?,
            SceneKind::Upto2 => digit_scenes(Layout::upto2())?,
            SceneKind::Cluttered => digit_scenes(Layout::cluttered())?,
            SceneKind::Textured => digit_scenes(Layout::textured())?,
            SceneKind::Uneven => digit_scenes(Layout::uneven())?,
            SceneKind::Scale => digit_scenes(Layout::scale_study())?,
            SceneKind::Gabor => gabor(16.0),
            SceneKind::Gabor64 => gabor(64.0),
            SceneKind::Gabor256 => gabor(256.0),
        };
        Ok(Self {
            kind,
            seed,
            split,
            source,
        })
    }

    /// A set of Gabor noise with other parameters than the named kinds have.
    pub fn with_noise(noise: GaborNoise, seed: u64, split: Split) -> Result<Self> {
        Ok(Self {
            kind: SceneKind::Gabor,
            seed,
            split,
            source: Source::Gabor(noise.validated()?),
        })
    }

    /// The scene at an index: the same on each call, each machine and each thread.
    pub fn scene(&self, index: u64) -> Scene {
        let mut rng = SceneRng::new(self.kind.name(), self.seed, self.split, index);
        match &self.source {
            Source::Digits { layout, digits } => {
                digit_scene::draw(layout, digits, self.split, &mut rng)
            }
            Source::Glyphs { layout } => glyphs::draw(layout, &mut rng),
            Source::Gabor(noise) => noise.draw(&mut rng),
        }
    }

    /// The family the scenes belong to.
    pub fn kind(&self) -> SceneKind {
        self.kind
    }

    /// The seed all scenes depend on.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The share of the data the scenes are drawn from.
    pub fn split(&self) -> Split {
        self.split
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.class_names().len()
    }

    /// What the classes are called, by label.
    pub fn class_names(&self) -> &'static [&'static str] {
        self.kind.class_names()
    }

    /// Side of the square canvas.
    pub fn canvas_px(&self) -> usize {
        match &self.source {
            Source::Digits { layout, .. } | Source::Glyphs { layout } => layout.canvas_px as usize,
            Source::Gabor(noise) => noise.canvas_px,
        }
    }

    /// Side of an instance's box at scale 1.
    pub fn base_box_px(&self) -> f32 {
        match &self.source {
            Source::Digits { .. } | Source::Glyphs { .. } => BASE_BOX_PX as f32,
            Source::Gabor(noise) => (2.0 * noise.kernel_radius_px()) as f32,
        }
    }

    /// The noise behind Gabor scenes.
    pub fn noise(&self) -> Option<&GaborNoise> {
        match &self.source {
            Source::Digits { .. } | Source::Glyphs { .. } => None,
            Source::Gabor(noise) => Some(noise),
        }
    }

    /// How many instances scenes have.
    pub fn instance_count(&self) -> InstanceCount {
        match &self.source {
            Source::Digits { layout, .. } | Source::Glyphs { layout } => InstanceCount::Uniform {
                fewest: *layout.counts.start(),
                most: *layout.counts.end(),
            },
            Source::Gabor(noise) => InstanceCount::Poisson {
                mean: noise.mean_impulses,
            },
        }
    }
}

/// Draws the scenes of a range on all threads, in order.
pub fn render_range(set: &SceneSet, range: Range<u64>) -> Vec<Scene> {
    range
        .into_par_iter()
        .map(|index| set.scene(index))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mnist::synthetic;

    fn sets() -> impl Iterator<Item = SceneSet> {
        let digits = Arc::new(synthetic());
        SceneKind::ALL
            .into_iter()
            .map(move |kind| SceneSet::new(kind, 5, Split::Valid, Some(digits.clone())).unwrap())
    }

    #[test]
    fn scenes_keep_their_promises() {
        for set in sets() {
            let kind = set.kind();
            let canvas_px = set.canvas_px() as f32;
            let mut counts = BTreeSet::new();
            for index in 0..200 {
                let scene = set.scene(index);
                counts.insert(scene.instances.len());
                assert_eq!(scene.image.pixels.len(), set.canvas_px().pow(2));
                assert!(
                    scene
                        .image
                        .pixels
                        .iter()
                        .all(|value| (0.0..=1.0).contains(value))
                );
                assert_eq!(
                    scene.class_counts(set.classes()).iter().sum::<usize>(),
                    scene.instances.len()
                );
                for instance in &scene.instances {
                    let bounds = instance.bounds;
                    let side_px = set.base_box_px() * instance.scale;
                    assert!((bounds.width_px() - side_px).abs() < 1e-4);
                    assert!((0.7..=1.4143).contains(&instance.scale));
                    let whole = matches!(set.instance_count(), InstanceCount::Uniform { .. });
                    if whole {
                        assert!(bounds.x_min_px >= 0.0 && bounds.y_min_px >= 0.0, "{kind}");
                        assert!(bounds.x_max_px <= canvas_px, "{kind}");
                        assert!(bounds.y_max_px <= canvas_px, "{kind}");
                    }
                }
            }
            if let InstanceCount::Uniform { fewest, most } = set.instance_count() {
                assert!(counts.into_iter().eq(fewest..=most), "{kind}");
            }
        }
    }

    #[test]
    fn easy_scenes_are_sorted_without_repeats() {
        let digits = Some(Arc::new(synthetic()));
        let set = SceneSet::new(SceneKind::Easy, 1, Split::Train, digits).unwrap();
        let mut left_out = BTreeSet::new();
        for index in 0..200 {
            let labels: Vec<usize> = set.scene(index).instances.iter().map(|i| i.label).collect();
            assert!(labels.is_sorted_by(|a, b| a < b), "{labels:?}");
            left_out.extend((0..10).find(|label| !labels.contains(label)));
        }
        assert_eq!(left_out.len(), 10);
    }

    #[test]
    fn digit_kinds_without_digits_are_refused() {
        for kind in SceneKind::ALL {
            let set = SceneSet::new(kind, 1, Split::Train, None);
            assert_eq!(set.is_err(), kind.needs_digits(), "{kind}");
        }
    }

    #[test]
    fn order_and_threads_do_not_matter() {
        for set in sets() {
            let forwards: Vec<Scene> = (0..6).map(|index| set.scene(index)).collect();
            let mut backwards: Vec<Scene> = (0..6).rev().map(|index| set.scene(index)).collect();
            backwards.reverse();
            assert_eq!(forwards, backwards);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                assert_eq!(pool.install(|| render_range(&set, 0..6)), forwards);
            }
        }
    }
}
