//! Features of photographs, computed once and kept on disk.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use half::f16;
use mist::backbone::{Backbone, BackboneConfig, FeatureStatistics};
use mist_data::{Dataset, cache_root, load_views};
use sha2::{Digest, Sha256};

use crate::batches::to_tensor;
use crate::error::{AtPath, Error, Result};
use crate::observer::Observer;
use crate::run::whole_file;

/// Photographs that pass a backbone together.
const BATCH: u64 = 16;
/// Pictures of one file: a computation that was stopped goes on with the part that it was at.
const PART: u64 = 256;
/// Changes with what is stored.
const VERSION: &str = "mist features 1";
/// Length of the checksum in front of the features.
const CHECKSUM: usize = 32;

/// The features of every picture of a data set, in half precision.
#[derive(Clone, Debug)]
pub struct FeatureCache {
    /// `[picture][channel][row][column]`
    values: Vec<f16>,
    /// Channels, rows, columns.
    shape: [usize; 3],
}

impl FeatureCache {
    /// Reads the features of a data set, or computes them and keeps them for the next time.
    ///
    /// # Errors
    /// When the data set has no end, or a file cannot be read or written.
    pub fn open(
        dataset: &dyn Dataset,
        (backbone, weights_sha256): (&Backbone, &str),
        config: &BackboneConfig,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (Some(views), Some(fingerprint)) = (dataset.views(), dataset.fingerprint()) else {
            let reason = format!(
                "features of `{}` cannot be kept: it has no end",
                dataset.name()
            );
            return Err(Error::Usage(reason));
        };
        let size = dataset.image_size().map_or([0, 0], |size| {
            config.resized_px(size.height_px, size.width_px)
        });
        let architecture = config.architecture;
        let key = format!("{VERSION}\n{fingerprint}\n{architecture:?}\n{weights_sha256}\n{size:?}");
        let folder = folder_of(&key);
        let [rows, columns] = size.map(|side_px| side_px.div_ceil(16));
        let shape = [architecture.channels(), rows, columns];
        let picture = shape.iter().product::<usize>();
        let mut values = Vec::with_capacity(views as usize * picture);
        if let Some(skipped) = dataset.skipped() {
            observer.message(&skipped);
        }
        observer.message(&format!(
            "features of {views} pictures of {}",
            dataset.name()
        ));
        observer.images_started(views);
        for (part, first) in (0..views).step_by(PART as usize).enumerate() {
            let pictures = first..(first + PART).min(views);
            let length = (pictures.end - first) as usize * picture;
            let path = folder.as_ref().map(|folder| folder.join(part.to_string()));
            let key = format!("{key}\n{part}");
            let kept = path.as_deref().and_then(|path| read(path, &key, length));
            let found = match kept {
                Some(kept) => kept,
                None => {
                    let found = compute(dataset, pictures.clone(), backbone)?;
                    if let Some(path) = &path {
                        write(&found, path, &key)?;
                    }
                    found
                }
            };
            values.extend(found);
            observer.images_done(pictures.end - first);
        }
        observer.images_ended();
        Ok(Self { values, shape })
    }

    /// The features of some pictures, `[pictures, channels, rows, columns]`.
    pub fn batch(&self, views: &[u64], device: &Device) -> Tensor<4> {
        let [channels, rows, columns] = self.shape;
        let length = channels * rows * columns;
        let mut values = Vec::with_capacity(views.len() * length);
        for &view in views {
            let picture = &self.values[view as usize * length..][..length];
            values.extend(picture.iter().map(|value| value.to_f32()));
        }
        let dims = [views.len(), channels, rows, columns];
        Tensor::from_data(TensorData::new(values, dims), device)
    }

    /// Mean and deviation of each channel.
    pub fn statistics(&self) -> FeatureStatistics {
        let [channels, rows, columns] = self.shape;
        let area = (rows * columns).max(1);
        let (mut sums, mut squares) = (vec![0.0; channels], vec![0.0; channels]);
        let mut values = 0;
        for (index, plane) in self.values.chunks_exact(area).enumerate() {
            let channel = index % channels;
            let (mut sum, mut square) = (0.0f32, 0.0f32);
            for value in plane {
                let value = value.to_f32();
                sum += value;
                square += value * value;
            }
            sums[channel] += f64::from(sum);
            squares[channel] += f64::from(square);
            values += area as u64;
        }
        FeatureStatistics::from_sums(&sums, &squares, values / channels.max(1) as u64)
    }
}

fn compute(dataset: &dyn Dataset, pictures: Range<u64>, backbone: &Backbone) -> Result<Vec<f16>> {
    let device = Device::flex();
    let mut values = Vec::new();
    for first in pictures.clone().step_by(BATCH as usize) {
        let items = load_views(dataset, first..(first + BATCH).min(pictures.end))?;
        let images = to_tensor(items.iter().map(|item| &item.image), 3, &device)?;
        let features = backbone.features(images)?.try_into_vec_as::<f32>()?;
        values.extend(features.into_iter().map(f16::from_f32));
    }
    Ok(values)
}

fn write(values: &[f16], path: &Path, key: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).at("create", directory)?;
    }
    let mut bytes = vec![0; CHECKSUM];
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let sum = checksum(key, &bytes[CHECKSUM..]);
    bytes[..CHECKSUM].copy_from_slice(&sum);
    whole_file::write(path, &bytes)
}

/// Where features of a key are kept, in parts; nowhere for users without a home.
fn folder_of(key: &str) -> Option<PathBuf> {
    let name: String = Sha256::digest(key.as_bytes())[..12]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    Some(cache_root()?.join("features").join(name))
}

fn checksum(key: &str, payload: &[u8]) -> [u8; CHECKSUM] {
    let mut hash = Sha256::new();
    hash.update(key.as_bytes());
    hash.update([0]);
    hash.update(payload);
    hash.finalize().into()
}

/// What a file holds, if it is whole and of this key; anything else is computed again.
fn read(path: &Path, key: &str, length: usize) -> Option<Vec<f16>> {
    let bytes = fs::read(path).ok()?;
    let (sum, payload) = bytes.split_at_checked(CHECKSUM)?;
    if payload.len() != 2 * length || sum != checksum(key, payload) {
        return None;
    }
    let values = payload.chunks_exact(2);
    Some(values.map(|b| f16::from_le_bytes([b[0], b[1]])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> FeatureCache {
        let values = [1.0, 3.0, 5.0, 5.0, 3.0, 1.0, 5.0, 5.0];
        FeatureCache {
            values: values.map(f16::from_f32).to_vec(),
            shape: [2, 1, 2],
        }
    }

    #[test]
    fn what_is_kept_is_read_again_unless_it_is_damaged_or_of_another_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("features/of-a-set");
        write(&cache().values, &path, "key").unwrap();
        assert_eq!(read(&path, "key", 8).unwrap(), cache().values);
        assert!(read(&path, "other", 8).is_none() && read(&path, "key", 9).is_none());
        let mut bytes = fs::read(&path).unwrap();
        bytes[CHECKSUM + 3] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(read(&path, "key", 8).is_none());
    }

    #[test]
    fn statistics_are_per_channel_and_batches_in_any_order() {
        let statistics = cache().statistics();
        assert_eq!(statistics.means, [2.0, 5.0]);
        assert_eq!(statistics.deviations[0], 1.0);
        let batch = cache().batch(&[1, 0], &Device::flex());
        assert_eq!(batch.dims(), [2, 2, 1, 2]);
        let values = batch.try_into_vec_as::<f32>().unwrap();
        assert_eq!(values[..2], [3.0, 1.0]);
    }
}
