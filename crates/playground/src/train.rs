//! Training of the preset `small`, 784-30-10, on the built-in digits, with the kernels of level 4's second rung, or with
//! those of level 2, among them the reader's. The page passes the kernels' texts, so that a reader can edit them during
//! the training.

use data::{Counts, Generator, Images, Normalisation, PIXELS, Purpose};
use ptx_emulator::fault::Fault;
use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Kernel, Launch, Loaded, RunOptions, Statistics};
use puzzles::level2::{SolutionState, credit};
use serde_json::{Value, json};
use tensor::{Dump, Header, Loss, Tensor, TensorName};

use crate::cuda_c_lines::Origin;
use crate::exchange;
use crate::level2::{Level2, OwnText};
use crate::record::{self, MAX_STEPS};

/// Numbers of inputs, hidden units and classes.
const SIZES: [usize; 3] = [PIXELS, 30, 10];
const BATCH: usize = 256;
/// Rows and columns of an image.
const SIDE: i32 = 28;
const LEARNING_RATE: f32 = 0.1;
/// The code for binary cross-entropy in the kernel `output`.
const BCE: u32 = 1;
/// Threads of a block, and width of a tile, of `ptx/tiled.ptx`.
const THREADS: u32 = 256;
const TILE: usize = 32;
/// The names of the kernels of a training step.
const KERNELS: [&str; 6] =
    ["forward_layer", "output", "gradient", "sum_batch", "backward_layer", "update"];
/// Number of test images.
const TESTED: usize = BATCH;
/// Number of images in a step that tensor-diff judges.
const JUDGED: usize = 64;
/// Maximum number of training images.
const MAX_SAMPLES: usize = 1 << 14;
/// Limit of instructions for a warp, which stops endless loops. A warp of these kernels needs about ten thousand.
const MAX_INSTRUCTIONS: u64 = 1 << 24;

/// A buffer of `f32` in device memory.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) address: u64,
    pub(crate) len: usize,
}

/// Sizes and buffers of a layer, as in level 4.
struct Layer {
    inputs: usize,
    outputs: usize,
    w: Buffer,
    b: Buffer,
    /// The layer's `a`; for the last layer `z`.
    out: Buffer,
    dz: Buffer,
    dw: Buffer,
    db: Buffer,
}

/// A training in progress.
pub(crate) struct Training {
    emulator: Emulator,
    kernels: Loaded,
    /// The text of `kernels`.
    text: String,
    /// The kernels that are used instead of `kernels` if the reader trains with solutions of puzzles.
    level2: Option<Level2>,
    layers: [Layer; 2],
    x: Buffer,
    y: Buffer,
    p: Buffer,
    losses: Buffer,
    /// With the kernels of level 4, these two are only for tensor-diff.
    z1: Buffer,
    da1: Buffer,
    /// Buffers that kernels of puzzles need in addition to level 2's.
    scratch: [Buffer; 2],
    train: Images,
    test: Images,
    table: [f32; 256],
    seed: u64,
    max_shift: u8,
    /// Number of batches so far.
    batches: usize,
    /// The loss of each batch.
    history: Vec<f32>,
    thread_instructions: u64,
    /// Whether the second layer's weights are updated before the first layer's gradient is computed from them: a mistake
    /// that a reader can try.
    updates_early: bool,
    /// The last launch of a step that ended with a fault.
    failed: Option<Box<FailedLaunch>>,
}

