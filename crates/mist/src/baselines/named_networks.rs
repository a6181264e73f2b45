//! Several networks that learn together, for methods with networks of their own.

use std::collections::HashSet;

use burn::tensor::{Device, Gradients};
use mist_kernels::network::Network;
use safetensors::SafeTensors;

use crate::Error;
use crate::networks::{NetworkModule, refuse_unknown};
use crate::training::{LearnerState, Optimiser, Progress, Setup};

/// Networks by name.
#[derive(Clone, Debug)]
pub(crate) struct NamedNetworks {
    names: &'static [&'static str],
    modules: Vec<NetworkModule>,
}

impl NamedNetworks {
    /// Random weights; each network has a seed of its own.
    fn init(
        names: &'static [&'static str],
        networks: Vec<Network>,
        seed: u64,
        device: &Device,
    ) -> Result<Self, Error> {
        let first = seed.wrapping_mul(names.len() as u64);
        let modules = networks.into_iter().zip(0..).map(|(network, place)| {
            NetworkModule::init(network, first.wrapping_add(place), device)
        });
        let modules = modules.collect::<Result<_, _>>()?;
        Ok(Self { names, modules })
    }

    pub fn from_safetensors(
        names: &'static [&'static str],
        networks: Vec<Network>,
        bytes: &[u8],
        device: &Device,
    ) -> Result<Self, Error> {
        let file = SafeTensors::deserialize(bytes)?;
        let mut modules = Vec::with_capacity(names.len());
        let mut known = HashSet::new();
        for (network, name) in networks.into_iter().zip(names) {
            let (module, of_network) = NetworkModule::from_named(network, &file, name, device)?;
            modules.push(module);
            known.extend(of_network);
        }
        refuse_unknown(&file, &known)?;
        Ok(Self { names, modules })
    }

    pub fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        let mut tensors = Vec::new();
        for (module, name) in self.modules.iter().zip(self.names) {
            tensors.extend(module.named_tensors(name)?);
        }
        Ok(safetensors::serialize(tensors, None)?)
    }

    /// The network at a place in the list of names.
    pub fn module(&self, place: usize) -> &NetworkModule {
        &self.modules[place]
    }

    /// The error that tells of the first image with a value that is NaN or infinite, if there is one.
    pub fn refuse_non_finite(
        &self,
        place: usize,
        values: &[f32],
        images: usize,
    ) -> Result<(), Error> {
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Error::NonFiniteOutput {
                network: self.names[place],
                image: at * images / values.len(),
            }),
            None => Ok(()),
        }
    }
}

/// The same under training, with an optimiser each.
#[derive(Debug)]
pub(crate) struct TrainedNetworks {
    /// The newest weights.
    pub networks: NamedNetworks,
    optimisers: Vec<Optimiser>,
}

impl TrainedNetworks {
    /// Starts from random weights, or from those of the setup.
    pub fn new(
        names: &'static [&'static str],
        networks: Vec<Network>,
        setup: Setup<'_>,
    ) -> Result<Self, Error> {
        setup.optimisers.check(names)?;
        let networks = match setup.weights {
            Some(weights) => {
                NamedNetworks::from_safetensors(names, networks, weights, setup.device)?
            }
            None => NamedNetworks::init(names, networks, setup.seed, setup.device)?,
        };
        let named = names.iter().zip(&networks.modules);
        let optimisers = named
            .map(|(name, module)| Optimiser::new(setup.optimisers.get(name), module))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            networks,
            optimisers,
        })
    }

    /// Moves all networks along their gradients.
    pub fn step(&mut self, gradients: &Gradients, progress: Progress) -> Result<(), Error> {
        for (module, optimiser) in self.networks.modules.iter_mut().zip(&mut self.optimisers) {
            *module = optimiser.step(module.clone(), gradients, progress, 1.0)?;
        }
        Ok(())
    }

    pub fn state(&self) -> Result<LearnerState, Error> {
        let named = self.networks.names.iter().zip(&self.networks.modules);
        let networks = named
            .zip(&self.optimisers)
            .map(|((name, module), optimiser)| optimiser.network_state(name, module))
            .collect::<Result<_, _>>()?;
        Ok(LearnerState {
            networks,
            memory: serde_json::Value::Null,
        })
    }

    pub fn restore(&mut self, mut state: LearnerState) -> Result<(), Error> {
        let named = self.networks.names.iter().zip(&mut self.networks.modules);
        for ((name, module), optimiser) in named.zip(&mut self.optimisers) {
            *module = optimiser.restore(module.clone(), state.take(name)?)?;
        }
        Ok(())
    }

    /// Averaged weights where an average is kept, on a device of choice.
    pub fn averaged(&self, device: &Device) -> Result<NamedNetworks, Error> {
        let pairs = self.networks.modules.iter().zip(&self.optimisers);
        let modules = pairs
            .map(|(module, optimiser)| optimiser.averaged(module, device))
            .collect::<Result<_, _>>()?;
        let names = self.networks.names;
        Ok(NamedNetworks { names, modules })
    }
}
