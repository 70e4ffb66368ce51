use std::fs;

use data::{Counts, Images, Source};
use png::{BitDepth, ColorType};

use super::*;

/// Built-in digits.
fn digits() -> Images {
    let counts = Counts { train: 40, test: 1 };
    data::load(Source::Digits, None, counts, &mut |_| {}).unwrap().train
}

/// A square picture of a seven, ink from 0 to 1, drawn with round strokes, slightly off centre.
fn seven(side: usize) -> Vec<f32> {
    let s = side as f32;
    let mut ink = vec![0.0_f32; side * side];
    let mut dot = |x: f32, y: f32| {
        for (i, ink) in ink.iter_mut().enumerate() {
            let away = ((i % side) as f32 - x).hypot((i / side) as f32 - y);
            *ink = ink.max((0.04 * s + 0.5 - away).clamp(0.0, 1.0));
        }
    };
    for k in 0..=80 {
        let f = k as f32 / 80.0;
        dot(s * (0.27 + 0.42 * f), s * 0.25);
        dot(s * (0.69 - 0.27 * f), s * (0.25 + 0.52 * f));
    }
    ink
}

/// The pixel format of a PNG.
struct Format {
    colour: ColorType,
    depth: BitDepth,
    palette: Option<Vec<u8>>,
    /// The PNG's transparency: the grey value that is transparent, or the opacities of the palette's entries.
    transparent: Option<Vec<u8>>,
}

impl Format {
    fn plain(colour: ColorType) -> Self {
        Self { colour, depth: BitDepth::Eight, palette: None, transparent: None }
    }

    /// Writes raw pixels as a PNG of this format, and reads the digit.
    fn read(&self, bytes: &[u8], (width, height): (usize, usize)) -> Result<[u8; SIDE * SIDE]> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("digit.png");
        let file = fs::File::create(&path).unwrap();
        let mut encoder = png::Encoder::new(file, width as u32, height as u32);
        encoder.set_color(self.colour);
        encoder.set_depth(self.depth);
        if let Some(palette) = &self.palette {
            encoder.set_palette(palette.clone());
        }
        if let Some(transparent) = &self.transparent {
            encoder.set_trns(transparent.clone());
        }
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
        read_digit(&path)
    }
}

/// Reads a square picture with 8 bits a sample; `pixel` returns the samples for an amount of ink.
fn read(colour: ColorType, ink: &[f32], pixel: impl Fn(f32) -> Vec<u8>) -> [u8; SIDE * SIDE] {
    let side = ink.len().isqrt();
    let bytes: Vec<u8> = ink.iter().copied().flat_map(pixel).collect();
    Format::plain(colour).read(&bytes, (side, side)).unwrap()
}

fn byte(value: f32) -> u8 {
    (255.0 * value).round() as u8
}

/// Reads a picture with light ink on black.
fn on_black(ink: &[f32]) -> [u8; SIDE * SIDE] {
    read(ColorType::Grayscale, ink, |ink| vec![byte(ink)])
}

/// Asserts that both pictures show the same digit. Shades may differ by rounding, and so may faint ink that counts as
/// noise.
#[track_caller]
fn assert_same_digit(found: &[u8], expected: &[u8], what: &str) {
    let apart = |(a, b): (&u8, &u8)| u64::from(a.abs_diff(*b));
    let most = found.iter().zip(expected).map(apart).max().unwrap();
    let sum: u64 = found.iter().zip(expected).map(apart).sum();
    assert!(most <= 26 && sum <= 784, "{what}: {most} at most, {sum} in all");
}

#[test]
fn an_image_like_mnists_is_not_changed() {
    let digits = digits();
    for i in 0..digits.len() {
        let digit = digits.image(i);
        let as_16_bits: Vec<u8> = digit.iter().flat_map(|&v| [v, v]).collect();
        let each = |pixel: &dyn Fn(u8) -> Vec<u8>| -> Vec<u8> {
            digit.iter().flat_map(|&v| pixel(v)).collect()
        };
        let deep = Format { depth: BitDepth::Sixteen, ..Format::plain(ColorType::Grayscale) };
        let greys = (0..=255).flat_map(|v| [v; 3]).collect();
        let indexed = Format { palette: Some(greys), ..Format::plain(ColorType::Indexed) };
        let cases = [
            (Format::plain(ColorType::Grayscale), each(&|v| vec![v])),
            (Format::plain(ColorType::Grayscale), each(&|v| vec![255 - v])),
            (deep, as_16_bits),
            (indexed, each(&|v| vec![v])),
            (Format::plain(ColorType::Rgb), each(&|v| vec![v; 3])),
            (Format::plain(ColorType::Rgb), each(&|v| vec![255 - v; 3])),
            (Format::plain(ColorType::Rgba), each(&|v| vec![v, v, v, 255])),
            // Pictures of black and of white ink without paper, in which the opacity is the amount of ink.
            (Format::plain(ColorType::Rgba), each(&|v| vec![0, 0, 0, v])),
            (Format::plain(ColorType::Rgba), each(&|v| vec![255, 255, 255, v])),
            (Format::plain(ColorType::GrayscaleAlpha), each(&|v| vec![0, v])),
            (Format::plain(ColorType::GrayscaleAlpha), each(&|v| vec![255, v])),
        ];
        for (k, (format, bytes)) in cases.iter().enumerate() {
            let found = format.read(bytes, (SIDE, SIDE)).unwrap();
            assert!(found == digit, "digit {i}, case {k}");
        }
    }
}

