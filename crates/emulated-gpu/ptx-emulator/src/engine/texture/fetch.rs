//! `tex` and `tld4`.

use super::read;
use crate::arithmetic::convert::f32_to_f16;
use crate::engine::access::instruction::Access;
use crate::engine::core::{Core, Outcome, Problem};
use crate::engine::registers::{LANES, Slot, lanes};
use crate::fault::FaultKind;
use crate::program::{Geometry, Type};
use crate::texture::footprint::{Along, ONE, nearest, pair, place};
use crate::texture::format::{decode, is_float};
use crate::texture::{AddressMode, Filter, Resource, Sampling, Texels};

/// A fetch. The address of `access` is the handle.
pub(in crate::engine) struct Fetch {
    pub(in crate::engine) access: Access,
    pub(in crate::engine) geometry: Geometry,
    /// The channel that `tld4` gathers.
    pub(in crate::engine) gather: Option<u8>,
    pub(in crate::engine) ty: Type,
    /// Four, or two of packed halves.
    pub(in crate::engine) d: Vec<Slot>,
    pub(in crate::engine) p: Option<Slot>,
    /// The coordinates are integers.
    pub(in crate::engine) integers: bool,
    /// The number of the layer first, where there are layers.
    pub(in crate::engine) at: Vec<Slot>,
    pub(in crate::engine) offset: Vec<Slot>,
}

/// Where a lane reads.
#[derive(Clone, Copy, Default)]
struct Footprint {
    axes: [Along; 3],
    layer: u64,
}

impl Footprint {
    /// One of its corners: bit by bit, the first or the second texel along each axis. Where it is, and its
    /// weight, out of a whole of [`ONE`] to the power of the axes.
    fn corner(&self, corner: usize, axes: usize) -> (Option<[u64; 3]>, u32) {
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
        (inside.then_some(at), weight)
    }
}

impl Fetch {
    /// Fetches for the lanes of a mask.
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
        let axes = self.geometry.axes;
        let mut sums = [[0.0_f64; 4]; LANES];
        let mut values = [[0; 4]; LANES];
        for corner in 0..if linear { 1 << axes } else { 1 } {
            let found = self.corner(core, (texels, sampling), &places, mask, corner)?;
            if !linear {
                values = found;
                break;
            }
            for lane in lanes(mask) {
                let (_, weight) = places[lane].corner(corner, axes);
                if weight > 0 {
                    for (sum, value) in sums[lane].iter_mut().zip(found[lane]) {
                        *sum += f64::from(weight) * f64::from(f32::from_bits(value));
                    }
                }
            }
        }
        if linear {
            let whole = f64::from(ONE).powi(axes as i32);
            values = sums.map(|sums| sums.map(|sum| ((sum / whole) as f32).to_bits()));
        }
        for lane in lanes(mask) {
            self.put(core, values[lane], fractions, lane);
        }
        Ok(())
    }

    /// That the texture has no dimension that the instruction does not know.
    fn check(&self, core: &Core<'_>, texels: &Texels, mask: u32) -> Outcome {
        let lengths = texels.lengths();
        let more = lengths.iter().skip(self.geometry.axes).any(|&length| length > 1);
        if !more && (self.geometry.layered || texels.layers <= 1) {
            return Ok(());
        }
        let lane = mask.trailing_zeros() as usize;
        let [width, height, depth] = lengths;
        let mut problem = Problem::new(
            FaultKind::InvalidInstruction,
            format!(
                "a texture of {width} × {height} × {depth} texels and {} layers is read as one of {} \
                 dimensions{}",
                texels.layers,
                self.geometry.axes,
                if self.geometry.layered { " with layers" } else { " without layers" }
            ),
        );
        problem = problem.lane(lane).address(self.access.of_lane(core, lane));
        Err(problem.note("name all of its dimensions: tex.1d, .2d, .3d, .a1d, .a2d"))
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
            found.layer = (core.registers.get(*layer, lane) & 0xffff_ffff).min(last);
            at = rest;
        }
        let lengths = texels.lengths();
        for (axis, (&slot, length)) in at.iter().zip(lengths).enumerate() {
            let bits = core.registers.get(slot, lane) as u32;
            let offset = self.offset.get(axis);
            let offset = offset.map_or(0, |&slot| core.registers.get(slot, lane) as u32 as i32);
            // Outside of memory without dimensions there is nothing, whatever is asked for.
            let mode = if texels.linear { AddressMode::Border } else { sampling.mode(axis) };
            let (normalised, x) = (sampling.normalised && !texels.linear, f32::from_bits(bits));
            found.axes[axis] = if self.integers {
                let index = i64::from(bits as i32) + i64::from(offset);
                Along { first: place(mode, index, length), second: None, weight: 0 }
            } else if linear || self.gather.is_some() {
                pair(mode, normalised, x, offset, length)
            } else {
                nearest(mode, normalised, x, offset, length)
            };
        }
        found
    }

    /// The channels of one corner of each lane's footprint, where it has a weight.
    fn corner(
        &self,
        core: &mut Core<'_>,
        (texels, sampling): (&Texels, &Sampling),
        places: &[Footprint; LANES],
        mask: u32,
        corner: usize,
    ) -> Result<[[u32; 4]; LANES], Box<Problem>> {
        let mut addresses = [0; LANES];
        let (mut inside, mut border) = (0, 0);
        for lane in lanes(mask) {
            let (at, weight) = places[lane].corner(corner, self.geometry.axes);
            match at {
                // What is gathered has no weight.
                _ if weight == 0 && self.gather.is_none() => {}
                Some(at) => {
                    addresses[lane] = texels.address(at, places[lane].layer);
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

    /// One channel of the four texels around a place: counter-clockwise from the lower left.
    fn gather(
        &self,
        core: &mut Core<'_>,
        texture: (&Texels, &Sampling),
        places: &[Footprint; LANES],
        mask: u32,
        channel: u8,
    ) -> Outcome {
        let fractions = is_float(texture.0.format, texture.1.scaled);
        let mut gathered = [[0; 4]; LANES];
        for (index, corner) in [0b10, 0b11, 0b01, 0b00].into_iter().enumerate() {
            let found = self.corner(core, texture, places, mask, corner)?;
            for lane in lanes(mask) {
                gathered[lane][index] = found[lane][usize::from(channel)];
            }
        }
        lanes(mask).for_each(|lane| self.put(core, gathered[lane], fractions, lane));
        Ok(())
    }

    /// Writes four channels of a lane.
    fn put(&self, core: &mut Core<'_>, values: [u32; 4], fractions: bool, lane: usize) {
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
