//! Textures and surfaces, by name and by handle, with filtering as in the guide's formulas.

use ptx_emulator::texture::{
    AddressMode, Channel, Filter, Format, Opaque, Resource, Sampling, Texels,
};
use ptx_emulator::{Emulator, Fault, FaultKind, Launch};

use crate::ptx::{HEADER, emulator, kernel, launch, load, read, words};

const F32: Format = Format { channel: Channel::F32, channels: 1 };

/// Allocates texels of 4 bytes, without padding.
fn texels(
    emulator: &Emulator,
    format: Format,
    [width, height, depth]: [u64; 3],
    values: &[u32],
) -> Texels {
    let base = words(emulator, values);
    let pitch = width * format.bytes();
    let slice = pitch * height.max(1);
    Texels {
        base,
        format,
        width,
        height,
        depth,
        layers: 0,
        pitch,
        slice,
        linear: false,
        cube: false,
    }
}

pub(crate) fn floats(emulator: &Emulator, size: [u64; 3], values: &[f32]) -> Texels {
    let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    texels(emulator, F32, size, &bits)
}

/// Runs the kernel `k` of a text in one thread, with these 64-bit parameters.
pub(crate) fn run(emulator: &Emulator, text: &str, parameters: &[u64]) -> Result<(), Fault> {
    launch(emulator, text, ([1; 3], [1; 3]), parameters).map(|_| ())
}

pub(crate) const REGISTERS: &str =
    ".reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %q;";

#[test]
fn a_variable_stands_for_the_resource_bound_to_it() {
    let emulator = emulator();
    let text = format!(
        "{HEADER}
        .global .texref t = {{ filter_mode = linear, normalized_coords = 1, addr_mode_0 = wrap }};
        .global .surfref s;
        .visible .entry k(.param .u64 out, .param .texref p)
        {{ {REGISTERS}
          ld.param.u64 %d0, [out];
          tex.1d.v4.f32.s32 {{%f0, _, _, _}}, [t, {{1}}];
          mov.u64 %d1, t;
          tex.1d.v4.f32.s32 {{%f1, _, _, _}}, [%d1, {{2}}];
          tex.1d.v4.f32.s32 {{%f2, _, _, _}}, [p, {{0}}];
          suld.b.1d.b32.trap %r0, [s, {{4}}];
          txq.width.b32 %r1, [p];
          mov.u64 %d2, p; istypep.texref %q, %d2; selp.u32 %r2, 1, 0, %q;
          st.global.v2.f32 [%d0], {{%f0, %f1}};
          st.global.v2.b32 [%d0+8], {{%f2, %r0}};
          st.global.v2.b32 [%d0+16], {{%r1, %r2}}; ret;
        }}"
    );
    let loaded = load(&emulator, &text);
    let bindings = emulator.memory().bindings();
    let (texture, sampling) = loaded.opaque("t", Opaque::Texture).unwrap();
    assert_eq!((sampling.filter, sampling.normalised), (Filter::Linear, true));
    assert_eq!(sampling.address[0], AddressMode::Wrap);
    let (surface, _) = loaded.opaque("s", Opaque::Surface).unwrap();
    assert_eq!((loaded.opaque("s", Opaque::Texture), loaded.variable("t")), (None, None));
    let values = floats(&emulator, [3, 0, 0], &[1.5, 2.5, 3.5]);
    let resource = Resource::Texture(values, Sampling::default());
    bindings.bind(texture, Opaque::Texture, Some(resource)).unwrap();
    bindings.bind(surface, Opaque::Surface, Some(Resource::Surface(values))).unwrap();
    let handle = bindings
        .create(Resource::Texture(floats(&emulator, [2, 0, 0], &[7.0, 8.0]), Sampling::default()));
    let out = words(&emulator, &[9; 6]);
    let parameters = [out, handle].iter().flat_map(|p| p.to_le_bytes()).collect();
    let launch = Launch { grid: [1; 3], block: [1; 3], parameters, ..Launch::default() };
    emulator.launch(&loaded.kernel("k").unwrap(), &launch).unwrap();
    let expected =
        [2.5_f32.to_bits(), 3.5_f32.to_bits(), 7.0_f32.to_bits(), 2.5_f32.to_bits(), 2, 1];
    assert_eq!(read(&emulator, out, 6), expected);
    // The binding may change from launch to launch. The variable is freed with its module.
    bindings.bind(texture, Opaque::Texture, None).unwrap();
    let fault = emulator.launch(&loaded.kernel("k").unwrap(), &launch).unwrap_err();
    assert!(fault.message.contains("no memory is bound"), "{fault}");
    drop(loaded);
    assert!(bindings.bind(texture, Opaque::Texture, None).is_err());
}

