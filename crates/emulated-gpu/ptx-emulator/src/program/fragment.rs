//! Fragments: the lane that holds each element of a matrix (PTX ISA, "Matrix Fragments for mma…").
//!
//! Lanes stand in eight *groups* of four (the ISA's `groupID` and `threadID_in_group`). A group has a row of
//! `a`, a column of `b`, a row of `c`; in it each lane has the elements that fill one register, then those
//! that fill the next. Where `a` has 16 rows, every second register is eight rows further down. The
//! exception is `mma.m8n8k4` of halves, which multiplies four pairs of matrices at once, each held by
//! eight lanes: four in the lower half of the warp and four in the upper.
//!
//! Of `wmma` the ISA says only that load, multiplication and store agree. Here elements lie one behind
//! the other, row by row (those of `b` column by column): in the lanes' first registers, then in their second ones; where there are more
//! registers than elements, they begin anew. Those of `m16n16k8`, of TF32, are held as `ptxas` makes cards of
//! compute capability 8.0 hold them, which tells how their banks are used: as for `mma.m16n8k8`, first the
//! left eight columns of `b` and of the sums, and then the right ones.

use super::matrix::{Element, Fragment, Holding, Role, Shape};

const LANES: usize = 32;
/// Of `wmma`, the shape of TF32: two of `mma.m16n8k8` side by side.
const HALVES: Shape = Shape { m: 16, n: 16, k: 8 };

impl Fragment {
    /// Rows of the matrix.
    #[must_use]
    pub const fn rows(&self) -> usize {
        match self.role {
            Role::A | Role::C => self.shape.m,
            Role::B => self.shape.k,
        }
    }

    /// Columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        match self.role {
            Role::A => self.shape.k,
            Role::B | Role::C => self.shape.n,
        }
    }

    /// Whether it is of the instruction that multiplies four pairs of matrices.
    pub(crate) fn is_fourfold(&self) -> bool {
        let factor = self.role == Role::C || self.element == Element::F16;
        factor
            && self.holding == Holding::Drawn
            && (self.shape.m, self.shape.n, self.shape.k) == (8, 8, 4)
            && self.element != Element::F64
    }

    /// How many matrices a warp holds.
    #[must_use]
    pub fn matrices(&self) -> usize {
        if self.is_fourfold() { 4 } else { 1 }
    }

    /// Registers of a lane.
    #[must_use]
    pub fn registers(&self) -> usize {
        let elements = self.rows() * self.columns() * self.matrices();
        let least = elements / (LANES * self.element.in_register());
        match (self.holding, self.element, self.role) {
            // As the ISA has it: twice as many as it takes.
            (Holding::Open, Element::F16, Role::A | Role::B) => 8,
            _ => least.max(1),
        }
    }

    /// Of element `part` of register `index` of a lane: which matrix, which row, which column.
    #[must_use]
    pub fn place(&self, lane: usize, index: usize, part: usize) -> (usize, usize, usize) {
        let parts = self.element.in_register();
        let (rows, columns) = (self.rows(), self.columns());
        if self.holding == Holding::Open && self.shape == HALVES {
            // Registers of a half: all of `a`, which both take.
            let half = self.registers() / if self.role == Role::A { 1 } else { 2 };
            let (_, row, column) = self.drawn(lane, index % half, part);
            return (0, row, column + 8 * (index / half));
        }
        if self.holding == Holding::Open {
            let at = ((index * LANES + lane) * parts + part) % (rows * columns);
            return match self.role {
                Role::B => (0, at % rows, at / rows),
                Role::A | Role::C => (0, at / columns, at % columns),
            };
        }
        if self.is_fourfold() {
            return self.quarter(lane, index * parts + part);
        }
        self.drawn(lane, index, part)
    }

    /// The same as the ISA draws it for all of `mma` but the one of four pairs.
    fn drawn(&self, lane: usize, index: usize, part: usize) -> (usize, usize, usize) {
        let (parts, rows) = (self.element.in_register(), self.rows());
        let (group, member) = (lane / 4, lane % 4);
        // This many elements of a row (of a column, in `b`) does a group hold in one register of each.
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

    /// The same of `mma.m8n8k4` of halves; `element` counts those of a lane.
    fn quarter(&self, lane: usize, element: usize) -> (usize, usize, usize) {
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
