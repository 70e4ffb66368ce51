//! The phases of a training step, for any layers, loss and batch:
//!
//! 1. *Products of the first layer.* It has most of the weights. An item is a chunk of its weights: up to 32 units
//!    and a range of inputs, for all samples. So a chunk, and the columns of `x` that it needs, stay in the cache of
//!    one core from step to step and from this phase to the last one.
//! 2. *All of the rest but the updates.* An item is a block of samples, which passes through the upper layers, the
//!    loss and the backward pass without waiting for the others.
//! 3. *Updates.* An item is again a chunk of weights, of any layer.
//!
//! The order of each sum depends on the network, the batch and the number of threads, not on who computes it.

use std::sync::{Arc, RwLock, RwLockReadGuard};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use tensor::Loss;

use super::kernels::{Finish, Segment, add_parts, product};
use super::packed::{Chunk, Packed, Row, Rows, WIDTH, panels};
use crate::operations::{sigmoid, softmax};
use crate::state::State;

/// All that the threads share.
pub(super) struct Step {
    arch: Arch,
    layers: Arc<Vec<Packed>>,
    loss: Loss,
    batch: usize,
    /// Samples in a block, except for the last one.
    samples: usize,
    /// For each chunk of the first layer, its part of `z`, `[B, 32]`.
    parts: Vec<RwLock<Rows>>,
    blocks: Vec<RwLock<Block>>,
}

/// The batch and the learning rate of a step.
pub(super) struct Given<'a> {
    /// `[B, n0]`
    pub x: &'a [f32],
    /// `[B, C]`
    pub y: &'a [f32],
    pub learning_rate: f32,
}

/// The activations and gradients of some samples. For each layer, and each of its panels, the samples' rows of 32
/// numbers.
struct Block {
    /// `relu(z)` of the hidden layers, and `z` of the last one.
    a: Vec<Vec<Rows>>,
    dz: Vec<Vec<Rows>>,
    /// The last layer's `z` and `p`, row-major.
    z: Vec<f32>,
    p: Vec<f32>,
}

/// One item, to be computed with the processor's widest vectors.
struct Item<'a> {
    step: &'a Step,
    given: &'a Given<'a>,
    phase: usize,
    item: usize,
}

impl WithSimd for Item<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.phase {
            0 => self.step.first_layer(simd, self.given, self.item),
            1 => self.step.block(simd, self.given, self.item),
            _ => self.step.update(simd, self.given, self.item),
        }
    }
}

/// Locks for reading. Phases take turns with writing and reading, so this never waits.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect("no item panicked")
}

impl Step {
    /// The step for batches of this size, with the buffers that depend on it.
    pub(super) fn new(
        arch: Arch,
        layers: &Arc<Vec<Packed>>,
        loss: Loss,
        batch: usize,
        threads: usize,
    ) -> Self {
        // Two blocks for each thread, and whole blocks of the largest kernel.
        let samples = batch.div_ceil(2 * threads).next_multiple_of(8);
        let block = |first: usize| {
            let n = samples.min(batch - first);
            let rows = |layer: &Packed| (0..panels(layer.outputs)).map(|_| Rows::new(n)).collect();
            let outputs = n * layers[layers.len() - 1].outputs;
            RwLock::new(Block {
                a: layers.iter().map(rows).collect(),
                dz: layers.iter().map(rows).collect(),
                z: vec![0.0; outputs],
                p: vec![0.0; outputs],
            })
        };
        Self {
            arch,
            layers: Arc::clone(layers),
            loss,
            batch,
            samples,
            parts: layers[0].chunks.iter().map(|_| RwLock::new(Rows::new(batch))).collect(),
            blocks: (0..batch).step_by(samples).map(block).collect(),
        }
    }

