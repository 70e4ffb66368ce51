//! Single digits as pictures: reads a picture for `predict`, and encodes pictures for sheets and pages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

mod digit;
mod ink;

pub use digit::read_digit;

/// Encodes a grey image as a `data:` URI with a PNG of dark ink on white paper. As in MNIST, 0 is paper and 255 is ink.
#[must_use]
pub fn data_uri(pixels: &[u8], width: usize, height: usize) -> String {
    let paper: Vec<u8> = pixels.iter().map(|&ink| 255 - ink).collect();
    encoded_png(&paper, (width, height), png::ColorType::Grayscale)
}

/// Encodes signed values as a `data:` URI with a PNG. Zero is the middle of the colour map, and the largest magnitude
/// is at one of its ends.
#[must_use]
pub fn values_uri(values: &[f32], width: usize, height: usize) -> String {
    let most = values.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let colour = |&value: &f32| {
        let share = f64::from(value / most);
        page::VALUES.eval_continuous(0.5 + 0.5 * share.clamp(-1.0, 1.0)).as_array()
    };
    let pixels: Vec<u8> = values.iter().flat_map(colour).collect();
    encoded_png(&pixels, (width, height), png::ColorType::Rgb)
}

fn encoded_png(pixels: &[u8], (width, height): (usize, usize), colour: png::ColorType) -> String {
    let mut bytes = Vec::new();
    let size = |length: usize| u32::try_from(length).expect("an image of 28 pixels a side");
    let mut encoder = png::Encoder::new(&mut bytes, size(width), size(height));
    encoder.set_color(colour);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(pixels))
        .expect("writing to memory does not fail");
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}
