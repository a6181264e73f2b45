//! Axes: what they span and where their ticks stand.

/// Beyond this power of ten, and below its inverse on a logarithmic axis, numbers lack the range for
/// distances and ticks.
const LARGEST_DECADE: i32 = 300;

/// Below this, the distance of two numbers has too few digits to be divided.
const SMALLEST_SPAN: f64 = 1e-200;

/// Room between the outermost points and the frame, as a share of what the points span.
const MARGIN_FRAC: f64 = 0.04;

/// About as many intervals as a linear axis has.
const INTERVALS: f64 = 6.0;

/// A logarithmic axis of fewer decades than this has ticks within them.
const FEW_DECADES: f64 = 3.0;

/// A logarithmic axis of more decades than this leaves some without ticks.
const MANY_DECADES: i32 = 7;

/// The place of a value along an axis, before scaling; none for values that an axis cannot show.
pub(super) fn place(value: f64, log: bool) -> Option<f64> {
    let (place, limit) = match log {
        true => (value.log10(), f64::from(LARGEST_DECADE)),
        false => (value, 10_f64.powi(LARGEST_DECADE)),
    };
    (place.abs() <= limit).then_some(place)
}

/// An axis: the places at its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    log: bool,
    low: f64,
    high: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Between 0 and 1, the axis' ends.
    pub share: f64,
    pub label: String,
}

impl Axis {
    /// An axis with room around the places; of any extent above zero where they have none.
    pub fn around(places: impl Iterator<Item = f64>, log: bool) -> Self {
        let ends = places.fold(None, |ends, place| match ends {
            None => Some((place, place)),
            Some((low, high)) => Some((place.min(low), place.max(high))),
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        let size = low.abs().max(high.abs());
        let margin = match high - low {
            span if span > (size * 1e-9).max(SMALLEST_SPAN) => span * MARGIN_FRAC,
            _ if log || size <= SMALLEST_SPAN => 0.5,
            _ => size * 0.1,
        };
        Self {
            log,
            low: low - margin,
            high: high + margin,
        }
    }

    /// Where a place stands between the ends, 0 and 1.
    pub fn share(&self, place: f64) -> f64 {
        (place - self.low) / (self.high - self.low)
    }

    /// Round numbers, from low to high.
    pub fn ticks(&self) -> Vec<Tick> {
        let values = if self.log {
            self.log_values()
        } else {
            linear_values(self.low, self.high)
        };
        let tick = |(value, label)| {
            let share = self.share(place(value, self.log)?);
            (0.0..=1.0)
                .contains(&share)
                .then_some(Tick { share, label })
        };
        values.into_iter().filter_map(tick).collect()
    }

    fn log_values(&self) -> Vec<(f64, String)> {
        if self.high - self.low >= FEW_DECADES {
            let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
            let stride = (last - first) / MANY_DECADES + 1;
            let decades = (first..=last).filter(|decade| decade % stride == 0);
            return decades.map(|decade| decimal(1, decade)).collect();
        }
        let (first, last) = (self.low.floor() as i32, self.high.floor() as i32);
        let steps = (first..=last).flat_map(|decade| [1, 2, 5].map(|digit| decimal(digit, decade)));
        let steps: Vec<_> = steps
            .filter(|(value, _)| (self.low..=self.high).contains(&value.log10()))
            .collect();
        if steps.len() >= 3 {
            return steps;
        }
        linear_values(10_f64.powf(self.low), 10_f64.powf(self.high))
    }
}

/// A digit and zeros, as a number and as text.
fn decimal(digit: u32, exponent: i32) -> (f64, String) {
    let value = f64::from(digit) * 10_f64.powi(exponent);
    let label = match exponent {
        0..=3 => format!("{value}"),
        4..=5 => format!("{}k", value / 1e3),
        6..=8 => format!("{}M", value / 1e6),
        -3..0 => format!("{value:.*}", exponent.unsigned_abs() as usize),
        _ => format!("{digit}e{exponent}"),
    };
    (value, label)
}

/// Multiples of one, two or five times a power of ten.
fn linear_values(low: f64, high: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / INTERVALS;
    if !rough.is_normal() || rough < 0.0 {
        return Vec::new();
    }
    let magnitude = 10_f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * magnitude >= rough);
    let step = factor.unwrap_or(10.0) * magnitude;
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).clamp(0.0, 2.0 * INTERVALS) as u32;
    let largest = low.abs().max(high.abs());
    let value = |index: u32| (first + f64::from(index)) * step;
    let values = (0..=count).map(value);
    values
        .map(|value| (value, label(value, step, largest)))
        .collect()
}

