//! `cuda/textures.cu`: the expected values of textures and surfaces, in plain Rust.

use ptx_emulator::source::Source;
use ptx_emulator::texture::{AddressMode, Channel, Filter, Format, Resource, Sampling, Texels};
use ptx_emulator::{Checks, Emulator, Launch, RunOptions};

use super::{numbers, texts};

/// The number of threads, and the number of results of each.
const THREADS: usize = 64;
const RESULTS: usize = 20;

/// An image: values by channel, x, y and z (or layer).
struct Image {
    size: [usize; 3],
    channels: usize,
    values: Vec<f32>,
}

impl Image {
    fn texel(&self, [x, y, z]: [usize; 3], channel: usize) -> f32 {
        let [width, height, _] = self.size.map(|length| length.max(1));
        self.values[((z * height + y) * width + x) * self.channels + channel]
    }

    /// Linear filtering along the first axes, with weights of eight bits and clamped coordinates. An axis that
    /// is not filtered is a layer.
    fn filtered(&self, at: &[f32], layer: usize, channel: usize) -> f32 {
        let mut parts = vec![(1.0, [0; 3])];
        for (axis, &x) in at.iter().enumerate() {
            let last = self.size[axis] as f64 - 1.0;
            let place = f64::from(x) - 0.5;
            let weight = ((place - place.floor()) * 256.0).round() / 256.0;
            let ends = [(1.0 - weight, place.floor()), (weight, place.floor() + 1.0)];
            parts = parts
                .iter()
                .flat_map(|&(before, index)| {
                    ends.map(|(weight, to)| {
                        let mut index: [usize; 3] = index;
                        index[axis] = to.clamp(0.0, last) as usize;
                        (before * weight, index)
                    })
                })
                .collect();
        }
        let layered = at.len() < 3 && self.size[2] > 0;
        let sum: f64 = parts
            .iter()
            .map(|&(weight, mut index)| {
                if layered {
                    index[2] = layer;
                }
                weight * f64::from(self.texel(index, channel))
            })
            .sum();
        sum as f32
    }

    /// The texel at the coordinates, or the nearest texel.
    fn nearest(&self, at: &[f32], channel: usize) -> f32 {
        let mut index = [0; 3];
        for (axis, &x) in at.iter().enumerate() {
            index[axis] = x.floor().clamp(0.0, self.size[axis] as f32 - 1.0) as usize;
        }
        self.texel(index, channel)
    }
}

/// An image of pseudo-random numbers, and its texels in device memory.
fn image(
    emulator: &Emulator,
    channel: Channel,
    channels: usize,
    size: [usize; 3],
    layered: bool,
) -> (Image, Texels) {
    let count = size.iter().map(|length| length.max(&1)).product::<usize>() * channels;
    let random = numbers(count);
    let format = Format { channel, channels: channels as u32 };
    let (bytes, values): (Vec<u8>, Vec<f32>) = if channel == Channel::F32 {
        let values: Vec<f32> = random.iter().map(|n| (n % 4096) as f32 / 16.0 - 100.0).collect();
        (values.iter().flat_map(|value| value.to_le_bytes()).collect(), values)
    } else {
        let bytes: Vec<u8> = random.iter().map(|n| (n >> 8) as u8).collect();
        let values = bytes.iter().map(|&byte| f32::from(byte)).collect();
        (bytes, values)
    };
    let memory = emulator.memory();
    let base = memory.allocate(bytes.len() as u64, 512).unwrap();
    memory.write(base, &bytes).unwrap();
    let [width, height, depth] = size.map(|length| length as u64);
    let pitch = width * format.bytes();
    let texels = Texels {
        base,
        format,
        width,
        height,
        depth: if layered { 0 } else { depth },
        layers: if layered { depth } else { 0 },
        pitch,
        slice: pitch * height.max(1),
        linear: false,
        cube: false,
    };
    (Image { size, channels, values }, texels)
}

#[test]
fn textures_and_a_surface() {
    let all = Checks { synchronisation: true, initialisation: true, races: true };
    for (name, text) in texts("textures") {
        for checks in [Checks::default(), all] {
            let emulator = Emulator::new(RunOptions { checks, ..RunOptions::default() });
            run(&emulator, &format!("{name}, {checks:?}"), &text);
        }
    }
}

