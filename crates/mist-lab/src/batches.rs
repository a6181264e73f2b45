//! Items of data sets as tensors.

use std::borrow::Cow;

use burn::tensor::{Device, Tensor, TensorData};
use mist::training::Batch;
use mist_data::{Dataset, Image, Item, load_range};

use crate::error::{Error, Result};
use crate::features::FeatureCache;

/// Items `first..first + count` of a data set and the batch that they make; a finite set starts again at its end.
///
/// # Errors
/// When an item cannot be read, or the images differ in size.
pub fn load(
    dataset: &dyn Dataset,
    first: u64,
    count: usize,
    channels: usize,
    device: &Device,
) -> Result<(Vec<Item>, Batch)> {
    let items = match dataset.len() {
        None => load_range(dataset, first..first + count as u64)?,
        Some(0) => {
            let name = dataset.name();
            return Err(Error::Usage(format!("the data set `{name}` has no images")));
        }
        Some(length) => {
            let indices = first..first + count as u64;
            let items = indices.map(|index| dataset.item(index % length));
            items.collect::<mist_data::Result<_>>()?
        }
    };
    let batch = to_batch(&items, channels, device)?;
    Ok((items, batch))
}

/// As [`load`] with features that are kept in the place of the images.
///
/// # Errors
/// As [`load`].
pub fn load_features(
    dataset: &dyn Dataset,
    features: &FeatureCache,
    first: u64,
    count: usize,
    device: &Device,
) -> Result<Batch> {
    let indices = first..first + count as u64;
    let views: Vec<u64> = indices
        .clone()
        .filter_map(|index| dataset.view(index))
        .collect();
    let known = indices.map(|index| dataset.known(index));
    let known = known.collect::<mist_data::Result<Vec<_>>>()?;
    Ok(Batch {
        images: Tensor::zeros([count, dataset.channels(), 1, 1], device),
        features: Some(features.batch(&views, device)),
        class_counts: known
            .iter()
            .map(|known| known.class_counts.clone())
            .collect(),
        truths: known.into_iter().map(|known| known.truths).collect(),
    })
}

fn to_batch(items: &[Item], channels: usize, device: &Device) -> Result<Batch> {
    let known = items.iter().map(|item| &item.known);
    Ok(Batch {
        images: to_tensor(items.iter().map(|item| &item.image), channels, device)?,
        features: None,
        class_counts: known
            .clone()
            .map(|known| known.class_counts.clone())
            .collect(),
        truths: known.map(|known| known.truths.clone()).collect(),
    })
}

/// Images of one size in as many channels as a model sees, `[batch, channels, height, width]`: gray is repeated, colours
/// are averaged.
///
/// # Errors
/// When the images differ in size.
pub fn to_tensor<'a>(
    images: impl Iterator<Item = &'a Image>,
    channels: usize,
    device: &Device,
) -> Result<Tensor<4>> {
    let mut pixels = Vec::new();
    let (mut count, mut size) = (0, None);
    for image in images {
        let own = (image.width_px, image.height_px);
        if *size.get_or_insert(own) != own {
            let reason = "images of different sizes cannot be in one batch";
            return Err(Error::Usage(reason.to_owned()));
        }
        append(&mut pixels, image, channels);
        count += 1;
    }
    let (width, height) = size.unwrap_or_default();
    let data = TensorData::new(pixels, [count, channels, height, width]);
    Ok(Tensor::from_data(data, device))
}

/// The pixels of an image in as many channels as a model sees; see [`to_tensor`].
pub(crate) fn in_channels(image: &Image, channels: usize) -> Cow<'_, [f32]> {
    if image.channels == channels {
        return Cow::Borrowed(&image.pixels);
    }
    let mut pixels = Vec::new();
    append(&mut pixels, image, channels);
    Cow::Owned(pixels)
}

fn append(pixels: &mut Vec<f32>, image: &Image, channels: usize) {
    if image.channels == channels {
        pixels.extend_from_slice(&image.pixels);
        return;
    }
    let area = image.width_px * image.height_px;
    let share = 1.0 / image.channels as f32;
    let mut gray = vec![0.0; area];
    for plane in image.pixels.chunks_exact(area.max(1)) {
        for (sum, value) in gray.iter_mut().zip(plane) {
            *sum += value * share;
        }
    }
    for _ in 0..channels {
        pixels.extend_from_slice(&gray);
    }
}

/// The images of a tensor `[batch, channels, height, width]`.
///
/// # Errors
/// When the device cannot be read.
pub fn to_images(images: Tensor<4>) -> Result<Vec<Image>> {
    let [_, channels, height_px, width_px] = images.dims();
    let values = images.try_into_vec_as::<f32>()?;
    let image = |pixels: &[f32]| Image {
        width_px,
        height_px,
        channels,
        pixels: pixels.to_vec(),
    };
    let length = (channels * height_px * width_px).max(1);
    Ok(values.chunks_exact(length).map(image).collect())
}

#[cfg(test)]
mod tests {
    use mist_data::{Catalog, Split};

    use super::*;

    #[test]
    fn scenes_become_tensors_with_what_is_known() {
        let set = Catalog::new(None).open("glyphs", 3, Split::Train).unwrap();
        let device = Device::flex();
        let (items, batch) = load(set.as_ref(), 5, 2, 3, &device).unwrap();
        assert_eq!(items[1], set.item(6).unwrap());
        assert_eq!(batch.images.dims()[..2], [2, 3]);
        let images = to_images(batch.images).unwrap();
        let area = items[0].image.pixels.len();
        assert_eq!(images[1].pixels[2 * area..], items[1].image.pixels);
        assert_eq!(
            batch.truths.unwrap()[0],
            items[0].known.truths.clone().unwrap()
        );
    }

    #[test]
    fn sizes_must_agree_and_colours_are_averaged() {
        let device = Device::flex();
        let images = [Image::filled(4, 3, 1, 0.5), Image::filled(3, 4, 1, 0.5)];
        assert!(to_tensor(images.iter(), 1, &device).is_err());
        let mut colours = Image::filled(2, 1, 3, 0.0);
        colours.pixels[..2].fill(0.75);
        let gray = to_tensor([&colours].into_iter(), 1, &device).unwrap();
        assert_eq!(gray.try_into_vec_as::<f32>().unwrap(), [0.25; 2]);
    }
}
