//! Reads a picture of one digit, and converts it to an image like MNIST's.

use std::io::Cursor;
use std::path::Path;

use host::Foreign;
use host::file;

use super::ink::{Ink, Picture};
use crate::{Error, Result};

/// Width and height of an MNIST image.
const SIDE: usize = 28;
/// MNIST's authors scaled each digit to fit a box of this size, in the middle of the image.
const BOX: usize = 20;
/// The sizes of a digit's bounding box that count as MNIST's size. The built-in digits have 16 to 23.
const BOXES: std::ops::RangeInclusive<usize> = 14..=24;
/// The maximum distance in pixels between the image's centre and a centred digit's centre of mass, along either axis.
/// The distance is less than 1 for all of MNIST's digits, and less than 2 for 99 % of the built-in digits.
const MAX_OFFSET: f32 = 2.0;
/// The minimum amount of ink. Less counts as noise, unless the paper's colour is perfectly even.
const MIN_INK: f32 = 0.1;
/// The maximum width and height of a picture. A larger one is refused before its pixels are decompressed.
const MAX_SIDE: u32 = 4096;
/// The maximum size of a file: more than the largest picture needs without compression and with 16 bits per channel.
const MAX_BYTES: u64 = 1 << 28;

/// Reads a PNG of one digit as an image like MNIST's: `28 × 28`, ink 255 on paper 0.
///
/// The colour of the border is the paper, and the colour that differs most from it is the ink. Both may be any colours,
/// the paper may be transparent, and the picture may have any size. In a picture of `28 × 28`, a centred digit of
/// MNIST's size is not moved, so an image of MNIST is returned unchanged. Any other digit is cropped to its ink, scaled
/// to fit `20 × 20` and placed with its centre of mass in the middle, as MNIST's authors did.
///
/// # Errors
/// If the file is not a PNG, is wider or higher than 4096 pixels, or has only one colour.
pub fn read_digit(path: &Path) -> Result<[u8; SIDE * SIDE]> {
    let error = |reason: String| Error::Read { path: path.into(), reason };
    let picture = read_picture(path).map_err(error)?;
    let nothing = || "it shows no digit: ink and paper have the same colour, or nearly so".into();
    let Ink { mut amounts, is_clean } = picture.ink().ok_or_else(nothing).map_err(error)?;
    if !is_clean {
        amounts.iter_mut().filter(|amount| **amount < MIN_INK).for_each(|amount| *amount = 0.0);
    }
    let found = Digit::find(&amounts, picture.width, picture.height);
    let placed = if found.is_like_mnist() { amounts } else { found.cropped_and_centred() };
    let mut image = [0; SIDE * SIDE];
    for (pixel, value) in image.iter_mut().zip(placed) {
        let byte = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        *pixel = byte;
    }
    Ok(image)
}

/// Decodes a PNG of any colour type and bit depth.
fn read_picture(path: &Path) -> Result<Picture, String> {
    let text = |error: &dyn std::fmt::Display| format!("it is not a valid PNG: {error}");
    let is_enough = |bytes: &[u8]| !bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    let bytes = file::read_file(path, MAX_BYTES, is_enough);
    let bytes = bytes.map_err(|error| error.to_string())?;
    if let Some(found) = Foreign::detect(&bytes).filter(|found| found.name != PNG) {
        return Err(found.instead_of(PNG, "save it as PNG"));
    }
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| text(&error))?;
    let (width, height) = reader.info().size();
    if width.max(height) > MAX_SIDE {
        return Err(format!("it has {width} x {height} pixels; the limit is {MAX_SIDE} a side"));
    }
    let size = reader.output_buffer_size().ok_or_else(|| text(&"it is too large"))?;
    // The memory for the samples, the ink, and the medians of a card's three channels.
    let pixels = u64::from(width) * u64::from(height);
    host::memory::check(size as u64 + 4 * size_of::<f32>() as u64 * pixels)
        .map_err(|shortage| format!("decompressing {width} x {height} pixels {shortage}"))?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(|error| text(&error))?;
    samples.truncate(info.buffer_size());
    let channels = info.color_type.samples();
    Ok(Picture { samples, channels, width: width as usize, height: height as usize })
}

