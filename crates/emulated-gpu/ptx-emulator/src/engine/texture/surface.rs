//! Surface accesses: `suld`, `sust` and `sured`.

use super::read;
use crate::engine::access::instruction::Access;
use crate::engine::atomics;
use crate::engine::core::{Core, Outcome, Problem};
use crate::engine::race::{Effect, Races, Semantics};
use crate::engine::registers::{LANES, Slot, lanes};
use crate::fault::FaultKind;
use crate::memory::words;
use crate::program::{Atomic, Geometry, OutOfBounds, Type};
use crate::texture::Texels;
use crate::texture::format::encode;

/// The operands of a surface access. The address of `access` is the handle.
pub(in crate::engine) struct SurfaceStep {
    pub(in crate::engine) access: Access,
    pub(in crate::engine) geometry: Geometry,
    pub(in crate::engine) outside: OutOfBounds,
    /// Whether the first coordinate counts texels instead of bytes.
    pub(in crate::engine) formatted: bool,
    pub(in crate::engine) ty: Type,
    /// The coordinates; for layered surfaces, preceded by the index of the layer.
    pub(in crate::engine) at: Vec<Slot>,
    pub(in crate::engine) operation: SurfaceOperation,
}

/// The kind of access, with its elements.
pub(in crate::engine) enum SurfaceOperation {
    Load(Vec<Slot>),
    Store(Vec<Slot>),
    Reduce(Atomic, Slot),
}

impl SurfaceStep {
    /// Runs the access for the active lanes.
    pub(super) fn run(&self, core: &mut Core<'_>, texels: &Texels, mask: u32) -> Outcome {
        let bytes = self.bytes(texels);
        let mut addresses = [0; LANES];
        let mut inside = 0;
        for lane in lanes(mask) {
            if let Some(address) = self.address(core, texels, bytes, lane)? {
                addresses[lane] = address;
                inside |= 1 << lane;
            }
        }
        match &self.operation {
            SurfaceOperation::Load(d) => {
                let texels = read(core, &self.access, &addresses, inside, bytes)?;
                let bits = self.ty.bits();
                for lane in lanes(mask) {
                    for (index, &slot) in d.iter().enumerate() {
                        let value = (texels[lane] >> (index as u32 * bits)) as u64;
                        core.registers.set(slot, lane, value & (u64::MAX >> (64 - bits)));
                    }
                }
                Ok(())
            }
            SurfaceOperation::Store(a) => self.store(core, texels, a, (&addresses, inside), bytes),
            SurfaceOperation::Reduce(op, a) => {
                let ty = self.reduced(texels);
                self.reduce(core, (*op, ty), *a, (&addresses, inside))
            }
        }
    }

    /// The bytes that a lane accesses.
    fn bytes(&self, texels: &Texels) -> u64 {
        match &self.operation {
            SurfaceOperation::Store(_) if self.formatted => texels.format.bytes(),
            SurfaceOperation::Load(values) | SurfaceOperation::Store(values) => {
                self.ty.bytes() * values.len() as u64
            }
            SurfaceOperation::Reduce(..) => self.ty.bytes(),
        }
    }

    /// The type of a reduction. For untyped bits, the surface's format decides.
    fn reduced(&self, texels: &Texels) -> Type {
        use crate::texture::Channel;
        let signed = matches!(texels.format.channel, Channel::S8 | Channel::S16 | Channel::S32);
        match (self.ty, signed) {
            (Type::B32, true) if self.formatted => Type::S32,
            (Type::B32, false) if self.formatted => Type::U32,
            (Type::B64, true) => Type::S64,
            (Type::B64, false) => Type::U64,
            (ty, _) => ty,
        }
    }

