//! Photographs with boxes: crops of PASCAL VOC as a data set (paper, section 5.3, PASCAL+COCO).

mod annotations;
mod dataset;
mod files;
mod resample;

pub use dataset::PhotoDataset;
pub(crate) use dataset::class_names;
pub use files::{locate_data, locate_file};

/// The name of the data set of VOC 2007 crops.
pub const VOC_CROPS: &str = "voc-crops";

/// Its files: a directory or a tar archive of this name, with `annotations.csv` and `images/`.
const VOC_CROPS_FILE: &str = "voc2007_crops224";

/// The classes of PASCAL VOC.
pub const VOC_CLASSES: [&str; 20] = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
];

/// Side that photographs are resized to.
const SIDE_PX: usize = 224;
/// The most objects of a crop.
const INSTANCES: usize = 2;
