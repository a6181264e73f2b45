//! Photographs with boxes: crops of PASCAL VOC as a data set (paper, section 5.3, PASCAL+COCO).

mod annotations;
mod dataset;
mod files;
mod prepare;
mod resample;

pub use dataset::PhotoDataset;
pub(crate) use dataset::class_names;
pub use files::{locate_data, locate_file};
pub use prepare::{PrepareRequest, Prepared, prepare};

/// The name of the data set of VOC 2007 crops.
pub const VOC_CROPS: &str = "voc-crops";

/// The name of what [`prepare`] makes of VOC and COCO.
pub const VOC_COCO: &str = "voc-coco";

/// Data sets of photographs, and what their files are called: a directory or a tar archive of this name, with
/// `annotations.csv` and `images/`.
const FILES: [(&str, &str); 2] = [(VOC_CROPS, "voc2007_crops224"), (VOC_COCO, "voc-coco")];

/// The file name of a data set of photographs; nothing for other data sets.
pub(crate) fn file_of(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.into_iter().find(|(known, _)| *known == name)
}

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
