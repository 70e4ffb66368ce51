//! Lowering of texture and surface instructions.

use super::Lowering;
use super::slots::width;
use crate::engine::access::instruction::Access;
use crate::engine::code::Action;
use crate::engine::race::semantics;
use crate::engine::texture::{Fetch, HandleQuery, SurfaceOperation, SurfaceStep, TextureStep};
use crate::program::{Address, Operand, Ordering, Scope, Space, SurfaceAddress, TextureOp, Type};

impl Lowering<'_> {
    pub(super) fn texture(&mut self, op: &TextureOp) {
        let step = match op {
            TextureOp::Fetch {
                geometry,
                gather,
                ty,
                d,
                p,
                texture,
                coordinates,
                at,
                offset,
                ..
            } => {
                let access = self.handle(*texture);
                let layer = usize::from(geometry.layered);
                let at = at.iter().enumerate().map(|(index, &at)| {
                    let ty = if index < layer { Type::U32 } else { *coordinates };
                    self.operand(at, ty)
                });
                let at = at.collect();
                let offset = offset.iter().map(|&by| self.operand(by, Type::S32)).collect();
                TextureStep::Fetch(Fetch {
                    access,
                    geometry: *geometry,
                    gather: *gather,
                    ty: *ty,
                    d: d.iter().map(|&d| self.destination(d, *ty)).collect(),
                    p: p.map(|register| self.register(register)),
                    integers: *coordinates == Type::S32,
                    at,
                    offset,
                })
            }
            TextureOp::Query { kind, query, d, a, .. } => {
                let (access, d) = (self.handle(*a), self.destination(*d, Type::B32));
                TextureStep::Query { access, d, query: HandleQuery::Query(*kind, *query) }
            }
            TextureOp::IsType { kind, d, a } => {
                let (access, d) = (self.handle(*a), self.destination(*d, Type::Pred));
                TextureStep::Query { access, d, query: HandleQuery::IsType(*kind) }
            }
            TextureOp::Load { address, ty, d } => {
                let values = d.iter().map(|&d| self.destination(d, *ty)).collect();
                self.surface(address, *ty, SurfaceOperation::Load(values))
            }
            TextureOp::Store { address, ty, a } => {
                let values: Vec<_> = a.iter().map(|&a| self.operand(a, *ty)).collect();
                let mut step = self.surface(address, *ty, SurfaceOperation::Store(values.clone()));
                if let TextureStep::Surface(step) = &mut step {
                    step.access.values = values;
                }
                step
            }
            TextureOp::Reduce { address, op, ty, a } => {
                let value = self.operand(*a, *ty);
                let mut step = self.surface(address, *ty, SurfaceOperation::Reduce(*op, value));
                if let TextureStep::Surface(step) = &mut step {
                    step.access.semantics = semantics(Ordering::Relaxed, Some(Scope::Gpu));
                }
                step
            }
        };
        self.emit(Action::Texture(Box::new(step)));
    }

    /// The access with which a handle is looked up.
    fn handle(&mut self, handle: Operand) -> Access {
        if let Operand::Immediate(value) = handle {
            let slot = self.constant(value, width(Type::U64));
            let mut access = self.access(Space::Global, constant_base(), Type::B8);
            access.address = slot;
            return access;
        }
        self.access(Space::Global, Address { base: handle, offset: 0 }, Type::B8)
    }

    fn surface(
        &mut self,
        address: &SurfaceAddress,
        ty: Type,
        operation: SurfaceOperation,
    ) -> TextureStep {
        let access = self.handle(address.surface);
        let layer = usize::from(address.geometry.layered);
        let at = address.at.iter().enumerate().map(|(index, &at)| {
            let ty = if index < layer { Type::U32 } else { Type::S32 };
            self.operand(at, ty)
        });
        let at = at.collect();
        TextureStep::Surface(SurfaceStep {
            access,
            geometry: address.geometry,
            outside: address.outside,
            formatted: address.formatted,
            ty,
            at,
            operation,
        })
    }
}

/// A placeholder for an address that is set later.
fn constant_base() -> Address {
    Address { base: Operand::Immediate(0), offset: 0 }
}