    // ANCHOR: phases
    /// Computes the step, on all threads or on the caller's only.
    pub(super) fn run(&self, given: &Given<'_>, shared: bool) {
        let chunks = self.layers.iter().map(|layer| layer.chunks.len()).sum();
        let phases = [self.parts.len(), self.blocks.len(), chunks];
        let item = |phase, item| self.arch.dispatch(Item { step: self, given, phase, item });
        if !shared {
            for (phase, items) in phases.into_iter().enumerate() {
                (0..items).for_each(|i| item(phase, i));
            }
            return;
        }
        // Entering the thread pool once for the whole step, rather than for each phase, keeps its threads awake
        // in between.
        rayon::scope(|_| {
            for (phase, items) in phases.into_iter().enumerate() {
                (0..items).into_par_iter().with_max_len(1).for_each(|i| item(phase, i));
            }
        });
    }
    // ANCHOR_END: phases

    /// The samples of a batch that this is for.
    pub(super) const fn batch(&self) -> usize {
        self.batch
    }

    /// Phase 1: `x · wᵀ` for a chunk of `w`.
    #[inline(always)]
    fn first_layer<S: Simd>(&self, simd: S, given: &Given<'_>, item: usize) {
        let chunk = read(&self.layers[0].chunks[item]);
        let mut part = self.parts[item].write().expect("no item panicked");
        let left = &given.x[chunk.input..];
        let segment = Segment { left, stride: self.layers[0].inputs, panel: chunk.w.rows() };
        product::<S, false>(simd, &[segment], Finish::Store, part.rows_mut());
    }

    /// Phase 2: the rest of the forward pass and the backward pass up to the first layer's `dz`, for a block of
    /// samples. It begins by adding up that layer's `z`, of which phase 1 computed a part for each chunk of `w`.
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, given: &Given<'_>, item: usize) {
        let block = &mut *self.blocks[item].write().expect("no item panicked");
        let Block { a, dz, z, p } = block;
        let (first, last) = (item * self.samples, self.layers.len() - 1);
        let classes = self.layers[last].outputs;

        let layer = &self.layers[0];
        let parts: Vec<_> = self.parts.iter().map(read).collect();
        for (panel, parts) in parts.chunks_exact(layer.slices).enumerate() {
            let bias = read(&layer.chunks[panel * layer.slices]).bias;
            for (s, out) in a[0][panel].rows_mut().iter_mut().enumerate() {
                add_parts(parts.iter().map(|part| &part.rows()[first + s]), &bias, last > 0, out);
            }
        }
        drop(parts);

        for (l, layer) in self.layers.iter().enumerate().skip(1) {
            let (before, rest) = a.split_at_mut(l);
            for (chunk, a) in layer.chunks.iter().zip(&mut rest[0]) {
                let chunk = read(chunk);
                let a_prev = before[l - 1].iter().map(Rows::flat);
                let groups = chunk.w.rows().chunks(WIDTH);
                let segments: Vec<_> = a_prev
                    .zip(groups)
                    .map(|(left, panel)| Segment { left, stride: WIDTH, panel })
                    .collect();
                let (bias, hidden) = (&chunk.bias, l < last);
                let finish = if hidden { Finish::BiasRelu(bias) } else { Finish::Bias(bias) };
                product::<S, false>(simd, &segments, finish, a.rows_mut());
            }
        }

        self.output(&given.y[first * classes..], &a[last], z, p, &mut dz[last]);

