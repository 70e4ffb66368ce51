//! Texture fetches: `tex` and `tld4`.

use super::read;
use crate::arithmetic::convert::f32_to_f16;
use crate::engine::access::instruction::Access;
use crate::engine::core::{Core, Outcome, Problem};
use crate::engine::registers::{LANES, Slot, lanes};
use crate::fault::FaultKind;
use crate::program::{Geometry, Type};
use crate::texture::cube::{self, FACES};
use crate::texture::footprint::{
    AxisTexels, ONE, nearest_texel, texel_index, texel_pair, texel_pair_around,
};
use crate::texture::format::{decode, is_float};
use crate::texture::{AddressMode, Filter, Resource, Sampling, Texels};

/// The operands of a fetch. The address of `access` is the handle.
pub(in crate::engine) struct Fetch {
    pub(in crate::engine) access: Access,
    pub(in crate::engine) geometry: Geometry,
    /// The channel that `tld4` gathers.
    pub(in crate::engine) gather: Option<u8>,
    pub(in crate::engine) ty: Type,
    /// Four destinations, or two for packed halves.
    pub(in crate::engine) d: Vec<Slot>,
    pub(in crate::engine) p: Option<Slot>,
    /// Whether the coordinates are integers.
    pub(in crate::engine) integers: bool,
    /// The coordinates; for layered textures, preceded by the index of the layer.
    pub(in crate::engine) at: Vec<Slot>,
    pub(in crate::engine) offset: Vec<Slot>,
}

/// The texels that a lane reads.
#[derive(Clone, Copy, Default)]
struct Footprint {
    axes: [AxisTexels; 3],
    layer: u64,
    /// The side length of a seamless cube map, whose indices are shifted by one to make room for
    /// the border texel.
    seamless: Option<u64>,
}

impl Footprint {
    /// The texel at a corner of the footprint, its layer, and its weight (out of [`ONE`] to the
    /// power of the number of axes). Each bit of `corner` selects the first or the second texel
    /// along an axis.
    fn corner(&self, corner: usize, axes: usize) -> (Option<([u64; 3], u64)>, u32) {
        let (mut inside, mut weight) = (true, 1);
        let mut at = [0; 3];
        for (axis, along) in self.axes.iter().enumerate().take(axes) {
            let second = corner >> axis & 1 == 1;
            weight *= if second { along.weight } else { ONE - along.weight };
            match if second { along.second } else { along.first } {
                Some(index) => at[axis] = index,
                None => inside = false,
            }
        }
        let at = match self.seamless {
            _ if !inside => None,
            None => Some((at, self.layer)),
            Some(width) => {
                let (cube, own) = (self.layer / FACES, self.layer % FACES);
                let [x, y, _] = at.map(|index| index as i64 - 1);
                cube::texel(own, [x, y], width)
                    .map(|(side, [x, y])| ([x, y, 0], cube * FACES + side))
            }
        };
        (at, weight)
    }
}

impl Fetch {
    /// Fetches for the active lanes.
    pub(super) fn run(&self, core: &mut Core<'_>, resource: &Resource, mask: u32) -> Outcome {
        let Resource::Texture(texels, sampling) = resource else { return Ok(()) };
        self.check(core, texels, mask)?;
        let fractions = is_float(texels.format, sampling.scaled);
        let linear =
            sampling.filter == Filter::Linear && fractions && !texels.linear && !self.integers;
        let mut places = [Footprint::default(); LANES];
        for lane in lanes(mask) {
            places[lane] = self.footprint(core, (texels, sampling), linear, lane);
        }
        if let Some(channel) = self.gather {
            return self.gather(core, (texels, sampling), &places, mask, channel);
        }
        if !linear {
            let found = self.corner(core, (texels, sampling), &places, mask, 0)?;
            lanes(mask).for_each(|lane| self.write_result(core, found[lane], fractions, lane));
            return Ok(());
        }
        let axes = self.geometry.axes;
        let found = self.corners(core, (texels, sampling), &places, mask)?;
        let whole = f64::from(ONE).powi(axes as i32);
        for lane in lanes(mask) {
            let mut sums = [0.0_f64; 4];
            for (corner, found) in found.iter().enumerate().take(1 << axes) {
                let (_, weight) = places[lane].corner(corner, axes);
                if weight > 0 {
                    for (sum, value) in sums.iter_mut().zip(found[lane]) {
                        *sum += f64::from(weight) * f64::from(f32::from_bits(value));
                    }
                }
            }
            let values = sums.map(|sum| ((sum / whole) as f32).to_bits());
            self.write_result(core, values, fractions, lane);
        }
        Ok(())
    }