impl Training {
    /// Draws the images and the initial parameters, and loads the kernels. In training, each image is moved by up to
    /// `max_shift` pixels to each side, so that the network also reads digits that aren't quite in the middle.
    pub(crate) fn new(
        text: &str,
        seed: u64,
        samples: usize,
        max_shift: u8,
    ) -> Result<Self, String> {
        if !(BATCH..=MAX_SAMPLES).contains(&samples) {
            return Err(format!(
                "the number of images has to be from {BATCH} to {MAX_SAMPLES}, not {samples}"
            ));
        }
        let options = RunOptions {
            instruction_limit: Some(MAX_INSTRUCTIONS),
            ..exchange::options(&exchange::printed())
        };
        let emulator = Emulator::new(options);
        let kernels = load(&emulator, text).map_err(|problems| problems.to_string())?;
        let buffer = |len: usize| -> Result<Buffer, String> {
            let found = emulator.memory().allocate(len as u64 * 4, 256);
            found.map(|address| Buffer { address, len }).map_err(|error| error.to_string())
        };
        let layer = |l: usize| -> Result<Layer, String> {
            let (inputs, outputs) = (SIZES[l], SIZES[l + 1]);
            Ok(Layer {
                inputs,
                outputs,
                w: buffer(outputs * inputs)?,
                b: buffer(outputs)?,
                out: buffer(BATCH * outputs)?,
                dz: buffer(BATCH * outputs)?,
                dw: buffer(outputs * inputs)?,
                db: buffer(outputs)?,
            })
        };
        let (train, test) = data::built_in(Counts { train: samples, test: TESTED });
        let training = Self {
            layers: [layer(0)?, layer(1)?],
            x: buffer(BATCH * SIZES[0])?,
            y: buffer(BATCH * SIZES[2])?,
            p: buffer(BATCH * SIZES[2])?,
            losses: buffer(BATCH)?,
            z1: buffer(BATCH * SIZES[1])?,
            da1: buffer(BATCH * SIZES[1])?,
            scratch: [buffer(BATCH * SIZES[1])?, buffer(BATCH * SIZES[1])?],
            kernels,
            text: text.to_owned(),
            level2: None,
            emulator,
            train,
            test,
            table: Normalisation::MeanStd.table(),
            seed,
            max_shift,
            batches: 0,
            history: Vec::new(),
            thread_instructions: 0,
            updates_early: false,
            failed: None,
        };
        // Like PyTorch's `Linear`: uniform in ±1/√fan_in, weights first.
        let mut generator = Generator::new(seed, Purpose::Parameters, 0);
        for layer in &training.layers {
            let bound = 1.0 / (layer.inputs as f32).sqrt();
            for buffer in [layer.w, layer.b] {
                let drawn: Vec<f32> =
                    (0..buffer.len).map(|_| generator.uniform(-bound, bound)).collect();
                training.write(buffer, &drawn)?;
            }
        }
        Ok(training)
    }

    /// Replaces the kernels by those of level 2. They include the reader's kernels that pass their check, or with
    /// `unchecked` all of the reader's kernels that compile: `{"kernels": [{"puzzle", "own", "state"}]}`.
    pub(crate) fn own_kernels(
        &mut self,
        own: &[OwnText],
        unchecked: bool,
    ) -> Result<Value, String> {
        let level2 = Level2::new(&self.emulator, own, unchecked, self.scratch)?;
        let list = level2.steps.iter().map(|(row, state)| {
            let own = matches!(state, SolutionState::Used(..));
            json!({ "puzzle": row.puzzle, "own": own, "state": state.to_string() })
        });
        let answer = json!({ "kernels": list.collect::<Vec<_>>() });
        self.level2 = Some(level2);
        self.failed = None;
        self.updates_early = false;
        Ok(answer)
    }

    /// Replaces the kernels, and sets the order of the updates: `{"diagnostics": […]}`, empty on success.
    pub(crate) fn kernels(&mut self, text: &str, updates_early: bool) -> Result<Value, String> {
        match load(&self.emulator, text) {
            Ok(kernels) => {
                self.kernels = kernels;
                text.clone_into(&mut self.text);
                self.level2 = None;
                self.failed = None;
                self.updates_early = updates_early;
                Ok(json!({ "diagnostics": [] }))
            }
            Err(KernelProblems::Text(list)) => Ok(json!({ "diagnostics": list })),
            Err(problems) => Err(problems.to_string()),
        }
    }

    /// Trains on `batches` batches, tests, and returns the [`state`](Self::state) with the `"accuracy"`, and with the
    /// `"credit"` for the reader's kernels. A fault ends it early and is included as `"fault"`.
    pub(crate) fn step(&mut self, batches: usize) -> Result<Value, String> {
        let mut stopped = None;
        for _ in 0..batches {
            if let Err(failure) = self.one_batch() {
                stopped = Some(failure);
                break;
            }
        }
        let mut state = self.state();
        if stopped.is_none() {
            match self.accuracy() {
                Ok(share) => {
                    state["accuracy"] = share.into();
                    state["credit"] = self.credit(share).into();
                }
                Err(failure) => stopped = Some(failure),
            }
        }
        match stopped {
            Some(StepFailure::Fault(failed)) => {
                state["fault"] = exchange::fault(&failed.fault, None);
                state["text"] = format!("error: {}", failed.fault).into();
                self.failed = Some(failed);
            }
            Some(StepFailure::Other(why)) => return Err(why),
            None => {}
        }
        Ok(state)
    }