/// As many digits as tell neighbours apart; thousands and millions by their letters.
fn label(value: f64, step: f64, largest: f64) -> String {
    let exponent = |value: f64| (value.abs().log10() + 1e-9).floor() as i32;
    if value == 0.0 {
        return "0".to_owned();
    }
    if largest >= 1e12 || step < 1e-4 {
        let digits = (exponent(value) - exponent(step)).clamp(0, 15) as usize;
        return format!("{value:.digits$e}");
    }
    let (unit, letter) = match largest {
        1e9.. => (9, "G"),
        1e6.. => (6, "M"),
        1e4.. => (3, "k"),
        _ => (0, ""),
    };
    let digits = (unit - exponent(step)).max(0) as usize;
    format!("{:.digits$}{letter}", value / 10_f64.powi(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], log: bool) -> Vec<String> {
        let places = values.iter().filter_map(|&value| place(value, log));
        let ticks = Axis::around(places, log).ticks();
        assert!(ticks.is_sorted_by(|left, right| left.share < right.share));
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(
            labels(&[0.0, 1.0], false),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels(&[-3.0, 3.0], false), ["-2", "0", "2"]);
        assert_eq!(
            labels(&[0.0, 40_000.0], false),
            ["0", "10k", "20k", "30k", "40k"]
        );
        assert_eq!(
            labels(&[1e-5, 3e-5], false),
            ["1.0e-5", "1.5e-5", "2.0e-5", "2.5e-5", "3.0e-5"]
        );
    }

    #[test]
    fn log_ticks_are_decades_or_parts_of_them() {
        assert_eq!(
            labels(&[1e-4, 100.0], true),
            ["1e-4", "0.001", "0.01", "0.1", "1", "10", "100"]
        );
        assert_eq!(
            labels(&[0.9, 130.0], true),
            ["1", "2", "5", "10", "20", "50", "100"]
        );
        assert_eq!(labels(&[1e-10, 1e10], true).len(), 7);
        assert_eq!(
            labels(&[3e3, 1e6], true),
            ["5000", "10k", "20k", "50k", "100k", "200k", "500k", "1M"]
        );
        assert_eq!(labels(&[3.1, 3.4], true), ["3.1", "3.2", "3.3", "3.4"]);
    }

    #[test]
    fn every_axis_has_an_extent() {
        let tiny = f64::from_bits(1);
        let extremes = [
            -f64::MAX,
            -1e300,
            -1.0,
            -tiny,
            0.0,
            tiny,
            1e-310,
            1.0,
            1.0 + 1e-15,
            1e300,
            f64::MAX,
        ];
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for log in [false, true] {
            for &left in extremes.iter().chain(&odd) {
                for &right in extremes.iter().chain(&odd) {
                    let places = [left, right]
                        .into_iter()
                        .filter_map(|value| place(value, log));
                    let axis = Axis::around(places.clone(), log);
                    assert!(
                        places
                            .map(|place| axis.share(place))
                            .all(|share| (0.0..=1.0).contains(&share))
                    );
                    assert!(
                        (1..=20).contains(&axis.ticks().len()),
                        "{left} to {right}, log: {log}"
                    );
                }
            }
        }
    }
}
