//! Cube maps: the side and position of a direction as in the guide's table, and filtering across edges and
//! corners.

use ptx_emulator::texture::{AddressMode, Filter, Resource, Sampling, Texels};
use ptx_emulator::{Emulator, FaultKind};

use crate::ptx::{emulator, kernel, launch, read, words};
use crate::textures::{REGISTERS, expected, floats, run};

const WIDTH: usize = 5;
const SIDE: usize = WIDTH * WIDTH;

fn random(seed: u32) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 * 2.0 - 1.0
    }
}

/// Cubes with these texels, one side after the other.
fn cubes(emulator: &Emulator, values: &[f32]) -> Texels {
    let texels = floats(emulator, [WIDTH as u64, WIDTH as u64, 0], values);
    Texels { layers: (values.len() / SIDE) as u64, cube: true, ..texels }
}

/// Fetches a texel for each direction, one per thread.
fn fetch(emulator: &Emulator, resource: Resource, form: &str, at: &[[f32; 3]]) -> Vec<f32> {
    let text = kernel(
        2,
        &format!(
            "{REGISTERS} mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 1; mul.wide.u32 %d0, %r0, 16;
             add.u64 %d0, %d0, %p0; ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%d0];
             tex.{form}; st.global.f32 [%d0], %f0; ret;"
        ),
    );
    let handle = emulator.memory().bindings().create(resource);
    let bits: Vec<u32> =
        at.iter().flat_map(|[x, y, z]| [*x, *y, *z, 0.0]).map(f32::to_bits).collect();
    let buffer = words(emulator, &bits);
    launch(emulator, &text, ([1; 3], [at.len() as u32, 1, 1]), &[buffer, handle]).unwrap();
    read(emulator, buffer, bits.len()).chunks(4).map(|found| f32::from_bits(found[0])).collect()
}

/// The guide's table: the side of a direction, and s and t between 0 and 1.
fn side_by_table([x, y, z]: [f32; 3]) -> (usize, [f32; 2]) {
    let largest = x.abs().max(y.abs()).max(z.abs());
    let (side, s, t) = if largest == x.abs() {
        if x > 0.0 { (0, -z, -y) } else { (1, z, -y) }
    } else if largest == y.abs() {
        if y > 0.0 { (2, x, z) } else { (3, x, -z) }
    } else if z > 0.0 {
        (4, x, -y)
    } else {
        (5, -x, -y)
    };
    let place = |along: f32| ((f64::from(along) / f64::from(largest) + 1.0) / 2.0) as f32;
    (side, [place(s), place(t)])
}

#[test]
fn directions_select_the_texels_of_the_guides_table() {
    let emulator = emulator();
    let mut random = random(7);
    let values: Vec<f32> = (0..12 * SIDE).map(|_| random()).collect();
    let at: Vec<[f32; 3]> = (0..256).map(|_| [random(), random(), random()]).collect();
    let mut sides = [0; 6];
    for filter in [Filter::Point, Filter::Linear] {
        for mode in [AddressMode::Clamp, AddressMode::Border, AddressMode::Wrap] {
            let border = [0.25, 0.0, 0.0, 0.0];
            let sampling = Sampling {
                address: [mode; 3],
                filter,
                normalised: true,
                border,
                ..Sampling::default()
            };
            for (cubes_in_all, form) in [
                (1, "cube.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1, %f2, %f3, %f3}]"),
                (2, "acube.v4.f32.f32 {%f0, _, _, _}, [%p1, {%r1, %f1, %f2, %f3}]"),
            ] {
                let texels = cubes(&emulator, &values[..cubes_in_all * 6 * SIDE]);
                let resource = Resource::Texture(texels, sampling);
                let found = fetch(&emulator, resource, form, &at);
                for (thread, (found, &at)) in found.into_iter().zip(&at).enumerate() {
                    let (side, [s, t]) = side_by_table(at);
                    sides[side] += 1;
                    let layer = if cubes_in_all == 2 { thread % 2 * 6 + side } else { side };
                    let values = &values[layer * SIDE..][..SIDE];
                    let wanted = expected(values, [WIDTH, WIDTH, 0], &sampling, [s, t, 0.0]) as f32;
                    let close = (found - wanted).abs() <= wanted.abs() * 1.2e-7;
                    assert!(close, "{sampling:?} {at:?}: {found}, not {wanted}");
                }
            }
        }
    }
    assert!(sides.iter().all(|&count| count > 300), "{sides:?}");
}