    /// Checks that the texture has the kind and the dimensions that the instruction expects.
    fn check(&self, core: &Core<'_>, texels: &Texels, mask: u32) -> Outcome {
        let (lengths, geometry) = (texels.lengths(), self.geometry);
        let more = lengths.iter().skip(geometry.axes).any(|&length| length > 1);
        let most = if geometry.cube { FACES } else { 1 };
        let cube = texels.cube == geometry.cube;
        if cube && !more && (geometry.layered || texels.layers <= most) {
            return Ok(());
        }
        let lane = mask.trailing_zeros() as usize;
        let [width, height, depth] = lengths;
        let mut problem = Problem::new(
            FaultKind::InvalidInstruction,
            format!(
                "a {} of {width} × {height} × {depth} texels and {} layers is read as {}{}",
                if texels.cube { "cube map" } else { "texture" },
                texels.layers,
                if geometry.cube {
                    "a cube map".to_owned()
                } else {
                    format!("a texture of {} dimensions", geometry.axes)
                },
                if geometry.layered { " with layers" } else { " without layers" }
            ),
        );
        problem = problem.lane(lane).address(self.access.lane_address(core, lane));
        Err(problem
            .note("use the geometry of the texture: tex.1d, .2d, .3d, .a1d, .a2d, .cube, .acube"))
    }

    fn footprint(
        &self,
        core: &Core<'_>,
        (texels, sampling): (&Texels, &Sampling),
        linear: bool,
        lane: usize,
    ) -> Footprint {
        let mut found = Footprint::default();
        let mut at = self.at.as_slice();
        if self.geometry.layered
            && let [layer, rest @ ..] = at
        {
            let last = texels.layers.max(1) - 1;
            let last = if self.geometry.cube { last / FACES } else { last };
            found.layer = (core.registers.get(*layer, lane) & 0xffff_ffff).min(last);
            at = rest;
        }
        if self.geometry.cube {
            let of =
                |slot: &Slot| f64::from(f32::from_bits(core.registers.get(*slot, lane) as u32));
            let direction = [0, 1, 2].map(|axis| at.get(axis).map_or(0.0, of));
            return self.cube_footprint(found, (texels, sampling), linear, direction);
        }
        let lengths = texels.lengths();
        for (axis, (&slot, length)) in at.iter().zip(lengths).enumerate() {
            let bits = core.registers.get(slot, lane) as u32;
            let offset = self.offset.get(axis);
            let offset = offset.map_or(0, |&slot| core.registers.get(slot, lane) as u32 as i32);
            // Reads outside of linear memory always return zeros.
            let mode = if texels.linear { AddressMode::Border } else { sampling.mode(axis) };
            let (normalised, x) = (sampling.normalised && !texels.linear, f32::from_bits(bits));
            found.axes[axis] = if self.integers {
                let index = i64::from(bits as i32) + i64::from(offset);
                AxisTexels { first: texel_index(mode, index, length), second: None, weight: 0 }
            } else if linear || self.gather.is_some() {
                texel_pair(mode, normalised, x, offset, length)
            } else {
                nearest_texel(mode, normalised, x, offset, length)
            };
        }
        found
    }

    /// The footprint of a direction from the centre of a cube; `found.layer` selects the cube.
    fn cube_footprint(
        &self,
        mut found: Footprint,
        (texels, sampling): (&Texels, &Sampling),
        linear: bool,
        direction: [f64; 3],
    ) -> Footprint {
        let (side, place) = cube::direction_to_face(direction);
        let width = texels.width.max(1);
        found.layer = found.layer * FACES + side;
        let mixed = linear || self.gather.is_some();
        found.seamless = Some(width).filter(|_| sampling.seamless && mixed);
        for (axis, along) in place.into_iter().enumerate() {
            let mode = sampling.mode(axis);
            found.axes[axis] = match (found.seamless, mixed) {
                // An invalid direction (NaN) still selects a texel inside.
                (Some(width), _) => {
                    let along = if along.is_nan() { 0.0 } else { along.clamp(0.0, 1.0) };
                    texel_pair_around(AddressMode::Clamp, along * width as f64 + 1.0, 0, width + 2)
                }
                (None, true) => texel_pair(mode, true, along as f32, 0, width),
                (None, false) => nearest_texel(mode, true, along as f32, 0, width),
            };
        }
        found
    }

