//! Where in a training a step is.

use rand_chacha::ChaCha8Rng;

use crate::training::{Progress, TrainedModel, random_of_image};

/// What a step's random numbers and schedules depend on.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Decides everything that is drawn at random.
    pub seed: u64,
    /// Steps done, and in all.
    pub progress: Progress,
    /// The step from which the detector learns; `None` while it waits for evidence.
    pub released_at: Option<u64>,
    /// Share of the steps since then in which it learns; afterwards it rests.
    pub search_frac: f32,
}

impl Moment {
    /// Steps since the release, as schedules count them. Until then nothing decays: nobody knows how long it takes.
    pub(in crate::lifted) fn since_release(&self) -> Progress {
        let Progress { step, steps } = self.progress;
        match self.released_at {
            Some(released) => Progress {
                step: step.saturating_sub(released),
                steps: steps.saturating_sub(released),
            },
            None => Progress {
                step,
                steps: u64::MAX,
            },
        }
    }

    /// The same, of the steps in which the detector learns.
    pub(in crate::lifted) fn of_search(&self) -> Progress {
        let Progress { step, steps } = self.since_release();
        if self.released_at.is_none() || self.search_frac >= 1.0 {
            return Progress { step, steps };
        }
        let steps = (steps as f64 * f64::from(self.search_frac)) as u64;
        Progress { step, steps }
    }

    /// Whether the detector has learned and rests from now on.
    pub(in crate::lifted) fn is_settled(&self) -> bool {
        let Progress { step, steps } = self.of_search();
        self.search_frac < 1.0 && step >= steps
    }

    /// Whether the detector does not move: it waits for evidence or for its schedule, or rests.
    pub(in crate::lifted) fn freezes_detector(&self, trained: &TrainedModel) -> bool {
        self.released_at.is_none()
            || self.is_settled()
            || trained.detector_is_frozen(self.of_search())
    }

    /// From `first` at the release to `last` when the detector settles, or at the end of the training.
    pub(super) fn between(&self, first: f32, last: f32) -> f32 {
        let Progress { step, steps } = self.of_search();
        let done = (step as f32 / steps.max(1) as f32).min(1.0);
        first + (last - first) * done
    }

    /// Random numbers of an image of the step; jitter counts its streams from the other end.
    pub(super) fn random(&self, image: usize) -> ChaCha8Rng {
        random_of_image(self.seed, !self.progress.step, image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(step: u64, released_at: Option<u64>) -> Moment {
        Moment {
            seed: 1,
            progress: Progress { step, steps: 100 },
            released_at,
            search_frac: 1.0,
        }
    }

    #[test]
    fn the_detector_settles_after_its_share_of_the_steps() {
        let settling = |step, released_at| Moment {
            search_frac: 0.5,
            ..moment(step, released_at)
        };
        let is_settled = |step, released_at| settling(step, released_at).is_settled();
        assert!(!is_settled(59, Some(20)) && is_settled(60, Some(20)));
        assert!(!is_settled(99, None) && !moment(99, Some(0)).is_settled());
        assert_eq!(settling(40, Some(20)).between(3.0, 1.0), 2.0);
        assert_eq!(settling(80, Some(20)).between(3.0, 1.0), 1.0);
        assert_eq!(settling(80, Some(20)).since_release().steps, 80);
    }

    #[test]
    fn schedules_count_from_the_release() {
        let released = moment(60, Some(20));
        assert_eq!(
            released.since_release(),
            Progress {
                step: 40,
                steps: 80
            }
        );
        assert_eq!(released.between(3.0, 1.0), 2.0);
        assert_eq!(moment(60, Some(0)).since_release(), released.progress);
        assert_eq!(moment(60, None).between(3.0, 1.0), 3.0);
    }
}
