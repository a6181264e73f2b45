//! Settings of the exploration.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::settings::{Bounds, LENGTH_PX, WEIGHT, within};

/// Limits of the settings.
const MAX_LOSSES: usize = 1 << 20;
const MAX_SETS: usize = 64;
const MAX_EXCHANGES: usize = 1000;

/// How keypoints are explored; nothing is by default, as in the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExplorationConfig {
    /// When the detector starts to learn.
    pub release: ReleaseConfig,
    /// How soon it must get somewhere.
    pub take_off: TakeOffConfig,
    /// Places beside `E_K(H(I))`.
    pub pool: PoolConfig,
    /// Which of them replace keypoints.
    pub exchanges: ExchangeConfig,
    /// What keeps objects in the middle of their boxes.
    pub centring: CentringConfig,
    /// When the detector has learned.
    pub settle: SettleConfig,
}

/// A detector that is frozen, and keypoints that are not explored, until the task loss falls.
///
/// A detector that learns beside an ignorant task network learns its own maxima. Schedules of both optimisers count
/// their steps from the release.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReleaseConfig {
    /// Steps at the beginning whose mean task loss is the plateau; 0 releases the detector at once.
    pub plateau_steps: usize,
    /// Newest steps whose mean task loss is compared with it.
    pub recent_steps: usize,
    /// The detector is released when their mean falls below this share of the plateau.
    pub below_frac: f32,
    /// Factor on the task network's learning rate until then.
    pub task_rate_frac: f32,
    /// Steps after which networks that have not got there are replaced by others with random weights; 0 keeps them. The
    /// maxima of a random detector may happen to avoid objects.
    pub patience_steps: u64,
}

/// Places between objects, from which parts of several are read, explain counts too, and a search that ends there stays for long.
/// Where the task loss does not fall on soon after the release, both networks start anew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TakeOffConfig {
    /// Share of the plateau below which the mean task loss of the newest steps must fall.
    pub below_frac: f32,
    /// Steps since the release after which networks that have not got there are replaced by others with random weights; 0
    /// keeps them.
    pub patience_steps: u64,
}

/// The places that the task network votes on, beside `E_K(H(I))`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PoolConfig {
    /// Times K places drawn at random from the heatmap.
    pub drawn_sets: usize,
    /// Share of the draws that is uniform over the image.
    pub uniform_frac: f32,
    /// Copies of every keypoint, moved by a Gaussian; every second one mirrors the one before.
    pub moved_sets: usize,
    /// Standard deviation of the moves along each axis at the release.
    pub moved_px: f32,
    /// And when the detector settles; linear between.
    pub final_moved_px: f32,
}

/// Exchanges of one keypoint for one place of the pool, the one that lowers the image's loss most first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExchangeConfig {
    /// The most in one image and step; 0 makes none.
    pub limit: usize,
    /// Least distance of a place from the other keypoints.
    pub min_distance_px: f32,
    /// By how much the loss must fall.
    pub margin: f32,
    /// The same for a moved copy of the keypoint that it replaces.
    pub moved_margin: f32,
}

/// What keeps objects in the middle of their boxes: a classifier reads some of them off-centre just as well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CentringConfig {
    /// Shift of the patches' jitter from the release on; 0 leaves it at `jitter.shift_px`.
    pub jitter_px: f32,
    /// And when the detector settles; linear between.
    pub final_jitter_px: f32,
}

/// The end of the search. The detector takes its averaged weights and rests; nothing is explored any more, and the task
/// network learns on at `E_K(H(I))` with the usual jitter.
///
/// A task network that reads better and better keeps pulling boxes towards what tells a class; a detector at rest cannot
/// follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SettleConfig {
    /// Share of the steps since the release in which the detector learns; 1 lets it learn to the end. Its schedule and
    /// those of the exploration end there.
    pub from_frac: f32,
}

