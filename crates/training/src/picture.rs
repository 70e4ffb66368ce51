//! Single digits as picture files: reading one to be recognised, and writing one into a sheet.

use std::io::Cursor;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tensor::file;

use crate::{Error, Result};

/// Width and height of an MNIST image.
const SIDE: usize = 28;
/// MNIST's authors scaled each digit to fit a box of this side, in the middle of the image.
const BOX: usize = 20;
/// No picture of one digit needs to be wider or higher; a larger one is refused before its pixels
/// are unpacked.
const LARGEST: u32 = 4096;
/// More than the pixels of the largest picture, not packed at all, with 16 bits for each channel.
const MOST_BYTES: u64 = 1 << 28;

/// Reads a PNG of one digit as an image like MNIST's: `28 × 28`, ink 255 on paper 0.
///
/// A picture of `28 × 28` is taken as it is, any other is cropped to its ink, scaled to fit
/// `20 × 20` and placed with its centre of mass in the middle, as MNIST's authors did. What the
/// border shows is the paper, so dark ink on light paper and light on dark are both read.
///
/// # Errors
/// When the file is no PNG, is larger than 4096 pixels a side, or holds no ink.
pub fn read_digit(path: &Path) -> Result<[u8; SIDE * SIDE]> {
    let error = |reason: String| Error::Read { path: path.into(), reason };
    let (gray, width, height) = read_gray(path).map_err(error)?;
    let paper = border_mean(&gray, width, height);
    let contrast = gray.iter().map(|v| (v - paper).abs()).fold(0.0, f32::max);
    if contrast < 0.1 {
        return Err(error("it holds no ink: one even colour".into()));
    }
    let placed = if (width, height) == (SIDE, SIDE) {
        gray.into_iter().map(|v| if paper > 0.5 { 1.0 - v } else { v }).collect()
    } else {
        // Whatever the colours of paper and ink, paper becomes 0 and the strongest ink 1.
        let ink = |v: f32| Some((v - paper).abs() / contrast).filter(|&v| v > 0.1);
        let ink: Vec<f32> = gray.into_iter().map(|v| ink(v).unwrap_or(0.0)).collect();
        place(&ink, width, height)
    };
    let mut image = [0; SIDE * SIDE];
    for (pixel, value) in image.iter_mut().zip(placed) {
        let byte = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        *pixel = byte;
    }
    Ok(image)
}

/// Decodes a PNG into brightness, 0 to 1, row-major; what is transparent is white paper.
fn read_gray(path: &Path) -> Result<(Vec<f32>, usize, usize), String> {
    let text = |error: &dyn std::fmt::Display| format!("it is no usable PNG: {error}");
    let bytes = file::open(path).and_then(|file| file::read(file, MOST_BYTES));
    let bytes = bytes.map_err(|error| error.to_string())?;
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| text(&error))?;
    let (width, height) = reader.info().size();
    if width.max(height) > LARGEST {
        return Err(format!("it is {width} x {height}; at most {LARGEST} a side are read"));
    }
    let size = reader.output_buffer_size().ok_or_else(|| text(&"it is too large"))?;
    let mut bytes = vec![0; size];
    let info = reader.next_frame(&mut bytes).map_err(|error| text(&error))?;
    bytes.truncate(info.buffer_size());
    let channels = info.color_type.samples();
    let level = |byte: u8| f32::from(byte) / 255.0;
    let gray = bytes.chunks_exact(channels).map(|pixel| {
        let colours = if channels >= 3 { 3 } else { 1 };
        let mean = pixel[..colours].iter().map(|&byte| level(byte)).sum::<f32>() / colours as f32;
        let opacity = if channels.is_multiple_of(2) { level(pixel[channels - 1]) } else { 1.0 };
        mean * opacity + (1.0 - opacity)
    });
    Ok((gray.collect(), width as usize, height as usize))
}

/// The mean brightness of the outermost pixels.
fn border_mean(gray: &[f32], width: usize, height: usize) -> f32 {
    let on_border = |i: usize| {
        let (x, y) = (i % width, i / width);
        x == 0 || y == 0 || x == width - 1 || y == height - 1
    };
    let border: Vec<f32> = (0..gray.len()).filter(|&i| on_border(i)).map(|i| gray[i]).collect();
    border.iter().sum::<f32>() / border.len() as f32
}