#[test]
fn a_digit_that_touches_the_border_is_not_changed() {
    let mut digit = digits().image(0).to_vec();
    // Ink as faint as 1 is kept, because the paper is even; on uneven paper it would be noise.
    digit[..4].copy_from_slice(&[9, 120, 30, 1]);
    let found = Format::plain(ColorType::Grayscale).read(&digit, (SIDE, SIDE)).unwrap();
    assert!(found[..] == digit[..]);
}

#[test]
fn a_digit_is_the_same_on_every_paper_at_every_size() {
    let papers =
        [1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.55, 0.45, 0.3, 0.2, 0.1, 0.05, 0.0].into_iter();
    for side in [20, 28, 56, 100, 280] {
        let seven = seven(side);
        let expected = on_black(&seven);
        for (paper, ink) in papers.clone().flat_map(|paper| [(paper, 0.0), (paper, 1.0)]) {
            if f32::abs(paper - ink) < 0.3 {
                continue;
            }
            let grey = |amount: f32| vec![byte(paper + (ink - paper) * amount)];
            let found = read(ColorType::Grayscale, &seven, grey);
            assert_same_digit(&found, &expected, &format!("{ink} on {paper} at {side}"));
        }
        for ink in [0, 90, 128, 255] {
            let found = read(ColorType::GrayscaleAlpha, &seven, |v| vec![ink, byte(v)]);
            assert_same_digit(&found, &expected, &format!("{ink} on nothing at {side}"));
        }
        let red_on_green = |v: f32| vec![byte(0.8 * v), byte(0.8 * (1.0 - v)), 0];
        let found = read(ColorType::Rgb, &seven, red_on_green);
        assert_same_digit(&found, &expected, &format!("red on green of its brightness, at {side}"));
    }
    for digit in (0..10).map(|i| digits().image(i).to_vec()) {
        let ink: Vec<f32> = digit.iter().map(|&v| f32::from(v) / 255.0).collect();
        for (paper, light) in [(0.95, 0.0), (0.6, 0.1), (0.3, 0.9), (0.05, 1.0)] {
            let grey = |amount: f32| vec![byte(paper + (light - paper) * amount)];
            let found = read(ColorType::Grayscale, &ink, grey);
            // The digit's strongest ink is nearly full, and is stretched to full ink.
            let full = f32::from(*digit.iter().max().unwrap());
            let expected: Vec<u8> = digit.iter().map(|&v| byte(f32::from(v) / full)).collect();
            assert_same_digit(&found, &expected, &format!("{light} on {paper}"));
        }
    }
}

#[test]
fn palettes_and_transparent_colours_are_read() {
    let ink = seven(100);
    let expected = on_black(&ink);
    let levels: Vec<u8> = ink.iter().map(|&ink| byte(ink)).collect();
    let grey = Format { transparent: Some(vec![0, 0]), ..Format::plain(ColorType::Grayscale) };
    assert_same_digit(
        &grey.read(&levels, (100, 100)).unwrap(),
        &expected,
        "black stands for nothing",
    );
    // Pictures with an inverted palette, and with a palette whose first entry is transparent.
    let backwards = (0..=255).flat_map(|v: u8| [255 - v; 3]).collect();
    let indexed = Format { palette: Some(backwards), ..Format::plain(ColorType::Indexed) };
    assert_same_digit(&indexed.read(&levels, (100, 100)).unwrap(), &expected, "palette");
    let hard: Vec<f32> = ink.iter().map(|&ink| if ink > 0.5 { 1.0 } else { 0.0 }).collect();
    let bits: Vec<u8> = hard.iter().map(|&ink| u8::from(ink > 0.5)).collect();
    for ink in [[0; 3], [255; 3]] {
        let palette = [[255; 3], ink].concat();
        let (palette, transparent) = (Some(palette), Some(vec![0]));
        let format = Format { palette, transparent, ..Format::plain(ColorType::Indexed) };
        let found = format.read(&bits, (100, 100)).unwrap();
        assert_same_digit(&found, &on_black(&hard), "an entry stands for nothing");
    }
}