/// The name by which [`Foreign`] identifies a PNG.
const PNG: &str = "a PNG picture";

/// A digit in a picture.
struct Digit<'a> {
    /// The amount of ink of each pixel, 0 to 1, row by row.
    ink: &'a [f32],
    width: usize,
    height: usize,
    /// The first and the last column with ink.
    columns: (usize, usize),
    /// The first and the last row with ink.
    rows: (usize, usize),
    /// The centre of mass, in pixels from the left and from the top.
    centre: (f32, f32),
}

impl<'a> Digit<'a> {
    /// Finds the digit in a picture. At least one pixel must have the full amount of ink.
    fn find(ink: &'a [f32], width: usize, height: usize) -> Self {
        let (mut columns, mut rows) = ((width - 1, 0), (height - 1, 0));
        let (mut x_moment, mut y_moment, mut total) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (i, &amount) in ink.iter().enumerate() {
            let (x, y) = (i % width, i / width);
            if amount > 0.2 {
                columns = (columns.0.min(x), columns.1.max(x));
                rows = (rows.0.min(y), rows.1.max(y));
            }
            let amount = f64::from(amount);
            x_moment += amount * (x as f64 + 0.5);
            y_moment += amount * (y as f64 + 0.5);
            total += amount;
        }
        let centre = ((x_moment / total) as f32, (y_moment / total) as f32);
        Self { ink, width, height, columns, rows, centre }
    }

    /// The width and height of the ink's bounding box.
    const fn sides(&self) -> (usize, usize) {
        (self.columns.1 - self.columns.0 + 1, self.rows.1 - self.rows.0 + 1)
    }

    /// Whether the picture is as large as MNIST's, and its digit has the size and the position of an MNIST digit.
    fn is_like_mnist(&self) -> bool {
        let (columns, rows) = self.sides();
        let middle = SIDE as f32 / 2.0;
        let is_centred = |at: f32| (at - middle).abs() <= MAX_OFFSET;
        (self.width, self.height) == (SIDE, SIDE)
            && BOXES.contains(&columns.max(rows))
            && is_centred(self.centre.0)
            && is_centred(self.centre.1)
    }

    /// Crops the picture to its ink, scales it to fit the box, and centres it by mass.
    fn cropped_and_centred(&self) -> Vec<f32> {
        let ((left, right), (top, bottom)) = (self.columns, self.rows);
        let (columns, rows) = self.sides();
        // The number of source pixels per pixel of the result, along each axis.
        let scale = columns.max(rows) as f32 / BOX as f32;
        let inside = |value: f32, limit: usize| (value.max(0.0) as usize).min(limit);
        let mut image = vec![0.0; SIDE * SIDE];
        for (i, pixel) in image.iter_mut().enumerate() {
            let at = |position: usize, centre: f32| centre + (position as f32 - 14.0) * scale;
            let (x0, y0) = (at(i % SIDE, self.centre.0), at(i / SIDE, self.centre.1));
            let (x1, y1) = (x0 + scale, y0 + scale);
            if x1 <= left as f32 || y1 <= top as f32 || x0 > right as f32 || y0 > bottom as f32 {
                continue;
            }
            // Computes the mean of the source pixels that the result's pixel covers.
            let (mut sum, mut weight) = (0.0, 0.0);
            for y in inside(y0, self.height - 1)..=inside(y1.ceil() - 1.0, self.height - 1) {
                for x in inside(x0, self.width - 1)..=inside(x1.ceil() - 1.0, self.width - 1) {
                    let over = |low: f32, high: f32, at: usize| {
                        (high.min(at as f32 + 1.0) - low.max(at as f32)).max(0.0)
                    };
                    let area = over(x0, x1, x) * over(y0, y1, y);
                    sum += area * self.ink[y * self.width + x];
                    weight += area;
                }
            }
            if weight > 0.0 {
                *pixel = sum / weight;
            }
        }
        image
    }
}

#[cfg(test)]
mod tests;