impl Default for SettleConfig {
    fn default() -> Self {
        Self { from_frac: 1.0 }
    }
}

impl Default for ReleaseConfig {
    fn default() -> Self {
        Self {
            plateau_steps: 0,
            recent_steps: 25,
            below_frac: 0.8,
            task_rate_frac: 1.0,
            patience_steps: 0,
        }
    }
}

impl Default for TakeOffConfig {
    fn default() -> Self {
        Self {
            below_frac: 0.5,
            patience_steps: 0,
        }
    }
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            drawn_sets: 0,
            uniform_frac: 0.1,
            moved_sets: 0,
            moved_px: 3.0,
            final_moved_px: 1.0,
        }
    }
}

impl Default for ExchangeConfig {
    fn default() -> Self {
        Self {
            limit: 0,
            min_distance_px: 8.0,
            margin: 0.02,
            moved_margin: 0.0,
        }
    }
}

impl Default for CentringConfig {
    fn default() -> Self {
        Self {
            jitter_px: 0.0,
            final_jitter_px: 1.3,
        }
    }
}

impl ExplorationConfig {
    /// Whether the task network votes on places at all.
    pub fn searches(&self) -> bool {
        self.exchanges.limit > 0
    }

    /// Refuses impossible settings.
    ///
    /// # Errors
    /// When a number is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        let (release, pool) = (&self.release, &self.pool);
        let (exchanges, centring) = (&self.exchanges, &self.centring);
        let settle = &self.settle;
        let px = |name, value| (name, value, LENGTH_PX);
        let share = |name, value| (name, value, 0.0..=1.0);
        let weight = |name, value| (name, value, WEIGHT);
        within([
            weight("exploration.release.below_frac", release.below_frac),
            weight("exploration.release.task_rate_frac", release.task_rate_frac),
            weight("exploration.take_off.below_frac", self.take_off.below_frac),
            share("exploration.pool.uniform_frac", pool.uniform_frac),
            share("exploration.settle.from_frac", settle.from_frac),
            px("exploration.pool.moved_px", pool.moved_px),
            px("exploration.pool.final_moved_px", pool.final_moved_px),
            px(
                "exploration.exchanges.min_distance_px",
                exchanges.min_distance_px,
            ),
            weight("exploration.exchanges.margin", exchanges.margin),
            weight("exploration.exchanges.moved_margin", exchanges.moved_margin),
            px("exploration.centring.jitter_px", centring.jitter_px),
            px(
                "exploration.centring.final_jitter_px",
                centring.final_jitter_px,
            ),
        ])?;
        let steps = |name, least| Bounds::new(name, least, MAX_LOSSES);
        steps("exploration.release.plateau_steps", 0).check(release.plateau_steps)?;
        steps("exploration.release.recent_steps", 1).check(release.recent_steps)?;
        let sets = |name| Bounds::new(name, 0, MAX_SETS);
        sets("exploration.pool.drawn_sets").check(pool.drawn_sets)?;
        sets("exploration.pool.moved_sets").check(pool.moved_sets)?;
        Bounds::new("exploration.exchanges.limit", 0, MAX_EXCHANGES).check(exchanges.limit)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_explored_unless_asked_for_and_impossible_settings_are_refused() {
        let off = ExplorationConfig::default();
        assert!(!off.searches() && off.check().is_ok());
        let error = |change: fn(&mut ExplorationConfig)| {
            let mut config = off;
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let message = error(|config| config.exchanges.margin = f32::NAN);
        assert!(message.contains("exchanges.margin"), "{message}");
        let message = error(|config| config.pool.uniform_frac = 1.5);
        assert!(message.contains("from 0 to 1"), "{message}");
        let message = error(|config| config.centring.jitter_px = -1.0);
        assert!(message.contains("from 0 to"), "{message}");
        error(|config| config.release.recent_steps = 0);
        error(|config| config.pool.moved_sets = usize::MAX);
    }
}
