//! Large images through windows: what is found is what is found in the whole.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::extract::{Extractor, Selection, Suppression};
use mist::finder::Finder;
use mist::geometry::Detection;
use mist::heatmap::{LocalSoftmax, ScaleLevels};
use mist::large::{ImageView, LargeSearch};
use mist::model::{Model, ModelConfig, TaskNetwork};
use mist::networks::{BlockStyle, DetectorConfig, EncoderConfig};

const WIDTH: usize = 173;
const HEIGHT: usize = 140;
const SEARCH: LargeSearch = LargeSearch {
    window_px: 64,
    statistics_px: usize::MAX,
};

fn model(style: BlockStyle, levels: ScaleLevels, extractor: Extractor) -> Model {
    let mut task_encoder = EncoderConfig::paper(1);
    task_encoder.style = style;
    let config = ModelConfig {
        background: 0.25,
        scales: levels,
        detector: DetectorConfig {
            in_channels: 1,
            channels: 8,
            blocks: 3,
            levels: 0,
            style,
        },
        softmax: match style {
            BlockStyle::Paper => LocalSoftmax::paper(),
            BlockStyle::Official => LocalSoftmax::official(),
        },
        extractor,
        ..ModelConfig::paper(TaskNetwork::Classifier {
            encoder: task_encoder,
            classes: 4,
        })
    };
    Model::init(config, 7, &Device::flex()).unwrap()
}

/// Blobs that grow stronger to the right, on noise: the statistics of a window are not those of the image.
fn pixels() -> Vec<f32> {
    let value = |index: usize| {
        let (x, y) = (index % WIDTH, index / WIDTH);
        let noise = (index * 2_654_435_761 % 1013) as f32 / 1013.0;
        let blob = ((x as f32 * 0.21).sin() * (y as f32 * 0.17).cos()).max(0.0);
        0.1 * noise + blob * x as f32 / WIDTH as f32
    };
    (0..WIDTH * HEIGHT).map(value).collect()
}

fn view(pixels: &[f32]) -> ImageView<'_> {
    ImageView {
        pixels,
        channels: 1,
        width_px: WIDTH,
        height_px: HEIGHT,
    }
}

fn whole(model: &Model, pixels: &[f32], k: usize) -> Vec<Detection> {
    let data = TensorData::new(pixels.to_vec(), [1, 1, HEIGHT, WIDTH]);
    let image = Tensor::from_data(data, &Device::flex());
    model.find(image, &[k]).unwrap().remove(0)
}

/// The pixel of a box's centre.
fn pixel(found: &Detection) -> (f32, f32) {
    let (x_px, y_px) = found.bounds.centre_px();
    (x_px.floor(), y_px.floor())
}

/// Pixels exactly, sides and scores to what another order of sums makes of them.
fn assert_same(windows: &[Detection], whole: &[Detection]) {
    assert_eq!(windows.len(), whole.len());
    for (one, other) in windows.iter().zip(whole) {
        assert_eq!(pixel(one), pixel(other));
        assert_eq!(one.label, other.label);
        let sides = [one, other].map(|found| found.bounds.width_px());
        assert!((sides[0] - sides[1]).abs() < 1e-2, "{sides:?}");
        let error = (one.score - other.score).abs() / other.score;
        assert!(error < 1e-3, "{} and {}", one.score, other.score);
    }
}

fn cases() -> Vec<Model> {
    let greedy = Extractor {
        suppression: Suppression::Greedy,
        mass_window_px: 5,
        nms_window_px: 9,
        ..Extractor::new(9)
    };
    vec![
        model(BlockStyle::Paper, ScaleLevels::single(), Extractor::new(9)),
        model(BlockStyle::Official, ScaleLevels::single(), greedy),
        model(BlockStyle::Paper, ScaleLevels::lf_net(), greedy),
    ]
}

#[test]
fn windows_and_the_whole_give_the_same_boxes() {
    let pixels = pixels();
    for model in cases() {
        let k = 40;
        let found = model
            .find_large(view(&pixels), Selection::Strongest(k), SEARCH)
            .unwrap()
            .unwrap();
        assert_same(&found, &whole(&model, &pixels, k));
    }
}

#[test]
fn windows_and_the_whole_give_the_same_boxes_above_a_score() {
    let pixels = pixels();
    let model = &cases()[0];
    // Between two scores, so that rounding does not decide.
    let all = whole(model, &pixels, 25);
    let least = (all[19].score + all[20].score) / 2.0;
    let found = model
        .find_large(view(&pixels), Selection::AtLeast(least), SEARCH)
        .unwrap()
        .unwrap();
    assert_same(&found, &all[..20]);
}

#[test]
fn a_window_s_own_statistics_would_not_do() {
    let pixels = pixels();
    let model = &cases()[0];
    let one_window = LargeSearch {
        statistics_px: 1,
        ..SEARCH
    };
    let score = |search| {
        let found = model.find_large(view(&pixels), Selection::Strongest(1), search);
        found.unwrap().unwrap()[0].score
    };
    assert!((score(one_window) / score(SEARCH) - 1.0).abs() > 1e-3);
}

#[test]
fn heatmaps_are_those_of_the_whole() {
    let pixels = pixels();
    for model in cases() {
        let heat = model.heatmap_large(view(&pixels), SEARCH).unwrap().unwrap();
        let data = TensorData::new(pixels.clone(), [1, 1, HEIGHT, WIDTH]);
        let whole = model
            .heatmap(Tensor::from_data(data, &Device::flex()))
            .unwrap()
            .unwrap();
        let whole = whole.try_into_vec_as::<f32>().unwrap();
        let largest = whole.iter().copied().fold(0.0, f32::max);
        for (one, other) in heat.iter().zip(&whole) {
            assert!((one - other).abs() < 1e-3 * largest, "{one} and {other}");
        }
    }
}