    /// The address that a lane accesses; `None` if it is outside of the surface and that is
    /// allowed.
    fn address(
        &self,
        core: &Core<'_>,
        texels: &Texels,
        bytes: u64,
        lane: usize,
    ) -> Outcome<Option<u64>> {
        let get = |slot: Slot| core.registers.get(slot, lane) as u32;
        let mut slots = self.at.iter().copied();
        let layer = if self.geometry.layered { slots.next().map_or(0, get) } else { 0 };
        let mut at = [0_i64; 3];
        for (to, slot) in at.iter_mut().zip(slots) {
            *to = i64::from(get(slot) as i32);
        }
        let size = texels.format.bytes() as i64;
        let [width, height, depth] = texels.lengths().map(|length| length as i64);
        if self.formatted {
            at[0] *= size;
        }
        // The last position along each axis at which the whole access is inside the surface;
        // negative if the access is longer than a row.
        let last = [width * size - bytes as i64, height - 1, depth - 1];
        let layers = texels.layers.max(1);
        let fits = at.iter().zip(last).all(|(&at, last)| (0..=last).contains(&at));
        if !fits || u64::from(layer) >= layers {
            match self.outside {
                OutOfBounds::Zero => return Ok(None),
                OutOfBounds::Clamp if last[0] >= 0 => {
                    for (at, last) in at.iter_mut().zip(last) {
                        *at = (*at).clamp(0, last);
                    }
                }
                _ => return Err(self.trap(core, texels, (at, layer), (bytes, lane))),
            }
        }
        let layer = u64::from(layer).min(layers - 1);
        let [x, y, z] = at.map(|index| index as u64);
        Ok(Some(texels.address([0, y, z], layer).wrapping_add(x)))
    }

    fn trap(
        &self,
        core: &Core<'_>,
        texels: &Texels,
        ([x, y, z], layer): ([i64; 3], u32),
        (bytes, lane): (u64, usize),
    ) -> Box<Problem> {
        let [width, height, depth] = texels.lengths();
        let row = width * texels.format.bytes();
        let message = format!(
            "{bytes} bytes at byte {x}, row {y}, slice {z}, layer {layer} of a surface, which has rows of \
             {row} bytes, {height} of them, in {depth} slices and {} layers",
            texels.layers.max(1)
        );
        Problem::new(FaultKind::Trap, message)
            .lane(lane)
            .address(self.access.lane_address(core, lane))
            .note("x counts bytes, not texels; with .clamp or .zero, accesses outside do not stop the kernel")
    }

    fn store(
        &self,
        core: &mut Core<'_>,
        texels: &Texels,
        a: &[Slot],
        (addresses, mask): (&[u64; LANES], u32),
        bytes: u64,
    ) -> Outcome {
        if mask == 0 {
            return Ok(());
        }
        let mut hosts = [std::ptr::null_mut(); LANES];
        for lane in lanes(mask) {
            let at = self.access.lane_access(addresses[lane], bytes, lane);
            hosts[lane] = core.resolve(at, true)?;
            core.check_written(at, Effect::Write)?;
        }
        core.race(&self.access, addresses, mask, (bytes, Semantics::default()), Effect::Write)?;
        for lane in lanes(mask) {
            let value = if self.formatted {
                let mut channels = [0; 4];
                for (to, &slot) in channels.iter_mut().zip(a) {
                    *to = core.registers.get(slot, lane) as u32;
                }
                encode(texels.format, channels)
            } else {
                let bits = self.ty.bits();
                let each = a.iter().enumerate().map(|(index, &slot)| {
                    let value = core.registers.get(slot, lane) & (u64::MAX >> (64 - bits));
                    u128::from(value) << (index as u32 * bits)
                });
                each.fold(0, |all, value| all | value)
            };
            // SAFETY: `resolve` has checked `bytes` bytes.
            unsafe { words::write(hosts[lane], &value.to_le_bytes()[..bytes as usize]) };
        }
        Ok(())
    }

    fn reduce(
        &self,
        core: &mut Core<'_>,
        (op, ty): (Atomic, Type),
        a: Slot,
        (addresses, mask): (&[u64; LANES], u32),
    ) -> Outcome {
        let bytes = ty.bytes();
        let races = core.races;
        let _turn = races.map(Races::lock_strong_accesses);
        if mask != 0 {
            let semantics = self.access.semantics;
            core.race(&self.access, addresses, mask, (bytes, semantics), Effect::Update)?;
        }
        for lane in lanes(mask) {
            let at = self.access.lane_access(addresses[lane], bytes, lane);
            let host = core.resolve(at, true)?;
            core.check_written(at, Effect::Update)?;
            let b = core.registers.get(a, lane) & (u64::MAX >> (64 - ty.bits()));
            // SAFETY: `resolve` has checked 4 or 8 bytes, and their alignment.
            unsafe { atomics::reduce(host, (op, ty), b) };
            core.memory_polls += 1;
        }
        Ok(())
    }
}