/// Crops to the ink, scales to fit the box, and centres by mass.
fn place(ink: &[f32], width: usize, height: usize) -> Vec<f32> {
    let dark = |x: usize, y: usize| ink[y * width + x] > 0.2;
    let rows: Vec<usize> = (0..height).filter(|&y| (0..width).any(|x| dark(x, y))).collect();
    let columns: Vec<usize> = (0..width).filter(|&x| (0..height).any(|y| dark(x, y))).collect();
    let (Some(&top), Some(&bottom)) = (rows.first(), rows.last()) else {
        return vec![0.0; SIDE * SIDE];
    };
    let (left, right) = (columns[0], columns[columns.len() - 1]);
    let (crop_width, crop_height) = ((right - left + 1) as f32, (bottom - top + 1) as f32);
    // Source pixels for each pixel of the result.
    let scale = crop_width.max(crop_height) / BOX as f32;
    let inside = |value: f32, limit: usize| (value.max(0.0) as usize).min(limit);
    let shrink = |cx: f32, cy: f32| {
        let mut image = vec![0.0; SIDE * SIDE];
        for (i, pixel) in image.iter_mut().enumerate() {
            let at = |position: usize, centre: f32| centre + (position as f32 - 14.0) * scale;
            let (x0, y0) = (at(i % SIDE, cx), at(i / SIDE, cy));
            let (x1, y1) = (x0 + scale, y0 + scale);
            if x1 <= left as f32 || y1 <= top as f32 || x0 > right as f32 || y0 > bottom as f32 {
                continue;
            }
            // The mean of the source pixels that the result's pixel covers.
            let (mut sum, mut weight) = (0.0, 0.0);
            for y in inside(y0, height - 1)..=inside(y1.ceil() - 1.0, height - 1) {
                for x in inside(x0, width - 1)..=inside(x1.ceil() - 1.0, width - 1) {
                    let over = |low: f32, high: f32, at: usize| {
                        (high.min(at as f32 + 1.0) - low.max(at as f32)).max(0.0)
                    };
                    let area = over(x0, x1, x) * over(y0, y1, y);
                    sum += area * ink[y * width + x];
                    weight += area;
                }
            }
            if weight > 0.0 {
                *pixel = sum / weight;
            }
        }
        image
    };
    let mass = |weights: &mut dyn Iterator<Item = (f32, f32)>| {
        let (moment, total) = weights.fold((0.0, 0.0), |(m, t), (at, w)| (m + at * w, t + w));
        moment / total
    };
    let centre_x = mass(&mut (0..ink.len()).map(|i| ((i % width) as f32 + 0.5, ink[i])));
    let centre_y = mass(&mut (0..ink.len()).map(|i| ((i / width) as f32 + 0.5, ink[i])));
    shrink(centre_x, centre_y)
}

/// A grey image, 0 black to 255 white as MNIST stores it, as a `data:` URI with a PNG of dark ink
/// on white paper.
#[must_use]
pub fn data_uri(pixels: &[u8], width: usize, height: usize) -> String {
    let paper: Vec<u8> = pixels.iter().map(|&ink| 255 - ink).collect();
    encoded(&paper, (width, height), png::ColorType::Grayscale)
}

/// Values of either sign as a `data:` URI with a PNG: zero is the middle of the colour map, and the
/// largest magnitude one of its ends.
#[must_use]
pub fn values_uri(values: &[f32], width: usize, height: usize) -> String {
    let most = values.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let colour = |&value: &f32| {
        let share = f64::from(value / most);
        page::VALUES.eval_continuous(0.5 + 0.5 * share.clamp(-1.0, 1.0)).as_array()
    };
    let pixels: Vec<u8> = values.iter().flat_map(colour).collect();
    encoded(&pixels, (width, height), png::ColorType::Rgb)
}