/// The centre of a texel, on a cube from −1 to 1.
fn texel_centre(texel: usize) -> [f64; 3] {
    let (side, y, x) = (texel / SIDE, texel % SIDE / WIDTH, texel % WIDTH);
    let [s, t] = [x, y].map(|index| (2 * index + 1) as f64 / WIDTH as f64 - 1.0);
    match side {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// Seamless filtering mixes the two nearest texels at an edge, and the three nearest at a corner of the cube.
#[test]
fn seamless_filtering_mixes_the_nearest_texels_in_space() {
    let emulator = emulator();
    let mut random = random(11);
    let values: Vec<f32> = (0..6 * SIDE).map(|_| random()).collect();
    let texels = cubes(&emulator, &values);
    let sampling = Sampling {
        filter: Filter::Linear,
        normalised: true,
        seamless: true,
        ..Sampling::default()
    };
    let mut places = Vec::new();
    for axis in 0..3 {
        for signs in 0..4 {
            let edge = |along: f64| {
                let mut place = [along; 3];
                place[(axis + 1) % 3] = if signs & 1 == 0 { 1.0 } else { -1.0 };
                place[(axis + 2) % 3] = if signs & 2 == 0 { 1.0 } else { -1.0 };
                place
            };
            let middles = (0..WIDTH).map(|index| (2 * index + 1) as f64 / WIDTH as f64 - 1.0);
            places.extend(middles.map(|along| (edge(along), 2)));
            places.extend([-1.0, 1.0].map(|along| (edge(along), 3)));
        }
    }
    let at: Vec<[f32; 3]> = places.iter().map(|(place, _)| place.map(|x| x as f32)).collect();
    let form = "cube.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1, %f2, %f3, %f3}]";
    let found = fetch(&emulator, Resource::Texture(texels, sampling), form, &at);
    for (found, (place, count)) in found.into_iter().zip(&places) {
        let distance = |texel: &usize| -> f64 {
            texel_centre(*texel).iter().zip(place).map(|(a, b)| (a - b).powi(2)).sum()
        };
        let mut nearest: Vec<usize> = (0..6 * SIDE).collect();
        nearest.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        let sum: f64 = nearest[..*count].iter().map(|&texel| f64::from(values[texel])).sum();
        let wanted = sum / *count as f64;
        // The position along an edge is exact to 1/256 of a texel.
        assert!((f64::from(found) - wanted).abs() < 0.01, "{place:?}: {found}, not {wanted}");
    }
    // With seams, filtering stops at the edges of a side.
    let ends = Sampling { seamless: false, ..sampling };
    let with_seams = fetch(&emulator, Resource::Texture(texels, ends), form, &at);
    let mixed = with_seams
        .iter()
        .zip(&places)
        .filter(|(found, (_, count))| *count == 3 && values.contains(found));
    assert_eq!(mixed.count(), 24, "at a corner of the cube a side has one texel");
}

#[test]
fn every_direction_selects_a_texel() {
    let emulator = emulator();
    let values = [1.5; 6 * SIDE];
    let odd = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-45];
    let mut at = Vec::new();
    for x in odd {
        for y in odd {
            at.extend(odd.map(|z| [x, y, z]));
        }
    }
    let form = "cube.v4.f32.f32 {%f0, _, _, _}, [%p1, {%f1, %f2, %f3, %f3}]";
    for (filter, seamless) in
        [(Filter::Point, false), (Filter::Linear, false), (Filter::Linear, true)]
    {
        let sampling = Sampling { filter, seamless, ..Sampling::default() };
        let resource = Resource::Texture(cubes(&emulator, &values), sampling);
        assert_eq!(fetch(&emulator, resource, form, &at), vec![1.5; at.len()]);
    }
}

#[test]
fn a_cube_must_be_read_as_a_cube() {
    let emulator = emulator();
    let flat = floats(&emulator, [5, 5, 0], &[0.0; 6 * SIDE]);
    let layers = Texels { layers: 6, ..flat };
    let cube = Texels { cube: true, ..layers };
    for (texels, form, is_taken) in [
        (cube, "cube.v4.f32.f32 {%f0, _, _, _}, [%p0, {%f1, %f1, %f1, %f1}]", true),
        (cube, "acube.v4.f32.f32 {%f0, _, _, _}, [%p0, {%r1, %f1, %f1, %f1}]", true),
        (cube, "a2d.v4.f32.f32 {%f0, _, _, _}, [%p0, {%r1, %f1, %f1, %f1}]", false),
        (layers, "a2d.v4.f32.f32 {%f0, _, _, _}, [%p0, {%r1, %f1, %f1, %f1}]", true),
        (layers, "acube.v4.f32.f32 {%f0, _, _, _}, [%p0, {%r1, %f1, %f1, %f1}]", false),
        (flat, "cube.v4.f32.f32 {%f0, _, _, _}, [%p0, {%f1, %f1, %f1, %f1}]", false),
    ] {
        let text = format!("{REGISTERS} mov.u32 %r1, 0; mov.f32 %f1, 0f3f800000; tex.{form}; ret;");
        let resource = Resource::Texture(texels, Sampling::default());
        let handle = emulator.memory().bindings().create(resource);
        let done = run(&emulator, &kernel(1, &text), &[handle]);
        match done {
            Ok(()) => assert!(is_taken, "{form}"),
            Err(fault) => {
                assert!(!is_taken, "{form}: {fault}");
                assert_eq!(fault.kind, FaultKind::InvalidInstruction);
                assert!(fault.to_string().contains("is read as"), "{fault}");
            }
        }
    }
}
