//! Lowering of matrix instructions (tensor cores).

use super::Lowering;
use super::instruction::UNUSED;
use crate::engine::code::Action;
use crate::engine::collective::CollectiveKind;
use crate::engine::matrix::{MatrixStep, Product, RowTransfer, TileTransfer, Transpose};
use crate::engine::registers::{Slot, Width};
use crate::program::{Address, Destination, Fragment, Matrix, Operand, Space, Type};

impl Lowering<'_> {
    pub(super) fn matrix(&mut self, matrix: &Matrix) {
        // First, all lanes have to reconverge.
        let all_lanes = self.constant(u64::from(u32::MAX), Width::Narrow(32));
        let step = match matrix {
            Matrix::Multiply(multiply) => {
                let [a, b, c] = multiply.fragments;
                let registers = [
                    self.source_slots(&multiply.a, a.element.register()),
                    self.source_slots(&multiply.b, b.element.register()),
                    self.source_slots(&multiply.c, c.element.register()),
                    self.destination_slots(&multiply.d, multiply.result.register()),
                ];
                let sparse = multiply.sparse.as_ref();
                let metadata = sparse.map(|sparse| self.operand(sparse.metadata, Type::B32));
                let capability = self.loading.capability;
                let product = Product::new(multiply, registers, metadata, capability, self.fast);
                MatrixStep::Product(Box::new(product))
            }
            Matrix::Transpose { d, a } => {
                let a = self.operand(*a, Type::B32);
                MatrixStep::Transpose(Transpose { d: self.destination(*d, Type::B32), a })
            }
            Matrix::Load { transposed, space, d, address } => {
                let registers = self.destination_slots(d, Type::B32);
                self.row_transfer((*space, *address), registers, *transposed, false)
            }
            Matrix::Store { transposed, space, address, a } => {
                let registers = self.source_slots(a, Type::B32);
                self.row_transfer((*space, *address), registers, *transposed, true)
            }
            Matrix::LoadFragment { fragment, space, d, address, stride } => {
                let registers = self.destination_slots(d, fragment.element.register());
                self.tile_transfer((*space, *address), registers, *fragment, *stride, false)
            }
            Matrix::StoreFragment { fragment, space, address, a, stride } => {
                let registers = self.source_slots(a, fragment.element.register());
                self.tile_transfer((*space, *address), registers, *fragment, *stride, true)
            }
        };
        self.collective(CollectiveKind::Converge, Some(all_lanes), UNUSED, (UNUSED, UNUSED));
        self.emit(Action::Matrix(Box::new(step)));
    }

    fn row_transfer(
        &mut self,
        (space, address): (Space, Address),
        registers: Vec<Slot>,
        transposed: bool,
        store: bool,
    ) -> MatrixStep {
        let access = self.access(space, address, Type::B8);
        MatrixStep::RowTransfer(Box::new(RowTransfer { access, store, transposed, registers }))
    }

    fn tile_transfer(
        &mut self,
        (space, address): (Space, Address),
        registers: Vec<Slot>,
        fragment: Fragment,
        stride: Option<Operand>,
        store: bool,
    ) -> MatrixStep {
        let access = self.access(space, address, Type::B8);
        let stride = stride.map(|stride| self.operand(stride, Type::U32));
        MatrixStep::TileTransfer(Box::new(TileTransfer {
            access,
            store,
            stride,
            fragment,
            registers,
        }))
    }

    fn source_slots(&mut self, list: &[Operand], ty: Type) -> Vec<Slot> {
        list.iter().map(|&operand| self.operand(operand, ty)).collect()
    }

    fn destination_slots(&self, list: &[Destination], ty: Type) -> Vec<Slot> {
        list.iter().map(|&d| self.destination(d, ty)).collect()
    }
}
