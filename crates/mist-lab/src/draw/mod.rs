//! Pictures for people: detections on images, contact sheets, training samples, patches.
//!
//! Everything is drawn on a [`Canvas`], which is an RGB [`Image`](mist_data::Image). A [`Mark`] is a
//! box with a caption; [`overlay`] draws marks on one image, [`contact_sheet`] on many, and
//! [`sample_sheet`] shows any number of panels per sample. [`beside`], [`below`] and [`strip`] put
//! finished pictures together.
//!
//! Lines and letters grow with the picture, so that both a scene of 80 px and a photograph of
//! 4000 px can be read when they are shown on a screen.
//!
//! ```
//! use mist_data::Image;
//! use mist_geometry::PixelBox;
//! use mist_lab::draw::{Colour, Mark, overlay};
//!
//! let scene = Image::filled(80, 80, 1, 0.1);
//! let seven = Mark {
//!     bounds: PixelBox::from_centre(30.0, 40.0, 20.0, 20.0),
//!     caption: "seven 0.93".into(),
//!     colour: Colour::of_class(7),
//! };
//! let picture = overlay(&scene, &[seven])?;
//! assert_eq!((picture.width_px, picture.height_px), (640, 640));
//! # Ok::<(), mist_lab::draw::DrawError>(())
//! ```

mod canvas;
mod caption;
mod colour;
mod contact_sheet;
mod error;
mod grid;
mod heat;
mod mark;
mod mosaic;
mod outline;
mod overlay;
mod rect;
mod sample_sheet;
mod text;

pub use canvas::{Canvas, MAX_SHEET_PX, Plane};
pub use colour::Colour;
pub use contact_sheet::{Tile, contact_sheet};
pub use error::DrawError;
pub use grid::GAP_PX;
pub use mark::Mark;
pub use mosaic::{below, beside, strip};
pub use overlay::{choose_zoom, overlay};
pub use sample_sheet::{Panel, sample_sheet};
pub use text::{TEXT_HEIGHT_PX, text_width_px};

#[cfg(test)]
fn pixel(image: &mist_data::Image, x_px: usize, y_px: usize) -> Colour {
    Colour([0, 1, 2].map(|channel| image.pixels[image.offset(x_px, y_px, channel)]))
}
