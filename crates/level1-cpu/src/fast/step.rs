//! The phases of a training step, for any layers, loss and batch:
//!
//! 1. *Weights.* An item is a chunk of weights of any layer. First it is updated with the gradients of the *previous*
//!    step, and then, in the first layer, multiplied by the present batch. So a step reads and writes each of these
//!    weights once, and a chunk, and the columns of `x` that it needs, stay in the cache of one core.
//! 2. *Samples.* An item is a block of samples, which passes through the upper layers, the loss and the backward pass
//!    without waiting for the others.
//!
//! The update of the last step is made when the weights are next needed. The order of each sum depends on the
//! network, the batch and the number of threads, not on who computes it.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pulp::Arch;
use tensor::Loss;

use super::kernels::{AddParts, Finish, Pass, Product, Segment};
use super::packed::{Chunk, Packed, Row, Rows, WIDTH, panels};
use super::threads::{Items, Work};
use crate::operations::{sigmoid, softmax};
use crate::state::{Samples, State};

/// The state that the threads share.
pub(super) struct Step {
    arch: Arch,
    layers: Arc<Vec<Packed>>,
    loss: Loss,
    batch: usize,
    /// The number of samples in each block; the last block may have fewer.
    samples: usize,
    /// The index of the first number of each row of a block, for rows of 32 numbers.
    packed_starts: Vec<usize>,
    given: RwLock<Given>,
    /// For each chunk of the first layer, its part of `z`, `[B, 32]`.
    parts: Vec<RwLock<Rows>>,
    blocks: Vec<RwLock<Block>>,
}

/// The inputs of a step, and those of the pending update.
#[derive(Default)]
struct Given {
    x: Samples,
    /// `[B, C]`
    y: Vec<f32>,
    /// The batch of the previous step, which the pending update needs.
    previous: Samples,
    /// The learning rate of the pending update; `None` if no update is pending.
    pending: Option<f32>,
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

/// Locks for reading. Phases take turns with writing and reading, so this never waits.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect("no item panicked")
}

/// Locks for writing, also without waiting.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect("no item panicked")
}