fn run(emulator: &Emulator, name: &str, text: &str) {
    let linear = Sampling {
        address: [AddressMode::Clamp; 3],
        filter: Filter::Linear,
        ..Sampling::default()
    };
    let f32 = Channel::F32;
    let (line, memory) = image(emulator, f32, 1, [50, 0, 0], false);
    let (curve, one) = image(emulator, f32, 1, [9, 0, 0], false);
    let (flat, two) = image(emulator, f32, 1, [6, 5, 0], false);
    let (deep, three) = image(emulator, f32, 1, [5, 4, 3], false);
    let (curves, ones) = image(emulator, f32, 1, [7, 0, 3], true);
    let (flats, twos) = image(emulator, f32, 1, [4, 4, 3], true);
    let (colours, four) = image(emulator, Channel::U8, 4, [8, 4, 0], false);
    let (_, drawn) = image(emulator, f32, 1, [8, 8, 0], false);
    let colour = Sampling { scaled: true, normalised: true, ..linear };
    let point = Sampling { filter: Filter::Point, ..linear };
    let resources = [
        Resource::Texture(Texels { linear: true, ..memory }, point),
        Resource::Texture(one, linear),
        Resource::Texture(two, linear),
        Resource::Texture(three, linear),
        Resource::Texture(ones, linear),
        Resource::Texture(twos, linear),
        Resource::Texture(four, colour),
        Resource::Texture(four, point),
        Resource::Surface(drawn),
    ];
    let bindings = emulator.memory().bindings();
    let handles: Vec<u8> =
        resources.iter().flat_map(|&resource| bindings.create(resource).to_le_bytes()).collect();
    let at: Vec<f32> =
        numbers(3 * THREADS).iter().map(|n| (n % 8000) as f32 / 800.0 - 1.0).collect();
    let place = |bytes: &[u8]| {
        let address = emulator.memory().allocate(bytes.len() as u64, 16).unwrap();
        emulator.memory().write(address, bytes).unwrap();
        address
    };
    let out = place(&[0; THREADS * RESULTS * 4]);
    let places: Vec<u8> = at.iter().flat_map(|x| x.to_le_bytes()).collect();
    let pointers = [out, place(&handles), place(&places)];
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    let loaded = emulator.load(source).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
    let parameters = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
    let block = [THREADS as u32, 1, 1];
    let launch = Launch { grid: [1; 3], block, parameters, ..Launch::default() };
    if let Err(fault) = emulator.launch(&loaded.kernel("k").unwrap(), &launch) {
        panic!("{name}: {fault}");
    }
    let mut bytes = vec![0; THREADS * RESULTS * 4];
    emulator.memory().read(out, &mut bytes).unwrap();
    let found: Vec<f32> =
        bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect();
    let written = |x: i32, y: usize| 3.0 * (y * 8 + x as usize) as f32;
    for (t, found) in found.chunks(RESULTS).enumerate() {
        let [x, y, z] = [at[3 * t], at[3 * t + 1], at[3 * t + 2]];
        let fetched = t.checked_sub(4).filter(|&index| index < 50);
        // The four texels around a position, from the lower left.
        let [i, j] = [x - 0.5, y - 0.5].map(f32::floor);
        let around = |dx: f32, dy: f32| flat.nearest(&[i + dx, j + dy], 0);
        let scaled = |channel: usize| colours_mixed(&colours, [x * 2.0, y], channel);
        let raw = |channel: usize| colours.nearest(&[x, y], channel);
        let left = (t % 8) as i32 - 2;
        let inside = if left < 0 { 0.0 } else { written(left, t / 8) };
        let expected = [
            fetched.map_or(0.0, |index| line.values[index]),
            curve.filtered(&[x], 0, 0),
            flat.filtered(&[x, y], 0, 0),
            deep.filtered(&[x, y, z], 0, 0),
            curves.filtered(&[x], t % 3, 0),
            flats.filtered(&[x, y], t % 3, 0),
            scaled(0),
            scaled(1),
            scaled(2),
            scaled(3),
            raw(0),
            raw(1) + 256.0 * raw(2),
            raw(3),
            around(0.0, 1.0),
            around(1.0, 1.0),
            around(1.0, 0.0),
            around(0.0, 0.0),
            flat.filtered(&[x, y], 0, 0),
            3.0 * (63 - t) as f32,
            inside + 1000.0 * written(left.max(0), t / 8),
        ];
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            // The fraction of 255 is rounded for each texel, and then the sum is rounded.
            let near = if (6..10).contains(&index) { 1.2e-7 } else { 0.0 };
            let close = (found - expected).abs() <= near;
            assert!(close, "{name}: thread {t}, number {index}: {found}, expected {expected}");
        }
    }
}

/// Linear filtering of colours from 0 to 1.
fn colours_mixed(colours: &Image, at: [f32; 2], channel: usize) -> f32 {
    let values = colours.values.iter().map(|value| value / 255.0).collect();
    let fractions = Image { size: colours.size, channels: 4, values };
    fractions.filtered(&at, 0, channel)
}