    /// Records block `block` of the launch that failed last, once more.
    pub(crate) fn record_failed(&self, block: [u32; 3]) -> Result<Value, String> {
        let failed = self.failed.as_ref().ok_or("no kernel of this training has failed")?;
        let FailedLaunch { fault, kernel, launch } = &**failed;
        let (record, outcome) = self
            .emulator
            .record(kernel, launch, block, MAX_STEPS)
            .map_err(|fault| fault.to_string())?;
        let file = fault.place.as_ref().map_or("", |place| &place.file);
        let own = self.level2.as_ref().and_then(|level2| level2.text(file));
        let origin = own.and_then(|own| Origin::compiled(own.cuda_c.as_ref()?, Vec::new()));
        let source = own.map_or(&self.text, |own| &own.ptx);
        let fault = outcome.err().map(|fault| exchange::fault(&fault, None));
        let head = record::head(kernel.name(), [launch.grid, launch.block, block], fault);
        Ok(record::with_steps(head, source, &record, origin.as_ref()))
    }

    fn credit(&self, accuracy: f64) -> Option<String> {
        let (own, count) = self.level2.as_ref()?.share();
        Some(credit(own, count, &format!("{:.1} %", 100.0 * accuracy)))
    }

    /// Classifies an image: `{"p": [10 numbers], "digit": …}`.
    pub(crate) fn read(&mut self, pixels: &[u8]) -> Result<Value, String> {
        if pixels.len() != PIXELS {
            return Err(format!("an image has {PIXELS} pixels, not {}", pixels.len()));
        }
        let x: Vec<f32> = pixels.iter().map(|&pixel| self.table[usize::from(pixel)]).collect();
        let answer = self.predict(&x, 1);
        let p = match answer {
            Ok(p) => p,
            Err(failure) => return Err(failure.describe()),
        };
        Ok(json!({ "p": p, "digit": largest(&p) }))
    }

    /// `{"batches", "losses", "units": [30 pictures], "threadInstructions"}`: the losses of all batches,
    /// and the first layer's weights as bytes, 128 for 0.
    pub(crate) fn state(&self) -> Value {
        let w = self.floats(self.layers[0].w).unwrap_or_default();
        let units = w.chunks(PIXELS).map(|unit| {
            let most = unit.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
            let byte = |w: &f32| (128.0 + 127.0 * w / most.max(f32::MIN_POSITIVE)) as u8;
            unit.iter().map(byte).collect::<Vec<u8>>()
        });
        // JSON has no NaN and no infinity, so they are sent as text, which the page shows as it is.
        let loss = |loss: &f32| match loss.is_finite() {
            true => json!(loss),
            false => json!(loss.to_string()),
        };
        json!({
            "batches": self.batches,
            "losses": self.history.iter().map(loss).collect::<Vec<_>>(),
            "units": units.collect::<Vec<_>>(),
            "threadInstructions": self.thread_instructions,
        })
    }

    fn one_batch(&mut self) -> Result<(), StepFailure> {
        self.train_on(BATCH)?;
        let loss = self.loss(BATCH)?;
        self.history.push(loss);
        self.batches += 1;
        Ok(())
    }

    /// A step on the first `batch` images of the next batch.
    fn train_on(&mut self, batch: usize) -> Result<(), StepFailure> {
        let whole = self.train.len() / BATCH;
        let first = self.batches % whole * BATCH;
        self.load(first, batch)?;
        self.forward(batch)?;
        self.backward(batch)?;
        self.update(0)?;
        if self.updates_early { Ok(()) } else { self.update(1) }
    }