#[test]
fn a_digit_in_a_corner_of_a_small_picture_is_centred() {
    // The digit has half the size and is at the top left of 28 x 28 pixels, on black and on grey.
    let small = seven(14);
    let mut ink = vec![0.0; SIDE * SIDE];
    for (i, &amount) in small.iter().enumerate() {
        ink[i / 14 * SIDE + i % 14] = amount;
    }
    let grey = read(ColorType::Grayscale, &ink, |v| vec![byte(0.8 - 0.7 * v)]);
    for found in [on_black(&ink), grey] {
        let amounts: Vec<f32> = found.iter().map(|&v| f32::from(v) / 255.0).collect();
        let placed = Digit::find(&amounts, SIDE, SIDE);
        assert!((placed.centre.0 - 14.0).abs() < 0.5 && (placed.centre.1 - 14.0).abs() < 0.5);
        let (columns, rows) = placed.sides();
        assert!((17..=21).contains(&columns.max(rows)), "{columns} x {rows}");
    }
}

#[test]
fn a_large_picture_is_scaled_to_mnists_size() {
    // The digit is eight times as large, dark on light, and off the centre of a wide picture.
    let (zoom, width, height, left, top) = (8, 500, 300, 240, 40);
    let digit = digits().image(2).to_vec();
    let mut sheet = vec![250; width * height];
    for (i, pixel) in sheet.iter_mut().enumerate() {
        let (x, y) = (i % width, i / width);
        if (left..left + zoom * SIDE).contains(&x) && (top..top + zoom * SIDE).contains(&y) {
            *pixel = 255 - digit[(y - top) / zoom * SIDE + (x - left) / zoom].max(5);
        }
    }
    let read = Format::plain(ColorType::Grayscale).read(&sheet, (width, height)).unwrap();
    let inked = |image: &[u8], i: usize| image[i] > 127;
    let count = |test: &dyn Fn(usize) -> bool| (0..SIDE * SIDE).filter(|&i| test(i)).count();
    let both = count(&|i| inked(&digit, i) && inked(&read, i));
    let either = count(&|i| inked(&digit, i) || inked(&read, i));
    assert!(3 * both > 2 * either, "{both} of {either} inked pixels are the same");
    // The border of MNIST's images is empty.
    assert!((0..SIDE).all(|i| read[i] == 0 && read[i * SIDE] == 0));
}

#[test]
fn pictures_without_a_digit_and_invalid_files_are_refused() {
    let grey = Format::plain(ColorType::Grayscale);
    for even in [0, 90, 255] {
        let said = grey.read(&[even; 40 * 30], (40, 30)).unwrap_err().to_string();
        assert!(said.contains("shows no digit"), "{even}: {said}");
    }
    let nothing = Format::plain(ColorType::GrayscaleAlpha).read(&[0; 2 * 40 * 30], (40, 30));
    assert!(nothing.unwrap_err().to_string().contains("shows no digit"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("digit.png");
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_digit(&path).unwrap_err().to_string()
    };
    let mut whole = Vec::new();
    let mut encoder = png::Encoder::new(&mut whole, 40, 30);
    encoder.set_color(ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[255; 40 * 30]).unwrap();
    // The PNG is cut off at any byte before the end of the pixel data.
    let pixels_end = whole.windows(4).position(|name| name == b"IEND").unwrap() - 8;
    for cut in 0..pixels_end {
        let said = said(&whole[..cut]);
        assert!(said.contains("not a valid PNG"), "{said}");
    }
    // An endless device is rejected because of its first bytes.
    #[cfg(unix)]
    assert!(
        read_digit(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a valid PNG")
    );
    assert!(
        grey.read(&[0; 5000], (5000, 1)).unwrap_err().to_string().contains("the limit is 4096")
    );
    // A header that states 4 billion pixels is refused before memory is allocated for them.
    let header = whole.windows(4).position(|name| name == b"IHDR").unwrap();
    whole[header + 4..header + 12].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let sum = crc32(&whole[header..header + 17]);
    whole[header + 17..header + 21].copy_from_slice(&sum.to_be_bytes());
    assert!(said(&whole).contains("it has 65535 x 65535 pixels; the limit is 4096 a side"));
    for (bytes, name) in [
        (&b"\xff\xd8\xff\xe0\0\x10JFIF"[..], "a JPEG picture"),
        (b"GIF89a", "a GIF picture"),
        (b"BM\x8a\0\0\0", "a BMP picture"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP picture"),
        (b"\0\0\0\x18ftypheic", "a HEIC picture"),
        (b"II*\0\x08\0", "a TIFF picture"),
    ] {
        let said = said(bytes);
        let expected = format!("it is {name}, not a PNG picture: save it as PNG");
        assert!(said.ends_with(&expected), "{said}");
    }
    assert!(said(b"version https://git-lfs.github.com/spec/v1\n").contains("`git lfs pull`"));
}

/// The checksum of a chunk of a PNG: CRC-32 of ISO 3309 (PNG specification, annex D).
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
