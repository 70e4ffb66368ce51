//! Fragments: the lane that holds each element of a matrix (PTX ISA, "Matrix Fragments for mma…").
//!
//! The lanes form eight *groups* of four (the ISA's `groupID` and `threadID_in_group`). A group holds a row of `a`, a
//! column of `b` and a row of `c`. Within a group, each lane has the elements that fill its first register, then the
//! elements that fill the next register. If `a` has 16 rows, every second register is eight rows further down. The
//! exception is `mma.m8n8k4` with half precision, which multiplies four pairs of matrices at once, each held by eight
//! lanes: four in the lower half of the warp and four in the upper.
//!
//! For `wmma` the ISA only requires load, multiplication and store to agree. Here the elements are stored in order, row
//! by row (column by column for `b`): first in register 0 of all lanes, then in register 1, and so on. If there are
//! more registers than elements, the elements repeat. The fragments of `m16n16k8`, with TF32, have the layout that
//! `ptxas` uses for compute capability 8.0, because it determines bank conflicts: that of `mma.m16n8k8`, first for the
//! left eight columns of `b` and of the sums, then for the right ones.

use super::matrix::{Element, Fragment, FragmentLayout, MatrixShape, Role};

const LANES: usize = 32;
/// The `wmma` shape of TF32: two `mma.m16n8k8` shapes side by side.
const TF32_WMMA: MatrixShape = MatrixShape { m: 16, n: 16, k: 8 };

impl Fragment {
    /// The number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        match self.role {
            Role::A | Role::C => self.shape.m,
            Role::B => self.shape.k,
        }
    }

    /// The number of columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        match self.role {
            Role::A => self.shape.k,
            Role::B | Role::C => self.shape.n,
        }
    }

    /// Whether the fragment belongs to the instruction that multiplies four pairs of matrices.
    pub(crate) fn is_fourfold(&self) -> bool {
        let factor = self.role == Role::C || self.element == Element::F16;
        factor
            && self.layout == FragmentLayout::Mma
            && (self.shape.m, self.shape.n, self.shape.k) == (8, 8, 4)
            && self.element != Element::F64
    }

    /// The number of matrices that a warp holds.
    #[must_use]
    pub fn matrices(&self) -> usize {
        if self.is_fourfold() { 4 } else { 1 }
    }

    /// The number of registers of a lane.
    #[must_use]
    pub fn registers(&self) -> usize {
        let elements = self.rows() * self.columns() * self.matrices();
        let least = elements / (LANES * self.element.in_register());
        match (self.layout, self.element, self.role) {
            // The ISA has twice as many registers here as are needed.
            (FragmentLayout::Wmma, Element::F16, Role::A | Role::B) => 8,
            _ => least.max(1),
        }
    }

    /// The matrix, row and column of element `part` in register `index` of a lane.
    #[must_use]
    pub fn place(&self, lane: usize, index: usize, part: usize) -> (usize, usize, usize) {
        let parts = self.element.in_register();
        let (rows, columns) = (self.rows(), self.columns());
        if self.layout == FragmentLayout::Wmma && self.shape == TF32_WMMA {
            // The registers of one half. Both halves use all of `a`.
            let half = self.registers() / if self.role == Role::A { 1 } else { 2 };
            let (_, row, column) = self.mma_place(lane, index % half, part);
            return (0, row, column + 8 * (index / half));
        }
        if self.layout == FragmentLayout::Wmma {
            let at = ((index * LANES + lane) * parts + part) % (rows * columns);
            return match self.role {
                Role::B => (0, at % rows, at / rows),
                Role::A | Role::C => (0, at / columns, at % columns),
            };
        }
        if self.is_fourfold() {
            return self.fourfold_place(lane, index * parts + part);
        }
        self.mma_place(lane, index, part)
    }

    /// The place of an element in the layout that the ISA draws for `mma`, except for the shape
    /// with four pairs.
    fn mma_place(&self, lane: usize, index: usize, part: usize) -> (usize, usize, usize) {
        let (parts, rows) = (self.element.in_register(), self.rows());
        let (group, member) = (lane / 4, lane % 4);
        // The number of elements of a row (of a column, in `b`) that a group holds in one register of each
        // lane.
        let run = 4 * parts;
        match self.role {
            Role::A => {
                let below = rows / 8;
                let column = index / below * run + member * parts + part;
                (0, group + 8 * (index % below), column)
            }
            Role::B => (0, index * run + member * parts + part, group),
            Role::C => {
                let element = index * parts + part;
                (0, group + 8 * (element / 2), 2 * member + element % 2)
            }
        }
    }

    /// The place of an element of `mma.m8n8k4` with half precision. `element` counts the elements
    /// of a lane.
    fn fourfold_place(&self, lane: usize, element: usize) -> (usize, usize, usize) {
        let matrix = lane % 16 / 4;
        let further = if lane < 16 { 0 } else { 4 };
        let own = lane % 4;
        let (row, column) = match (self.role, self.by_rows) {
            (Role::A, true) => (own + further, element),
            (Role::A, false) => (element + further, own),
            (Role::B, true) => (own, element + further),
            (Role::B, false) => (element, own + further),
            (Role::C, _) if self.element == Element::F16 => (own + further, element),
            (Role::C, _) => {
                ((lane & 1) + (element & 2) + further, (element & 4) + (lane & 2) + (element & 1))
            }
        };
        (matrix, row, column)
    }
}