    fn update(&mut self, layer: usize) -> Result<(), StepFailure> {
        let Layer { w, b, dw, db, .. } = self.layers[layer];
        for (to, gradient) in [(w, dw), (b, db)] {
            if self.level2.is_some() {
                let numbers = [LEARNING_RATE.to_bits().into(), to.len as u64];
                self.operation("update", &[to, gradient], numbers)?;
                continue;
            }
            let blocks = to.len.div_ceil(4 * THREADS as usize) as u32;
            let numbers = [(to.len as u32).to_le_bytes(), LEARNING_RATE.to_le_bytes()];
            self.launch("update", [blocks, 1], &[to, gradient], &numbers)?;
        }
        Ok(())
    }

    /// The mean loss of the last step.
    fn loss(&self, batch: usize) -> Result<f32, StepFailure> {
        let losses = self.floats(Buffer { len: batch, ..self.losses })?;
        // Added in double precision, as the levels do.
        let sum = losses.iter().map(|&loss| f64::from(loss)).sum::<f64>();
        // Level 2's kernel adds over the classes, and level 4's takes their mean.
        let each = if self.level2.is_some() { SIZES[2] } else { 1 };
        let mean = sum / (batch * each) as f64;
        Ok(mean as f32)
    }

    /// Has tensor-diff judge a step on [`JUDGED`] images, which leaves the parameters as they were: `{"agrees": …}`, and
    /// if it doesn't, the `"tensor"`, the `"operation"` that made it, the `"reading"` and the `"cause"`.
    pub(crate) fn judge(&mut self) -> Result<Value, String> {
        let dump = match self.dump() {
            Ok(dump) => dump,
            Err(failure) => return Err(failure.describe()),
        };
        let judged = tensor_diff::judge(&dump, 1.0);
        let count = judged.rows.count(tensor_diff::Verdict::Ok);
        Ok(match judged.first_fault {
            None => {
                json!({ "agrees": judged.warnings.is_empty(), "tensors": count, "warnings": judged.warnings })
            }
            Some(fault) => json!({
                "agrees": false,
                "tensors": count,
                "warnings": judged.warnings,
                "tensor": fault.tensor,
                "operation": fault.operation,
                "reading": fault.reading,
                "cause": fault.pattern.map(|pattern| pattern.text),
            }),
        })
    }

