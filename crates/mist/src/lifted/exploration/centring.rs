//! What keeps objects in the middle of their boxes.

use super::{CentringConfig, Moment};
use crate::lifted::JitterConfig;

impl CentringConfig {
    /// The jitter of a step: wider while the detector learns, the usual one before and after.
    pub(in crate::lifted) fn jitter(&self, usual: JitterConfig, moment: Moment) -> JitterConfig {
        if self.jitter_px == 0.0 || moment.released_at.is_none() || moment.is_settled() {
            return usual;
        }
        JitterConfig {
            shift_px: moment.between(self.jitter_px, self.final_jitter_px),
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Progress;

    #[test]
    fn jitter_is_wide_from_the_release_on_and_shrinks() {
        let centring = CentringConfig {
            jitter_px: 4.0,
            final_jitter_px: 1.0,
        };
        let usual = JitterConfig {
            shift_px: 0.5,
            ..JitterConfig::default()
        };
        let shift = |centring: CentringConfig, step, released_at| {
            let moment = Moment {
                seed: 1,
                progress: Progress { step, steps: 92 },
                released_at,
                search_frac: 0.5,
            };
            centring.jitter(usual, moment).shift_px
        };
        assert_eq!(shift(centring, 20, None), 0.5);
        assert_eq!(shift(centring, 20, Some(20)), 4.0);
        assert_eq!(shift(centring, 38, Some(20)), 2.5);
        assert_eq!(shift(centring, 56, Some(20)), 0.5);
        assert_eq!(shift(CentringConfig::default(), 35, Some(20)), 0.5);
    }
}