        for (l, layer) in self.layers.iter().enumerate().skip(1).rev() {
            let chunks: Vec<_> = layer.chunks.iter().map(read).collect();
            let (before, rest) = dz.split_at_mut(l);
            for (i, (dz, a)) in before[l - 1].iter_mut().zip(&a[l - 1]).enumerate() {
                let segments: Vec<_> = chunks
                    .iter()
                    .zip(&rest[0])
                    .map(|(chunk, dz)| {
                        let panel = &chunk.flipped.rows()[i * WIDTH..][..chunk.units];
                        Segment { left: dz.flat(), stride: WIDTH, panel }
                    })
                    .collect();
                product::<S, false>(simd, &segments, Finish::Mask(a.rows()), dz.rows_mut());
            }
        }
    }

    /// `p` of the loss, and `dz = (p − y) / B`, of a block; `y` begins with its first sample.
    fn output(&self, y: &[f32], packed: &[Rows], z: &mut [f32], p: &mut [f32], dz: &mut [Rows]) {
        let classes = self.layers[self.layers.len() - 1].outputs;
        unpack_rows(packed, classes, z);
        match self.loss {
            Loss::CrossEntropy => softmax(z, p, classes),
            Loss::Bce => sigmoid(z, p),
            Loss::SquaredError => p.copy_from_slice(z),
        }
        let samples = p.chunks_exact(classes).zip(y.chunks_exact(classes));
        for (s, (p, y)) in samples.enumerate() {
            for (dz, (p, y)) in dz.iter_mut().zip(p.chunks(WIDTH).zip(y.chunks(WIDTH))) {
                for ((dz, p), y) in dz.rows_mut()[s].iter_mut().zip(p).zip(y) {
                    *dz = (p - y) / self.batch as f32;
                }
            }
        }
    }

    /// Phase 3: `w −= learning_rate · dzᵀ · a_prev` for a chunk of `w`, and the same for the bias.
    #[inline(always)]
    fn update<S: Simd>(&self, simd: S, given: &Given<'_>, mut item: usize) {
        let mut l = 0;
        while item >= self.layers[l].chunks.len() {
            item -= self.layers[l].chunks.len();
            l += 1;
        }
        let layer = &self.layers[l];
        let panel = item / layer.slices;
        let finish = Finish::Subtract(given.learning_rate);
        let mut chunk = layer.chunks[item].write().expect("no item panicked");
        let blocks: Vec<_> = self.blocks.iter().map(read).collect();
        let mut segments = Vec::with_capacity(blocks.len());
        let Chunk { w, input, .. } = &mut *chunk;
        if l == 0 {
            for (i, block) in blocks.iter().enumerate() {
                let left = &given.x[i * self.samples * layer.inputs + *input..];
                let panel = block.dz[0][panel].rows();
                segments.push(Segment { left, stride: layer.inputs, panel });
            }
            product::<S, true>(simd, &segments, finish, w.rows_mut());
        } else {
            for (i, w) in w.rows_mut().chunks_mut(WIDTH).enumerate() {
                segments.clear();
                for block in &blocks {
                    let left = block.a[l - 1][i].flat();
                    let panel = block.dz[l][panel].rows();
                    segments.push(Segment { left, stride: WIDTH, panel });
                }
                product::<S, true>(simd, &segments, finish, w);
            }
            chunk.flip();
        }
        if chunk.input == 0 {
            let mut sum: Row = [0.0; WIDTH];
            for row in blocks.iter().flat_map(|block| block.dz[l][panel].rows()) {
                for (sum, dz) in sum.iter_mut().zip(row) {
                    *sum += dz;
                }
            }
            for (b, sum) in chunk.bias.iter_mut().zip(sum) {
                *b -= given.learning_rate * sum;
            }
        }
    }

    /// Copies what the step has left into the level's buffers.
    pub(super) fn unpack(&self, state: &mut State) {
        let last = self.layers.len() - 1;
        for (i, block) in self.blocks.iter().enumerate() {
            let block = read(block);
            for (l, layer) in state.layers.iter_mut().enumerate() {
                let at = i * self.samples * layer.outputs;
                let a = if l == last { &mut layer.z } else { &mut layer.a };
                let end = a.len().min(at + self.samples * layer.outputs);
                unpack_rows(&block.a[l], layer.outputs, &mut a[at..end]);
                unpack_rows(&block.dz[l], layer.outputs, &mut layer.dz[at..end]);
                if l == last {
                    state.p[at..end].copy_from_slice(&block.p);
                }
            }
        }
    }
}

/// Copies panels of rows to a row-major matrix of this width.
fn unpack_rows(packed: &[Rows], width: usize, out: &mut [f32]) {
    for (s, out) in out.chunks_exact_mut(width).enumerate() {
        for (out, rows) in out.chunks_mut(WIDTH).zip(packed) {
            out.copy_from_slice(&rows.rows()[s][..out.len()]);
        }
    }
}