    /// The tensors of a step on [`JUDGED`] images, which are taken back afterwards.
    fn dump(&mut self) -> Result<Dump, StepFailure> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, P, W, WNext, X, Y, Z};
        let header = Header {
            level: "this page".to_owned(),
            device: "emulated".to_owned(),
            preset: "small".to_owned(),
            loss: Some(Loss::Bce),
            step: self.batches as u64,
            learning_rate: LEARNING_RATE,
            ..Header::default()
        };
        let stores_all = self.level2.is_some();
        let parameters: Vec<Buffer> = self.layers.iter().flat_map(|own| [own.w, own.b]).collect();
        let mut before = Vec::new();
        for buffer in &parameters {
            before.push(self.floats(*buffer)?);
        }
        let made = self.train_on(JUDGED).and_then(|()| {
            // Level 4's kernels never store z1 and da1, so they make them once more: z1 without ReLU, and da1 with a mask
            // of ones, from the w2 that dz1 was computed with.
            if self.updates_early { self.unmasked() } else { Ok(()) }
        });
        let mut after = Vec::new();
        for (buffer, values) in parameters.iter().zip(&before) {
            after.push(self.floats(*buffer)?);
            self.write(*buffer, values)?;
        }
        made?;
        if !self.updates_early && !stores_all {
            self.unmasked()?;
        }
        if !stores_all {
            let Layer { inputs, outputs, w, b, .. } = self.layers[0];
            let grid = [outputs.div_ceil(TILE) as u32, JUDGED.div_ceil(TILE) as u32];
            let numbers = [JUDGED, inputs, outputs, 0].map(word);
            self.launch("forward_layer", grid, &[self.x, w, b, self.z1], &numbers)?;
        }
        let network = tensor::Network { sizes: SIZES.to_vec(), loss: Loss::Bce };
        let mut dump = Dump::new(header);
        for name in network.tensor_names() {
            let layer = |l: usize| &self.layers[l - 1];
            let part =
                |buffer: Buffer| self.floats(Buffer { len: JUDGED * buffer.len / BATCH, ..buffer });
            let values = match name {
                X => part(self.x)?,
                Y => part(self.y)?,
                P => part(self.p)?,
                TensorName::Loss => vec![self.loss(JUDGED)?],
                W(l) => before[2 * l - 2].clone(),
                B(l) => before[2 * l - 1].clone(),
                WNext(l) => after[2 * l - 2].clone(),
                BNext(l) => after[2 * l - 1].clone(),
                A(l) => part(layer(l).out)?,
                Z(2) => part(layer(2).out)?,
                Dz(l) => part(layer(l).dz)?,
                Dw(l) => self.floats(layer(l).dw)?,
                Db(l) => self.floats(layer(l).db)?,
                Z(_) => part(self.z1)?,
                Da(_) => part(self.da1)?,
            };
            let shape = network.shape(name, JUDGED).unwrap_or_default();
            let tensor = Tensor::new(shape, values).map_err(|error| error.to_string())?;
            dump.push(name, &tensor);
        }
        Ok(dump)
    }

    /// Computes da1 on [`JUDGED`] images.
    fn unmasked(&mut self) -> Result<(), StepFailure> {
        let Layer { inputs, outputs, w, dz, .. } = self.layers[1];
        self.write(self.z1, &vec![1.0; self.z1.len])?;
        let grid = [inputs.div_ceil(TILE) as u32, JUDGED.div_ceil(TILE) as u32];
        let numbers = [JUDGED, inputs, outputs].map(word);
        self.launch("backward_layer", grid, &[dz, w, self.z1, self.da1], &numbers)
    }

    /// Writes `batch` training images, from image `first` on.
    fn load(&self, first: usize, batch: usize) -> Result<(), StepFailure> {
        let mut x = Vec::with_capacity(batch * PIXELS);
        let mut y = vec![0.0; batch * SIZES[2]];
        let mut generator = Generator::new(self.seed, Purpose::Noise, self.batches as u64);
        let max = i32::from(self.max_shift);
        let mut shift = || generator.below(2 * max as u32 + 1) as i32 - max;
        for sample in 0..batch {
            let image = shifted(self.train.image(first + sample), [shift(), shift()]);
            x.extend(image.map(|pixel| self.table[usize::from(pixel)]));
            y[sample * SIZES[2] + usize::from(self.train.labels()[first + sample])] = 1.0;
        }
        self.write(Buffer { len: x.len(), ..self.x }, &x)?;
        Ok(self.write(Buffer { len: y.len(), ..self.y }, &y)?)
    }

    fn forward(&mut self, batch: usize) -> Result<(), StepFailure> {
        if self.level2.is_some() {
            return self.forward_by_operations(batch);
        }
        for l in 0..2 {
            let Layer { inputs, outputs, w, b, out, .. } = self.layers[l];
            let a_prev = if l == 0 { self.x } else { self.layers[0].out };
            let grid = [outputs.div_ceil(TILE) as u32, batch.div_ceil(TILE) as u32];
            let numbers = [batch, inputs, outputs, usize::from(l == 0)].map(word);
            self.launch("forward_layer", grid, &[a_prev, w, b, out], &numbers)?;
        }
        let Layer { outputs, out, dz, .. } = self.layers[1];
        let numbers = [word(batch), word(outputs), BCE.to_le_bytes()];
        // A warp for each sample, eight of them in a block.
        let grid = [batch.div_ceil(THREADS as usize / 32) as u32, 1];
        self.launch("output", grid, &[out, self.y, self.p, dz, self.losses], &numbers)
    }

    fn backward(&mut self, batch: usize) -> Result<(), StepFailure> {
        if self.level2.is_some() {
            return self.backward_by_operations(batch);
        }
        for l in [1, 0] {
            let Layer { inputs, outputs, w, dz, dw, db, .. } = self.layers[l];
            let a_prev = if l == 0 { self.x } else { self.layers[0].out };
            let grid = [inputs.div_ceil(2 * TILE) as u32, outputs.div_ceil(TILE) as u32];
            let numbers = [batch, inputs, outputs].map(word);
            self.launch("gradient", grid, &[dz, a_prev, dw], &numbers)?;
            let columns = [outputs.div_ceil(TILE) as u32, 1];
            self.launch("sum_batch", columns, &[dz, db], &[word(batch), word(outputs)])?;
            if l == 1 {
                if self.updates_early {
                    self.update(1)?;
                }
                let grid = [inputs.div_ceil(TILE) as u32, batch.div_ceil(TILE) as u32];
                let dz_prev = self.layers[0].dz;
                self.launch("backward_layer", grid, &[dz, w, a_prev, dz_prev], &numbers)?;
            }
        }
        Ok(())
    }

    /// The forward pass of level 2, and the losses.
    fn forward_by_operations(&mut self, batch: usize) -> Result<(), StepFailure> {
        for l in 0..2 {
            let Layer { inputs, outputs, w, b, out, .. } = self.layers[l];
            let (a_prev, z) = if l == 0 { (self.x, self.z1) } else { (self.layers[0].out, out) };
            self.operation("matmul_a_bt", &[a_prev, w, z], [batch, outputs, inputs].map(long))?;
            self.operation("add_bias", &[z, b], [batch, outputs].map(long))?;
            if l == 0 {
                self.operation("relu", &[z, out], [long(batch * outputs)])?;
            }
        }
        let Layer { outputs, out, .. } = self.layers[1];
        self.operation("sigmoid", &[out, self.p], [long(batch * outputs)])?;
        let Some(level2) = &self.level2 else { return Ok(()) };
        let buffers = [out, self.y, self.losses];
        let statistics = level2.losses(&self.emulator, buffers, [batch, outputs])?;
        self.thread_instructions += statistics.thread_instructions;
        Ok(())
    }

    /// The backward pass of level 2.
    fn backward_by_operations(&mut self, batch: usize) -> Result<(), StepFailure> {
        let Layer { outputs, dz, .. } = self.layers[1];
        let numbers = [batch, outputs].map(long);
        self.operation("output_gradient", &[self.p, self.y, dz], numbers)?;
        for l in [1, 0] {
            let Layer { inputs, outputs, w, dz, dw, db, .. } = self.layers[l];
            let a_prev = if l == 0 { self.x } else { self.layers[0].out };
            let numbers = [outputs, inputs, batch].map(long);
            self.operation("matmul_at_b", &[dz, a_prev, dw], numbers)?;
            self.operation("sum_batch", &[dz, db], [batch, outputs].map(long))?;
            if l == 1 {
                let numbers = [batch, inputs, outputs].map(long);
                self.operation("matmul_a_b", &[dz, w, self.da1], numbers)?;
                let (dz_prev, elements) = (self.layers[0].dz, long(batch * inputs));
                self.operation("relu_backward", &[self.da1, self.z1, dz_prev], [elements])?;
            }
        }
        Ok(())
    }

    /// Launches the kernel of one of level 2's operations: its buffers and then its numbers are the arguments.
    fn operation<const N: usize>(
        &mut self,
        name: &str,
        buffers: &[Buffer],
        numbers: [u64; N],
    ) -> Result<(), StepFailure> {
        let Some(level2) = &self.level2 else { return Ok(()) };
        let arguments = buffers.iter().map(|buffer| buffer.address).chain(numbers);
        let arguments: Vec<u64> = arguments.collect();
        let statistics = level2.launch(&self.emulator, name, &arguments)?;
        self.thread_instructions += statistics.thread_instructions;
        Ok(())
    }

    /// The test accuracy, from 0 to 1.
    fn accuracy(&mut self) -> Result<f64, StepFailure> {
        let pixels = self.test.pixels().iter();
        let x: Vec<f32> = pixels.map(|&pixel| self.table[usize::from(pixel)]).collect();
        let p = self.predict(&x, TESTED)?;
        let guesses = p.chunks(SIZES[2]).map(largest);
        let right = guesses.zip(self.test.labels()).filter(|(guess, label)| *guess == **label);
        Ok(right.count() as f64 / TESTED as f64)
    }

    /// The outputs `p` for a batch of inputs.
    fn predict(&mut self, x: &[f32], batch: usize) -> Result<Vec<f32>, StepFailure> {
        self.write(Buffer { len: x.len(), ..self.x }, x)?;
        self.forward(batch)?;
        Ok(self.floats(Buffer { len: batch * SIZES[2], ..self.p })?)
    }

    fn launch(
        &mut self,
        name: &str,
        [x, y]: [u32; 2],
        buffers: &[Buffer],
        numbers: &[[u8; 4]],
    ) -> Result<(), StepFailure> {
        let missing = || format!("the kernels lack {name}");
        let kernel = self.kernels.kernel(name).ok_or_else(missing)?;
        let addresses = buffers.iter().flat_map(|buffer| buffer.address.to_le_bytes());
        let parameters = addresses.chain(numbers.iter().flatten().copied()).collect();
        let launch =
            Launch { grid: [x, y, 1], block: [THREADS, 1, 1], parameters, ..Launch::default() };
        let statistics = self::launch(&self.emulator, &kernel, launch)?;
        self.thread_instructions += statistics.thread_instructions;
        Ok(())
    }

    fn write(&self, to: Buffer, values: &[f32]) -> Result<(), String> {
        write(&self.emulator, to, values)
    }

    fn floats(&self, from: Buffer) -> Result<Vec<f32>, String> {
        floats(&self.emulator, from)
    }
}

