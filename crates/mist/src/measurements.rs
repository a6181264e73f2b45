//! Named numbers: losses of a step, metrics of a test set.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// An open list of named values, in the order in which they were added.
///
/// What logs, curves and tables hold: a new measurement needs no change in any of them.
///
/// ```
/// use mist::measurements::Measurements;
///
/// let losses = Measurements::new().with("task_loss", 0.5).with("heatmap_loss", 0.25);
/// assert_eq!(losses.get("heatmap_loss"), Some(0.25));
/// assert_eq!(serde_json::to_string(&losses).unwrap(), r#"{"task_loss":0.5,"heatmap_loss":0.25}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements<T = f64>(Vec<(Cow<'static, str>, T)>);

impl<T> Default for Measurements<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Measurements<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list with one more value.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: T) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds a value, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: T) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// The names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Copy> Measurements<T> {
    /// The value of a name, if there is one.
    pub fn get(&self, name: &str) -> Option<T> {
        let found = self.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }
}

impl Measurements {
    /// The first value that is NaN or infinite, with its name.
    pub fn non_finite(&self) -> Option<(&str, f64)> {
        let mut values = self.iter().map(|(name, value)| (name, *value));
        values.find(|(_, value)| !value.is_finite())
    }
}

impl<T, N: Into<Cow<'static, str>>> FromIterator<(N, T)> for Measurements<T> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(values: I) -> Self {
        let mut measurements = Self::new();
        for (name, value) in values {
            measurements.insert(name, value);
        }
        measurements
    }
}

impl<T: Serialize> Serialize for Measurements<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Measurements<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MeasurementsVisitor(PhantomData))
    }
}

struct MeasurementsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MeasurementsVisitor<T> {
    type Value = Measurements<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of measurements")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut measurements = Measurements::new();
        while let Some((name, value)) = map.next_entry::<String, T>()? {
            measurements.insert(name, value);
        }
        Ok(measurements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_the_last_of_a_name_wins() {
        let mut measured = Measurements::new().with("b", 1.0).with("a", 2.0);
        measured.insert("b", 3.0);
        let text = serde_json::to_string(&measured).unwrap();
        assert_eq!(text, r#"{"b":3.0,"a":2.0}"#);
        assert_eq!(
            serde_json::from_str::<Measurements>(&text).unwrap(),
            measured
        );
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let measured = Measurements::new().with("a", 1.0).with("b", f64::NAN);
        assert_eq!(measured.non_finite().unwrap().0, "b");
        assert!(Measurements::new().with("a", 0.0).non_finite().is_none());
    }
}