impl Work for Step {
    // ANCHOR: phases
    fn item(&self, phase: usize, item: usize) {
        if phase > 0 {
            return self.block(item);
        }
        let given = read(&self.given);
        if self.pass(item, &given).is_some() {
            return;
        }
        if let Some(learning_rate) = given.pending {
            self.update(item, &given.previous, learning_rate);
        }
        if item < self.parts.len() {
            self.first_layer(item, &given.x);
        }
    }
    // ANCHOR_END: phases
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
            packed_starts: (0..samples.max(WIDTH)).map(|row| row * WIDTH).collect(),
            given: RwLock::default(),
            parts: layers[0].chunks.iter().map(|_| RwLock::new(Rows::new(batch))).collect(),
            blocks: (0..batch).step_by(samples).map(block).collect(),
        }
    }

    /// The items of each phase.
    pub(super) fn items(&self) -> [Items; 2] {
        let upper = self.layers.iter().skip(1).map(|layer| layer.chunks.len()).sum();
        let weights = Items { divided: self.parts.len(), shared: upper };
        [weights, Items { divided: self.blocks.len(), shared: 0 }]
    }

    /// The number of samples in a batch.
    pub(super) const fn batch(&self) -> usize {
        self.batch
    }

    /// Takes the batch for the next step. [`end`](Self::end) returns it.
    pub(super) fn begin(&self, state: &mut State) {
        let given = &mut *write(&self.given);
        given.x.copy_from(&state.input.samples);
        given.y = std::mem::take(&mut state.y);
    }

    /// Ends a step, whose update has this learning rate.
    pub(super) fn end(&self, state: &mut State, learning_rate: f32) {
        let given = &mut *write(&self.given);
        state.y = std::mem::take(&mut given.y);
        std::mem::swap(&mut given.x, &mut given.previous);
        given.pending = Some(learning_rate);
    }

    /// Makes the pending update.
    pub(super) fn finish(&self) {
        let given = &mut *write(&self.given);
        if let Some(learning_rate) = given.pending.take() {
            let chunks = self.layers.iter().map(|layer| layer.chunks.len()).sum();
            (0..chunks).for_each(|item| self.update(item, &given.previous, learning_rate));
        }
    }

    /// Drops the pending update, because the weights are replaced.
    pub(super) fn forget(&self) {
        write(&self.given).pending = None;
    }

    /// Updates a chunk of the first layer and multiplies it by the batch. `None` if one pass can't do both.
    fn pass(&self, item: usize, given: &Given) -> Option<()> {
        let learning_rate = given.pending?;
        let [block] = &self.blocks[..] else { return None };
        let mut part = self.parts.get(item).map(write)?;
        let (block, chunk) = (read(block), &mut *write(&self.layers[0].chunks[item]));
        let dz = block.dz[0][item / self.layers[0].slices].rows();
        let rows = |x| Samples::rows_from(x, chunk.input).collect::<Vec<_>>().try_into().ok();
        let pass = Pass {
            previous: rows(&given.previous)?,
            x: rows(&given.x)?,
            dz: dz.try_into().ok()?,
            learning_rate,
            w: chunk.w.rows_mut(),
            z: part.rows_mut().try_into().ok()?,
        };
        if !self.arch.dispatch(pass) {
            return None;
        }
        update_bias(chunk, dz.iter(), learning_rate);
        Some(())
    }

    /// `x · wᵀ` for a chunk of the first layer's `w`.
    fn first_layer(&self, item: usize, x: &Samples) {
        let chunk = read(&self.layers[0].chunks[item]);
        let mut part = write(&self.parts[item]);
        let (numbers, starts) = x.rows();
        let left = &numbers[chunk.input..];
        let segment = Segment { left, starts, panel: chunk.w.rows(), far: true };
        let (segments, finish) = (&[segment], Finish::Store);
        self.arch.dispatch(Product::<false> { segments, finish, out: part.rows_mut() });
    }

    /// Phase 2: the rest of the forward pass and the backward pass up to the first layer's `dz`, for a block of
    /// samples. It begins by adding up that layer's `z`, of which phase 1 computed a part for each chunk of `w`.
    fn block(&self, item: usize) {
        let block = &mut *write(&self.blocks[item]);
        let Block { a, dz, z, p } = block;
        let (first, last) = (item * self.samples, self.layers.len() - 1);
        let classes = self.layers[last].outputs;
        let starts = &self.packed_starts[..];

        let layer = &self.layers[0];
        let parts: Vec<_> = self.parts.iter().map(read).collect();
        for (parts, (chunks, a)) in
            parts.chunks(layer.slices).zip(layer.chunks.chunks(layer.slices).zip(&mut a[0]))
        {
            let parts: Vec<_> = parts.iter().map(|part| &part.rows()[first..]).collect();
            let (bias, hidden) = (&read(&chunks[0]).bias, last > 0);
            self.arch.dispatch(AddParts { parts: &parts, bias, hidden, out: a.rows_mut() });
        }
        drop(parts);

        for (l, layer) in self.layers.iter().enumerate().skip(1) {
            let (before, rest) = a.split_at_mut(l);
            for (chunk, a) in layer.chunks.iter().zip(&mut rest[0]) {
                let chunk = read(chunk);
                let a_prev = before[l - 1].iter().map(Rows::flat);
                let segments: Vec<_> = a_prev
                    .zip(chunk.w.rows().chunks(WIDTH))
                    .map(|(left, panel)| Segment { left, starts, panel, far: false })
                    .collect();
                let (bias, hidden) = (&chunk.bias, l < last);
                let finish = if hidden { Finish::BiasRelu(bias) } else { Finish::Bias(bias) };
                let out = a.rows_mut();
                self.arch.dispatch(Product::<false> { segments: &segments, finish, out });
            }
        }

        self.output(&read(&self.given).y[first * classes..], &a[last], z, p, &mut dz[last]);

        for (l, layer) in self.layers.iter().enumerate().skip(1).rev() {
            let chunks: Vec<_> = layer.chunks.iter().map(read).collect();
            let (before, rest) = dz.split_at_mut(l);
            for (i, (dz, a)) in before[l - 1].iter_mut().zip(&a[l - 1]).enumerate() {
                let segments: Vec<_> = chunks
                    .iter()
                    .zip(&rest[0])
                    .map(|(chunk, dz)| {
                        let panel = &chunk.flipped.rows()[i * WIDTH..][..chunk.units];
                        Segment { left: dz.flat(), starts, panel, far: false }
                    })
                    .collect();
                let (finish, out) = (Finish::Mask(a.rows()), dz.rows_mut());
                self.arch.dispatch(Product::<false> { segments: &segments, finish, out });
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

    /// `w −= learning_rate · dzᵀ · a_prev` for a chunk of `w` of any layer, and the same for the bias.
    fn update(&self, mut item: usize, x: &Samples, learning_rate: f32) {
        let mut l = 0;
        while item >= self.layers[l].chunks.len() {
            item -= self.layers[l].chunks.len();
            l += 1;
        }
        let layer = &self.layers[l];
        let panel = item / layer.slices;
        let finish = Finish::Subtract(learning_rate);
        let mut chunk = write(&layer.chunks[item]);
        let blocks: Vec<_> = self.blocks.iter().map(read).collect();
        let dz = || blocks.iter().map(|block| block.dz[l][panel].rows());
        let Chunk { w, input, .. } = &mut *chunk;
        if l == 0 {
            let (numbers, starts) = x.rows();
            let left = &numbers[*input..];
            let segments: Vec<_> = dz()
                .zip(starts.chunks(self.samples))
                .map(|(panel, starts)| Segment { left, starts, panel, far: false })
                .collect();
            self.arch.dispatch(Product::<true> { segments: &segments, finish, out: w.rows_mut() });
        } else {
            for (i, w) in w.rows_mut().chunks_mut(WIDTH).enumerate() {
                let segments: Vec<_> = blocks
                    .iter()
                    .zip(dz())
                    .map(|(block, panel)| {
                        let (left, starts) = (block.a[l - 1][i].flat(), &self.packed_starts[..]);
                        Segment { left, starts, panel, far: false }
                    })
                    .collect();
                self.arch.dispatch(Product::<true> { segments: &segments, finish, out: w });
            }
            chunk.flip();
        }
        update_bias(&mut chunk, dz().flatten(), learning_rate);
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

/// `b −= learning_rate · Σ dz`, in the chunk that has the biases.
fn update_bias<'a>(chunk: &mut Chunk, dz: impl Iterator<Item = &'a Row>, learning_rate: f32) {
    if chunk.input > 0 {
        return;
    }
    let mut sum: Row = [0.0; WIDTH];
    for row in dz {
        for (sum, dz) in sum.iter_mut().zip(row) {
            *sum += dz;
        }
    }
    for (b, sum) in chunk.bias.iter_mut().zip(sum) {
        *b -= learning_rate * sum;
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