/// Launches a kernel.
pub(crate) fn launch(
    emulator: &Emulator,
    kernel: &Kernel,
    launch: Launch,
) -> Result<Statistics, StepFailure> {
    emulator.launch(kernel, &launch).map_err(|fault| {
        StepFailure::Fault(Box::new(FailedLaunch { fault, kernel: kernel.clone(), launch }))
    })
}

/// Writes numbers to the beginning of a buffer.
pub(crate) fn write(emulator: &Emulator, to: Buffer, values: &[f32]) -> Result<(), String> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    emulator.memory().write(to.address, &bytes).map_err(|error| error.to_string())
}

/// The numbers of a buffer.
pub(crate) fn floats(emulator: &Emulator, from: Buffer) -> Result<Vec<f32>, String> {
    let mut bytes = vec![0; from.len * 4];
    let read = emulator.memory().read(from.address, &mut bytes);
    read.map_err(|error| error.to_string())?;
    let word = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(bytes.chunks_exact(4).map(word).collect())
}

/// Failure of a training step.
pub(crate) enum StepFailure {
    Fault(Box<FailedLaunch>),
    Other(String),
}

/// A launch that ended with a fault.
pub(crate) struct FailedLaunch {
    pub(crate) fault: Fault,
    kernel: Kernel,
    launch: Launch,
}