#[test]
fn the_old_texture_space_is_supported() {
    let emulator = emulator();
    let text = "
        .version 1.4\n.target sm_13\n.tex .u64 t;
        .entry k(.param .u64 out)
        { .reg .f32 %f<8>; .reg .u32 %r<4>; .reg .u64 %d;
          mov.u32 %r0, 1; mov.f32 %f4, 0f40000000;
          tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [t, {%r0,%r0,%r0,%r0}];
          ld.param.u64 %d, [out]; st.global.f32 [%d], %f0;
          tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f4,%f4,%f4,%f4}];
          st.global.f32 [%d+4], %f0; exit; }";
    let loaded = load(&emulator, text);
    let (texture, _) = loaded.opaque("t", Opaque::Texture).unwrap();
    let values = floats(&emulator, [3, 0, 0], &[1.5, 2.5, 3.5]);
    let resource = Resource::Texture(values, Sampling::default());
    emulator.memory().bindings().bind(texture, Opaque::Texture, Some(resource)).unwrap();
    let out = words(&emulator, &[9; 2]);
    let parameters = out.to_le_bytes().to_vec();
    let launch = Launch { grid: [1; 3], block: [1; 3], parameters, ..Launch::default() };
    emulator.launch(&loaded.kernel("k").unwrap(), &launch).unwrap();
    assert_eq!(read(&emulator, out, 2), [2.5_f32, 3.5].map(f32::to_bits));
}

/// The index of a texel by the guide's rules for coordinates outside; `None` for the border.
fn wrapped_index(mode: AddressMode, index: f64, length: usize) -> Option<usize> {
    let n = length as f64;
    let index = match mode {
        AddressMode::Clamp => index.max(0.0).min(n - 1.0),
        AddressMode::Border if index < 0.0 || index >= n => return None,
        AddressMode::Border => index,
        AddressMode::Wrap => index - n * (index / n).floor(),
        AddressMode::Mirror if (index / n).floor() % 2.0 == 0.0 => index - n * (index / n).floor(),
        AddressMode::Mirror => n - 1.0 - (index - n * (index / n).floor()),
    };
    Some(index as usize)
}

/// A fetch by the guide's formulas, in double precision.
pub(crate) fn expected(values: &[f32], size: [usize; 3], sampling: &Sampling, at: [f32; 3]) -> f64 {
    let axes = size.iter().filter(|&&length| length > 0).count();
    let mut picked = vec![(1.0, Some(0), 1)];
    for axis in 0..axes {
        let length = size[axis];
        let x = f64::from(at[axis]) * if sampling.normalised { length as f64 } else { 1.0 };
        let mode = sampling.mode(axis);
        let choices = match sampling.filter {
            Filter::Point => vec![(1.0, wrapped_index(mode, x.floor(), length))],
            Filter::Linear => {
                let (i, fraction) = ((x - 0.5).floor(), (x - 0.5) - (x - 0.5).floor());
                let alpha = (fraction * 256.0).round() / 256.0;
                vec![
                    (1.0 - alpha, wrapped_index(mode, i, length)),
                    (alpha, wrapped_index(mode, i + 1.0, length)),
                ]
            }
        };
        picked = picked
            .iter()
            .flat_map(|&(weight, index, stride): &(f64, Option<usize>, usize)| {
                choices.iter().map(move |&(own, place)| {
                    let index = index.zip(place).map(|(index, place)| index + stride * place);
                    (weight * own, index, stride * length)
                })
            })
            .collect();
    }
    let border = f64::from(sampling.border[0]);
    picked
        .iter()
        .map(|(weight, index, _)| weight * index.map_or(border, |i| f64::from(values[i])))
        .sum()
}

