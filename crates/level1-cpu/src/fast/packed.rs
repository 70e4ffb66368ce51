//! Packing: the weights in panels of 32 units, in the order in which the kernels read them.
//!
//! A row-major weight matrix `[n, m]` keeps the weights of *one unit* next to each other. A kernel that computes
//! 32 units of a sample at once needs the weights of 32 units to *one input* next to each other, so a general
//! product copies the matrix into that order each time it is called. Here the matrix stays in that order from
//! step to step. It is only unpacked for a dump, a checkpoint or a test.

use std::sync::RwLock;

use crate::state::Layer;

/// Numbers in a row, and units in a panel. The last panel of a layer is padded with zeros.
pub(super) const WIDTH: usize = 32;

/// One row of a panel.
pub(super) type Row = [f32; WIDTH];

/// Rows of 32 numbers that begin at a multiple of 64 bytes, so that no vector crosses a cache line.
#[derive(Default)]
pub(super) struct Rows {
    buffer: Vec<f32>,
    start: usize,
}

impl Rows {
    /// `count` rows of zeros.
    pub(super) fn new(count: usize) -> Self {
        let buffer = vec![0.0_f32; (count + 1) * WIDTH];
        // In bytes 64; `align_offset` counts elements. It may fail in theory, and then alignment is lost, no more.
        let start = buffer.as_ptr().align_offset(64).min(WIDTH);
        Self { buffer, start }
    }

    /// The rows one after the other.
    pub(super) fn flat(&self) -> &[f32] {
        &self.buffer[self.start..][..self.buffer.len() - WIDTH]
    }

    /// The rows.
    pub(super) fn rows(&self) -> &[Row] {
        self.flat().as_chunks().0
    }

    /// The rows, to be written.
    pub(super) fn rows_mut(&mut self) -> &mut [Row] {
        let length = self.buffer.len() - WIDTH;
        self.buffer[self.start..][..length].as_chunks_mut().0
    }
}

/// The number of panels of a layer with `units` units.
pub(super) const fn panels(units: usize) -> usize {
    units.div_ceil(WIDTH)
}

/// The part of a layer that one item of work reads, and updates: the weights of up to 32 units to a range of inputs.
pub(super) struct Chunk {
    /// The first unit.
    unit: usize,
    /// The units that aren't padding.
    pub units: usize,
    /// The first input.
    pub input: usize,
    /// The biases, in the chunk that has the first inputs.
    pub bias: Row,
    /// Row `k` has the weights of the units to input `input + k`.
    pub w: Rows,
    /// The same weights for the backward pass, unless this is the first layer: row `32·i + u` has the weights of
    /// unit `u` to the `i`th group of 32 inputs.
    pub flipped: Rows,
}

impl Chunk {
    /// Refreshes the copy for the backward pass.
    pub(super) fn flip(&mut self) {
        let groups = self.w.rows().chunks(WIDTH);
        for (w, flipped) in groups.zip(self.flipped.rows_mut().chunks_exact_mut(WIDTH)) {
            for (u, flipped) in flipped.iter_mut().enumerate() {
                for (flipped, w) in flipped.iter_mut().zip(w) {
                    *flipped = w[u];
                }
            }
        }
    }
}

/// The packed weights of a layer: for each panel the same number of chunks, each behind its own lock.
pub(super) struct Packed {
    /// `m`.
    pub inputs: usize,
    /// `n`.
    pub outputs: usize,
    /// The number of chunks in each panel.
    pub slices: usize,
    /// `panels(outputs) · slices` chunks, those of the first panel first.
    pub chunks: Vec<RwLock<Chunk>>,
}

impl Packed {
    /// A layer with all weights 0, whose inputs are cut into at most `slices` ranges.
    pub(super) fn new(layer: &Layer, first: bool, slices: usize) -> Self {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        // Eight rows are one block of the largest kernel.
        let length = inputs.div_ceil(slices).next_multiple_of(8);
        let slices = inputs.div_ceil(length);
        let chunk = |panel: usize, slice: usize| {
            let (unit, input) = (panel * WIDTH, slice * length);
            let rows = length.min(inputs - input);
            let flipped = if first { 0 } else { rows.next_multiple_of(WIDTH) };
            RwLock::new(Chunk {
                unit,
                units: WIDTH.min(outputs - unit),
                input,
                bias: [0.0; WIDTH],
                w: Rows::new(rows),
                flipped: Rows::new(flipped),
            })
        };
        let chunks =
            (0..panels(outputs)).flat_map(|panel| (0..slices).map(move |q| chunk(panel, q)));
        Self { inputs, outputs, slices, chunks: chunks.collect() }
    }

    /// Copies the weights and biases of a layer.
    pub(super) fn pack(&self, layer: &Layer) {
        for chunk in &self.chunks {
            let chunk = &mut *chunk.write().expect("no step panicked");
            for u in 0..chunk.units {
                let unit = chunk.unit + u;
                chunk.bias[u] = layer.b[unit];
                let w = &layer.w[unit * self.inputs + chunk.input..];
                for (row, w) in chunk.w.rows_mut().iter_mut().zip(w) {
                    row[u] = *w;
                }
            }
            chunk.flip();
        }
    }

    /// Copies the weights and biases back to a layer.
    pub(super) fn unpack(&self, layer: &mut Layer) {
        for chunk in &self.chunks {
            let chunk = &*chunk.read().expect("no step panicked");
            for u in 0..chunk.units {
                let unit = chunk.unit + u;
                if chunk.input == 0 {
                    layer.b[unit] = chunk.bias[u];
                }
                let w = &mut layer.w[unit * self.inputs + chunk.input..];
                for (w, row) in w.iter_mut().zip(chunk.w.rows()) {
                    *w = row[u];
                }
            }
        }
    }
}