impl StepFailure {
    /// A description of the failure, as a sentence.
    fn describe(self) -> String {
        match self {
            Self::Fault(failed) => failed.fault.to_string(),
            Self::Other(why) => why,
        }
    }
}

impl From<String> for StepFailure {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Errors in a text with kernels.
enum KernelProblems {
    Text(Vec<Value>),
    Missing(&'static str),
}

impl std::fmt::Display for KernelProblems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(list) => {
                let first = list.first().and_then(|first| first["message"].as_str());
                write!(f, "the kernels have {} errors: {}", list.len(), first.unwrap_or_default())
            }
            Self::Missing(name) => {
                write!(f, "the text has no kernel {name}: keep the names of all kernels")
            }
        }
    }
}

fn load(emulator: &Emulator, text: &str) -> Result<Loaded, KernelProblems> {
    let source = Source { name: "tiled.ptx".into(), text: text.to_owned() };
    let diagnostics =
        |found: Vec<_>| KernelProblems::Text(found.iter().map(exchange::ptx_diagnostic).collect());
    let loaded = emulator.load(source).map_err(diagnostics)?;
    match KERNELS.into_iter().find(|name| loaded.kernel(name).is_none()) {
        Some(missing) => Err(KernelProblems::Missing(missing)),
        None => Ok(loaded),
    }
}

/// An image that is moved to the right and down, with background at the sides that become free.
fn shifted(image: &[u8], [right, down]: [i32; 2]) -> impl Iterator<Item = u8> {
    (0..SIDE * SIDE).map(move |at| {
        let (row, column) = (at / SIDE - down, at % SIDE - right);
        let is_inside = (0..SIDE).contains(&row) && (0..SIDE).contains(&column);
        if is_inside { image[(row * SIDE + column) as usize] } else { 0 }
    })
}

fn word(number: usize) -> [u8; 4] {
    (number as u32).to_le_bytes()
}

fn long(number: usize) -> u64 {
    number as u64
}

/// Index of the largest number, ignoring NaN.
fn largest(p: &[f32]) -> u8 {
    let mut found = 0;
    for (digit, value) in p.iter().enumerate() {
        if *value > p[found] {
            found = digit;
        }
    }
    found as u8
}
