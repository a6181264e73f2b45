//! Golden files: reading and comparing.

pub mod backbone;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use safetensors::SafeTensors;

/// One golden case, written by a script under `python/golden`.
pub struct Golden {
    pub name: String,
    pub case: serde_json::Value,
    tensors: HashMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Golden {
    pub fn open(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().clone().unwrap();
        assert!(metadata["script"].starts_with("python/golden/"));
        assert!(!metadata["torch"].is_empty());
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.iter().map(|(name, view)| {
            let values = view.data().chunks_exact(4);
            let values = values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            (name.to_owned(), (view.shape().to_vec(), values.collect()))
        });
        Self {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            case: serde_json::from_str(&metadata["case"]).unwrap(),
            tensors: tensors.collect(),
        }
    }

    pub fn values(&self, name: &str) -> &[f32] {
        let missing = || panic!("{} has no tensor `{name}`", self.name);
        &self.tensors.get(name).unwrap_or_else(missing).1
    }

    /// The tensor on a device; leaves that need gradients are marked by the caller.
    pub fn tensor<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D> {
        let (shape, values) = &self.tensors[name];
        Tensor::from_data(TensorData::new(values.clone(), shape.clone()), device)
    }

    pub fn leaf<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D> {
        self.tensor::<D>(name, device).require_grad()
    }

    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    pub fn number(&self, name: &str) -> f64 {
        self.case[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{}: no number `{name}`", self.name))
    }

    /// Compares with 1e-5 absolute and 1e-4 relative tolerance, shapes included.
    pub fn expect<const D: usize>(&self, name: &str, actual: Tensor<D>) {
        let shape = actual.dims().to_vec();
        assert_eq!(
            shape, self.tensors[name].0,
            "{}: shape of {name}",
            self.name
        );
        self.expect_values(name, &actual.into_data().try_to_vec::<f32>().unwrap());
    }

    pub fn expect_values(&self, name: &str, actual: &[f32]) {
        let expected = self.values(name);
        assert_eq!(
            expected.len(),
            actual.len(),
            "{}: length of {name}",
            self.name
        );
        for (index, (&expected, &actual)) in expected.iter().zip(actual).enumerate() {
            let difference = (expected - actual).abs();
            assert!(
                difference <= 1e-5 + 1e-4 * expected.abs(),
                "{}: {name}[{index}] is {actual}, PyTorch says {expected}",
                self.name
            );
        }
    }
}

/// All golden cases whose name starts with `prefix`; `count` of them must exist.
pub fn family(prefix: &str, count: usize) -> Vec<Golden> {
    let paths = golden_files().into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(prefix)
    });
    let cases: Vec<Golden> = paths.map(|path| Golden::open(&path)).collect();
    assert_eq!(cases.len(), count, "golden files named {prefix}*");
    cases
}

pub fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "safetensors")
        })
        .collect();
    paths.sort();
    paths
}

/// The gradient of `sum(output * cotangent)` is what every golden gradient is taken of.
pub fn contract<const D: usize>(output: Tensor<D>, cotangent: Tensor<D>) -> Tensor<1> {
    (output * cotangent).sum()
}