#[test]
fn filters_and_address_modes_follow_the_guide() {
    let emulator = emulator();
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let values: Vec<f32> = (0..60).map(|_| random() * 10.0 - 5.0).collect();
    let mut compared = 0;
    for (size, form) in [
        ([7, 0, 0], "1d.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1}]"),
        ([5, 3, 0], "2d.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1, %f2}]"),
        ([5, 4, 3], "3d.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1, %f2, %f3, %f3}]"),
    ] {
        let texels = floats(&emulator, size.map(|length| length as u64), &values);
        let body = format!(
            "{REGISTERS} mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 16; add.u64 %d0, %d0, %p0;
             ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%d0]; tex.{form}; st.global.f32 [%d0], %f0; ret;"
        );
        let text = kernel(2, &body);
        for mode in
            [AddressMode::Clamp, AddressMode::Border, AddressMode::Wrap, AddressMode::Mirror]
        {
            for (filter, normalised) in [
                (Filter::Point, false),
                (Filter::Linear, false),
                (Filter::Point, true),
                (Filter::Linear, true),
            ] {
                let border = [0.25, 0.0, 0.0, 0.0];
                let sampling = Sampling {
                    address: [mode; 3],
                    filter,
                    normalised,
                    border,
                    ..Sampling::default()
                };
                let handle =
                    emulator.memory().bindings().create(Resource::Texture(texels, sampling));
                let scale = if normalised { 6.0 } else { 20.0 };
                let at: Vec<f32> = (0..4 * 128).map(|_| random() * scale - scale / 2.0).collect();
                let bits: Vec<u32> = at.iter().map(|x| x.to_bits()).collect();
                let buffer = words(&emulator, &bits);
                launch(&emulator, &text, ([1; 3], [128, 1, 1]), &[buffer, handle]).unwrap();
                let found = read(&emulator, buffer, 4 * 128);
                for (found, at) in found.chunks(4).zip(at.chunks(4)) {
                    let found = f64::from(f32::from_bits(found[0]));
                    let wanted = expected(&values, size, &sampling, [at[0], at[1], at[2]]);
                    // The products of the formula are rounded separately, so the last bit may differ.
                    let close = (found - f64::from(wanted as f32)).abs() <= wanted.abs() * 1.2e-7;
                    assert!(close, "{size:?} {sampling:?} {at:?}: {found}, not {wanted}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 3 * 16 * 128);
}

#[test]
fn integers_are_read_as_integers_or_normalised() {
    let emulator = emulator();
    let body = format!(
        "{REGISTERS} tex.2d.v4.u32.s32 {{%r0, %r1, %r2, %r3}}, [%p1, {{1, 0}}];
         st.global.v4.u32 [%p0], {{%r0, %r1, %r2, %r3}}; ret;"
    );
    let format = Format { channel: Channel::S8, channels: 4 };
    let texels = texels(&emulator, format, [2, 1, 0], &[0, 0x80_7f_01_ff]);
    let out = words(&emulator, &[0; 4]);
    for scaled in [false, true] {
        let sampling = Sampling { scaled, ..Sampling::default() };
        let handle = emulator.memory().bindings().create(Resource::Texture(texels, sampling));
        run(&emulator, &kernel(2, &body), &[out, handle]).unwrap();
        let found = read(&emulator, out, 4);
        if scaled {
            let numbers: Vec<f32> = found.into_iter().map(f32::from_bits).collect();
            assert_eq!(numbers, [-1.0 / 127.0, 1.0 / 127.0, 1.0, -1.0]);
        } else {
            assert_eq!(found, [-1, 1, 127, -128].map(|value: i32| value as u32));
        }
    }
}

#[test]
fn linear_memory_reads_zero_outside() {
    let emulator = emulator();
    let body = format!(
        "{REGISTERS} mov.u32 %r0, %tid.x; sub.s32 %r1, %r0, 2;
         tex.1d.v4.u32.s32 {{%r2, _, _, _}}, [%p1, {{%r1}}];
         mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %p0; st.global.u32 [%d0], %r2; ret;"
    );
    let format = Format { channel: Channel::U32, channels: 1 };
    let texels = Texels { linear: true, ..texels(&emulator, format, [3, 0, 0], &[5, 6, 7]) };
    let handle =
        emulator.memory().bindings().create(Resource::Texture(texels, Sampling::default()));
    let out = words(&emulator, &[9; 7]);
    launch(&emulator, &kernel(2, &body), ([1; 3], [7, 1, 1]), &[out, handle]).unwrap();
    assert_eq!(read(&emulator, out, 7), [0, 0, 5, 6, 7, 0, 0]);
}

#[test]
fn texels_are_in_ordinary_memory() {
    let emulator = emulator();
    let texels = floats(&emulator, [4, 0, 0], &[1.0; 4]);
    let bindings = emulator.memory().bindings();
    let longer = Texels { width: 100, ..texels };
    let handle = bindings.create(Resource::Texture(longer, Sampling::default()));
    let text =
        kernel(1, &format!("{REGISTERS} tex.1d.v4.f32.s32 {{%f0, _, _, _}}, [%p0, {{50}}]; ret;"));
    let outside = run(&emulator, &text, &[handle]).unwrap_err();
    let expected = (FaultKind::IllegalAddress, Some(texels.base + 200));
    assert_eq!((outside.kind, outside.address), expected);
    let handle = bindings.create(Resource::Texture(texels, Sampling::default()));
    emulator.memory().free(texels.base).unwrap();
    let freed = run(&emulator, &text, &[handle]).unwrap_err();
    assert_eq!(freed.kind, FaultKind::UseAfterFree, "{freed}");
}