    /// The channels of all corners of each lane's footprint. At a corner of a seamless cube, where
    /// only three texels meet, the fourth is their mean.
    fn corners(
        &self,
        core: &mut Core<'_>,
        texture: (&Texels, &Sampling),
        places: &[Footprint; LANES],
        mask: u32,
    ) -> Outcome<[[[u32; 4]; LANES]; 8]> {
        let mut found = [[[0; 4]; LANES]; 8];
        let count = 1 << self.geometry.axes;
        for (corner, found) in found.iter_mut().enumerate().take(count) {
            *found = self.corner(core, texture, places, mask, corner)?;
        }
        if !self.geometry.cube {
            return Ok(found);
        }
        let fractions = is_float(texture.0.format, texture.1.scaled);
        for lane in lanes(mask).filter(|&lane| places[lane].seamless.is_some()) {
            let places = [0, 1, 2, 3].map(|corner| places[lane].corner(corner, 2).0);
            let Some(missing) = places.iter().position(Option::is_none) else { continue };
            let mean = |channel: usize| {
                let three = (0..4).filter(|&corner| corner != missing);
                let values =
                    three.map(|corner| f64::from(f32::from_bits(found[corner][lane][channel])));
                ((values.sum::<f64>() / 3.0) as f32).to_bits()
            };
            // Integers have no mean: use the texel on the face that the direction points to.
            let values =
                if fractions { [0, 1, 2, 3].map(mean) } else { found[missing ^ 0b11][lane] };
            found[missing][lane] = values;
        }
        Ok(found)
    }

    /// The channels of one corner of each lane's footprint; not read if its weight is 0.
    fn corner(
        &self,
        core: &mut Core<'_>,
        (texels, sampling): (&Texels, &Sampling),
        places: &[Footprint; LANES],
        mask: u32,
        corner: usize,
    ) -> Outcome<[[u32; 4]; LANES]> {
        let mut addresses = [0; LANES];
        let (mut inside, mut border) = (0, 0);
        for lane in lanes(mask) {
            let (at, weight) = places[lane].corner(corner, self.geometry.axes);
            match at {
                // Weights don't matter for gathers.
                _ if weight == 0 && self.gather.is_none() => {}
                Some((at, layer)) => {
                    addresses[lane] = texels.address(at, layer);
                    inside |= 1 << lane;
                }
                None => border |= 1 << lane,
            }
        }
        let bytes = texels.format.bytes();
        let found = read(core, &self.access, &addresses, inside, bytes)?;
        let mut values = [[0; 4]; LANES];
        for lane in lanes(inside) {
            values[lane] = decode(texels.format, sampling.scaled, found[lane]);
        }
        let outside = if texels.linear { [0; 4] } else { sampling.border.map(f32::to_bits) };
        lanes(border).for_each(|lane| values[lane] = outside);
        Ok(values)
    }

    /// Gathers one channel of the four texels around a place, counter-clockwise from the lower
    /// left.
    fn gather(
        &self,
        core: &mut Core<'_>,
        texture: (&Texels, &Sampling),
        places: &[Footprint; LANES],
        mask: u32,
        channel: u8,
    ) -> Outcome {
        let fractions = is_float(texture.0.format, texture.1.scaled);
        let found = self.corners(core, texture, places, mask)?;
        for lane in lanes(mask) {
            let corner_channel = |corner: usize| found[corner][lane][usize::from(channel)];
            self.write_result(core, [0b10, 0b11, 0b01, 0b00].map(corner_channel), fractions, lane);
        }
        Ok(())
    }

    /// Writes the four channels of a lane's result.
    fn write_result(&self, core: &mut Core<'_>, values: [u32; 4], fractions: bool, lane: usize) {
        let half = |value: u32| {
            let half = if fractions { f32_to_f16(f32::from_bits(value)) } else { value as u16 };
            u64::from(half)
        };
        for (index, &slot) in self.d.iter().enumerate() {
            let value = match self.ty {
                Type::F16 => half(values[index]),
                Type::F16x2 => half(values[2 * index]) | half(values[2 * index + 1]) << 16,
                _ => values[index].into(),
            };
            core.registers.set(slot, lane, value);
        }
        if let Some(p) = self.p {
            core.registers.set(p, lane, 1);
        }
    }
}
