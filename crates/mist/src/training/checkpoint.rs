//! The state of a training as bytes, for resuming to the bit.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Metadata key of the [`Counters`] as JSON; the only one, since the format does not order its keys.
const COUNTERS: &str = "counters";

/// Everything that a learner's next step depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnerState {
    /// The networks, in a fixed order.
    pub networks: Vec<NetworkState>,
    /// What the method remembers beside them; null where there is nothing.
    pub memory: serde_json::Value,
}

/// A network, its optimiser and the average of its weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkState {
    /// The name.
    pub name: String,
    /// Steps that the optimiser has taken.
    pub optimiser_steps: u32,
    /// Flat vectors by name, such as `parameters`.
    pub vectors: BTreeMap<String, Vec<f32>>,
}

/// Steps taken, by the training and by each optimiser, and what a learner remembers beside its networks.
#[derive(Serialize, Deserialize)]
struct Counters {
    step: u64,
    /// As [`LearnerState::memory`].
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    memory: serde_json::Value,
    #[serde(flatten)]
    optimisers: BTreeMap<String, u32>,
}

impl NetworkState {
    /// Takes a vector out.
    ///
    /// # Errors
    /// When it is missing or of another length.
    pub fn take(&mut self, name: &str, length: usize) -> Result<Vec<f32>, Error> {
        let full_name = || format!("{}.{name}", self.name);
        let Some(values) = self.vectors.remove(name) else {
            return Err(Error::MissingTensor { name: full_name() });
        };
        if values.len() != length {
            return Err(Error::TensorShape {
                name: full_name(),
                expected: vec![length],
                actual: vec![values.len()],
            });
        }
        Ok(values)
    }
}

impl LearnerState {
    /// Takes a network out.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn take(&mut self, name: &str) -> Result<NetworkState, Error> {
        let place = self.networks.iter().position(|state| state.name == name);
        let Some(place) = place else {
            return Err(missing(name));
        };
        Ok(self.networks.swap_remove(place))
    }

    /// The first vector with a value that is NaN or infinite.
    pub fn non_finite(&self) -> Option<String> {
        self.networks.iter().find_map(|network| {
            let mut vectors = network.vectors.iter();
            let (name, _) = vectors.find(|(_, values)| !values.iter().all(|v| v.is_finite()))?;
            Some(format!("{}.{name}", network.name))
        })
    }

    /// The state after `step` steps, as safetensors.
    ///
    /// # Errors
    /// When it cannot be serialised.
    pub fn to_bytes(&self, step: u64) -> Result<Vec<u8>, Error> {
        let optimisers = self.networks.iter();
        let optimisers = optimisers.map(|state| (state.name.clone(), state.optimiser_steps));
        let counters = Counters {
            step,
            memory: self.memory.clone(),
            optimisers: optimisers.collect(),
        };
        let metadata = HashMap::from([(COUNTERS.to_owned(), json(&counters)?)]);
        let mut tensors: Vec<(String, Vec<u8>)> = Vec::new();
        for network in &self.networks {
            for (name, values) in &network.vectors {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes());
                tensors.push((format!("{}.{name}", network.name), bytes.collect()));
            }
        }
        let views = tensors
            .iter()
            .map(|(name, bytes)| {
                let shape = vec![bytes.len() / 4];
                Ok((name, TensorView::new(Dtype::F32, shape, bytes)?))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(safetensors::serialize(views, Some(metadata))?)
    }

    /// Reads what [`LearnerState::to_bytes`] wrote, and the step.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, u64), Error> {
        let (_, header) = SafeTensors::read_metadata(bytes)?;
        let file = SafeTensors::deserialize(bytes)?;
        let metadata = header.metadata().as_ref();
        let entry = |key: &str| metadata.and_then(|entries| entries.get(key));
        let counters = entry(COUNTERS).ok_or_else(|| missing(COUNTERS))?;
        let counters: Counters = parsed(COUNTERS, counters)?;
        let mut networks: Vec<NetworkState> = counters
            .optimisers
            .into_iter()
            .map(|(name, optimiser_steps)| NetworkState {
                name,
                optimiser_steps,
                vectors: BTreeMap::new(),
            })
            .collect();
        for (name, view) in file.tensors() {
            let owner = networks.iter_mut().find_map(|state| {
                let vector = name.strip_prefix(&state.name)?.strip_prefix('.')?;
                Some((state, vector.to_owned()))
            });
            let (Some((state, vector)), Dtype::F32) = (owner, view.dtype()) else {
                return Err(Error::UnknownTensor { name });
            };
            state.vectors.insert(vector, floats(view.data()));
        }
        let memory = counters.memory;
        Ok((Self { networks, memory }, counters.step))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (values, _) = bytes.as_chunks::<4>();
    values
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::Memory)
}

fn parsed<T: for<'de> Deserialize<'de>>(name: &'static str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|_| missing(name))
}

fn missing(name: &str) -> Error {
    Error::MissingTensor {
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> LearnerState {
        let network = |name: &str, value: f32| NetworkState {
            name: name.to_owned(),
            optimiser_steps: 7,
            vectors: BTreeMap::from([("parameters".to_owned(), vec![value, 2.0])]),
        };
        LearnerState {
            networks: vec![network("detector", 1.5), network("task", -0.0)],
            memory: serde_json::json!({ "plateau": 0.25 }),
        }
    }

    #[test]
    fn states_round_trip_with_their_step() {
        let bytes = state().to_bytes(9).unwrap();
        assert_eq!(LearnerState::from_bytes(&bytes).unwrap(), (state(), 9));
        for length in [0, 1, 7, bytes.len() / 2, bytes.len() - 1] {
            assert!(LearnerState::from_bytes(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn equal_states_have_equal_bytes() {
        let bytes = state().to_bytes(9).unwrap();
        assert!((0..20).all(|_| state().to_bytes(9).unwrap() == bytes));
    }

    #[test]
    fn vectors_are_taken_by_name_and_length() {
        let mut state = state();
        let mut task = state.take("task").unwrap();
        assert!(state.take("task").is_err());
        assert!(task.take("parameters", 3).is_err());
        let message = task.take("average", 2).unwrap_err().to_string();
        assert!(message.contains("task.average"), "{message}");
    }

    #[test]
    fn a_value_that_is_not_finite_is_named() {
        let mut state = state();
        assert_eq!(state.non_finite(), None);
        state.networks[1].vectors.insert("m".into(), vec![f32::NAN]);
        assert_eq!(state.non_finite().as_deref(), Some("task.m"));
    }
}
