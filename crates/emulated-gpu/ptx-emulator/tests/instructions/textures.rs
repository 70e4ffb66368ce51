//! The textures and surfaces for the rows in `rows/textures.txt`, as described there.

use ptx_emulator::Emulator;
use ptx_emulator::texture::{Channel, Filter, Format, Resource, Sampling, Texels};

/// The minimum alignment of rows in bytes.
const PITCH: u64 = 32;

/// Texels with one channel, in newly allocated memory.
fn texels(
    emulator: &Emulator,
    channel: Channel,
    ([width, height, depth], layers): ([u64; 3], u64),
    value: impl Fn(u64, u64, u64) -> u32,
) -> Texels {
    let memory = emulator.memory();
    let (rows, slices) = (height.max(1), depth.max(1) * layers.max(1));
    let base = memory.allocate(PITCH * rows * slices, 512).unwrap();
    let format = Format { channel, channels: 1 };
    let (pitch, slice) = (PITCH, PITCH * rows);
    for z in 0..slices {
        for y in 0..rows {
            for x in 0..width {
                let bytes = value(x, y, z).to_le_bytes();
                let at = base + z * slice + y * pitch + x * format.bytes();
                memory.write(at, &bytes[..format.bytes() as usize]).unwrap();
            }
        }
    }
    Texels { base, format, width, height, depth, layers, pitch, slice, linear: false, cube: false }
}

fn cubes(layers: Texels) -> Texels {
    Texels { cube: true, ..layers }
}

/// Creates the textures, surfaces and samplers of these tests, in the order of their handles.
pub(super) fn create_resources(emulator: &Emulator) {
    let point = Sampling::default();
    let linear = Sampling { filter: Filter::Linear, ..point };
    let float = |value: u64| (value as f32).to_bits();
    let number = |x: u64, y: u64, _: u64| (10 * y + x) as u32;
    let (u32, s32, f32) = (Channel::U32, Channel::S32, Channel::F32);
    let resources = [
        Resource::Texture(
            texels(emulator, u32, ([4, 0, 0], 0), |x, _, _| 10 * (x as u32 + 1)),
            point,
        ),
        Resource::Texture(
            texels(emulator, f32, ([4, 2, 0], 0), |x, y, _| float(10 * y + x)),
            linear,
        ),
        Resource::Texture(
            texels(emulator, s32, ([2, 2, 2], 0), |x, y, z| !(x + 2 * y + 4 * z) as u32),
            point,
        ),
        Resource::Texture(
            texels(emulator, u32, ([2, 0, 0], 3), |x, _, z| (100 * z + x) as u32),
            point,
        ),
        Resource::Texture(
            texels(emulator, f32, ([2, 2, 0], 2), |x, y, z| float(100 * z + 10 * y + x)),
            linear,
        ),
        Resource::Surface(texels(emulator, u32, ([4, 2, 0], 0), number)),
        Resource::Surface(texels(emulator, u32, ([4, 2, 0], 0), number)),
        Resource::Surface(texels(emulator, s32, ([2, 2, 2], 0), number)),
        Resource::Surface(texels(emulator, u32, ([4, 0, 0], 3), number)),
        Resource::Surface(texels(emulator, Channel::F16, ([2, 2, 0], 2), number)),
        Resource::Texture(
            cubes(texels(emulator, f32, ([2, 2, 0], 6), |x, y, z| float(100 * z + 10 * y + x))),
            linear,
        ),
        Resource::Texture(
            cubes(texels(emulator, u32, ([2, 2, 0], 12), |x, y, z| (100 * z + 10 * y + x) as u32)),
            point,
        ),
    ];
    for (index, resource) in resources.into_iter().enumerate() {
        assert_eq!(emulator.memory().bindings().create(resource), 1 << 62 | index as u64);
    }
}