fn encoded(pixels: &[u8], (width, height): (usize, usize), colour: png::ColorType) -> String {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use data::{Counts, Source};

    use super::*;

    /// A built-in digit.
    fn digit() -> [u8; SIDE * SIDE] {
        let counts = Counts { train: 3, test: 1 };
        let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
        digits.train.image(2).try_into().unwrap()
    }

    fn write_png(path: &Path, pixels: &[u8], width: usize, height: usize, colour: png::ColorType) {
        let file = fs::File::create(path).unwrap();
        let mut encoder = png::Encoder::new(file, width as u32, height as u32);
        encoder.set_color(colour);
        encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    }

    #[test]
    fn an_image_of_mnists_size_is_taken_as_it_is_white_on_black_or_black_on_white() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("digit.png");
        let digit = digit();
        write_png(&path, &digit, SIDE, SIDE, png::ColorType::Grayscale);
        assert_eq!(read_digit(&path).unwrap(), digit);

        let inverted: Vec<u8> = digit.iter().map(|v| 255 - v).collect();
        write_png(&path, &inverted, SIDE, SIDE, png::ColorType::Grayscale);
        assert_eq!(read_digit(&path).unwrap(), digit);

        // Black ink whose opacity is the digit, on nothing.
        let transparent: Vec<u8> = digit.iter().flat_map(|&v| [0, 0, 0, v]).collect();
        write_png(&path, &transparent, SIDE, SIDE, png::ColorType::Rgba);
        assert_eq!(read_digit(&path).unwrap(), digit);
    }

    #[test]
    fn a_large_picture_is_brought_to_mnists_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("photo.png");
        // The digit eight times as large, dark on light, far from the middle of a wide sheet.
        let (zoom, width, height, left, top) = (8, 500, 300, 240, 40);
        let digit = digit();
        let mut sheet = vec![250; width * height];
        for (i, pixel) in sheet.iter_mut().enumerate() {
            let (x, y) = (i % width, i / width);
            if (left..left + zoom * SIDE).contains(&x) && (top..top + zoom * SIDE).contains(&y) {
                *pixel = 255 - digit[(y - top) / zoom * SIDE + (x - left) / zoom].max(5);
            }
        }
        write_png(&path, &sheet, width, height, png::ColorType::Grayscale);
        let read = read_digit(&path).unwrap();
        let inked = |image: &[u8], i: usize| image[i] > 127;
        let count = |test: &dyn Fn(usize) -> bool| (0..SIDE * SIDE).filter(|&i| test(i)).count();
        let both = count(&|i| inked(&digit, i) && inked(&read, i));
        let either = count(&|i| inked(&digit, i) || inked(&read, i));
        assert!(3 * both > 2 * either, "{both} of {either} inked pixels are the same");
        // The border of MNIST's images is empty.
        assert!((0..SIDE).all(|i| read[i] == 0 && read[i * SIDE] == 0));
    }

    #[test]
    fn what_shows_no_digit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.png");
        for even in [0, 90, 255] {
            write_png(&path, &[even; 40 * 30], 40, 30, png::ColorType::Grayscale);
            let said = read_digit(&path).unwrap_err().to_string();
            assert!(said.contains("holds no ink"), "{even}: {said}");
        }
        let whole = fs::read(&path).unwrap();
        // After the chunk of pixels, nothing is left that would change them.
        let pixels_end = whole.windows(4).position(|name| name == b"IEND").unwrap() - 8;
        for cut in 0..pixels_end {
            fs::write(&path, &whole[..cut]).unwrap();
            let said = read_digit(&path).unwrap_err().to_string();
            assert!(said.contains("no usable PNG"), "{said}");
        }
        write_png(&path, &[0; 5000], 5000, 1, png::ColorType::Grayscale);
        assert!(read_digit(&path).unwrap_err().to_string().contains("at most 4096"));
    }

    #[test]
    fn the_border_is_the_outermost_pixels_and_each_of_them_once() {
        #[rustfmt::skip]
        let gray = [
            1.0, 2.0, 3.0, 4.0,
            5.0, 9.0, 9.0, 6.0,
            7.0, 8.0, 1.0, 3.0,
        ];
        assert_eq!(border_mean(&gray, 4, 3), 40.0 / 10.0);
        assert_eq!(border_mean(&gray[..4], 4, 1), 10.0 / 4.0);
        assert_eq!(border_mean(&gray[..3], 1, 3), 6.0 / 3.0);
    }
}
