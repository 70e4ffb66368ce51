//! Dumps: all tensors of one training step of a level, or of several steps in a row.

use data::{Batch, Dataset, Epoch, Generator, Normalisation, Purpose};
use tensor::{Dump, Header, Network, Samples, Tensor, TensorName};

use crate::train::{advance, at_once, epoch_order, parameters};
use crate::{Error, Level, Parameters, Preset, PresetKind, Result, Runner, Single};

/// The inputs of the dumped steps: samples, and the parameters before the first step.
pub struct Inputs {
    /// The samples, which are divided into batches.
    pub set: Dataset,
    /// Parameters before the first step.
    pub parameters: Parameters,
    /// Whether the steps use the samples in the order of the set, including a last batch that is not full, regardless
    /// of the preset.
    keeps_order: bool,
    /// If known, each sample's index in MNIST's training set, and the normalisation of the pixels.
    mnist: Option<Samples>,
}

/// Which steps of a level's training are dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The number of steps that are run first, without a dump.
    pub before: usize,
    /// The number of steps that are dumped after that.
    pub dumped: usize,
    /// Whether to run the steps as training does, possibly with fused phases.
    pub fused: bool,
}

impl Inputs {
    /// The inputs of training: a training set, which is used in the preset's order.
    #[must_use]
    pub const fn of_training(set: Dataset, parameters: Parameters) -> Self {
        Self { set, parameters, keeps_order: false, mnist: None }
    }

    /// Marks the samples as the first ones of MNIST's training set, so that each dump names the samples of its batch.
    #[must_use]
    pub fn name_as_mnist(self, normalisation: Normalisation) -> Self {
        let rows = (0..self.set.len()).map(|row| row as u32).collect();
        let mnist = Some(Samples { normalisation: normalisation.to_string(), rows });
        Self { mnist, ..self }
    }

    /// The noise of a fixture: random pixels between 0 and 255, of which about half are 0 as in a digit, random labels,
    /// and random parameters. The preset determines the normalisation, the edge of arithmetic, and the number of
    /// samples, at least one batch.
    #[must_use]
    pub fn fixture(preset: &Preset) -> Self {
        let mut generator = Generator::new(preset.seed, Purpose::Noise, 0);
        let mut pixel = || if generator.below(2) == 0 { 0 } else { generator.below(256) as u8 };
        let (inputs, classes) = (preset.network.inputs(), preset.network.outputs());
        let samples = preset.samples.max(preset.batch_size);
        let pixels: Vec<u8> = (0..samples * inputs).map(|_| pixel()).collect();
        let mut generator = Generator::new(preset.seed, Purpose::Noise, 1);
        let mut labels: Vec<u8> =
            (0..samples).map(|_| generator.below(classes as u32) as u8).collect();
        let mut parameters = Parameters::new(&preset.network, preset.initialisation, preset.seed);
        if let Some(edge) = preset.edge {
            edge.apply(&mut parameters, &mut labels);
        }
        let x = pixels.into_iter().map(|pixel| preset.normalisation.apply(pixel)).collect();
        Self {
            set: Dataset::from_rows(x, labels, inputs, classes).expect("drawn to this size"),
            parameters,
            keeps_order: true,
            mnist: None,
        }
    }

    /// The batches and the first parameters of a run of dumps. Changes the preset to match, as
    /// [`from_dump`](Self::from_dump) does.
    ///
    /// # Errors
    /// As [`from_dump`](Self::from_dump), for any of the steps; if a batch other than the last is smaller
    /// than the first.
    pub fn from_run(run: &[Dump], preset: &mut Preset) -> Result<Self> {
        let [first, rest @ ..] = run else {
            return Err(Error::Usage("there is no step in the inputs".into()));
        };
        let mut all = Self::from_dump(first, preset)?;
        let (mut x, mut labels) = (all.set.x().to_vec(), all.set.labels().to_vec());
        for (i, dump) in rest.iter().enumerate() {
            let step = dump.header.step;
            if labels.len() != (i + 1) * preset.batch_size {
                return Err(Error::Usage(format!(
                    "the batch before step {step} and the first one differ in size: only the last \
                     batch of a run may"
                )));
            }
            let in_step = |error| Error::Usage(format!("step {step}: {error}"));
            let next = samples_of(dump, &preset.network).map_err(in_step)?;
            x.extend(next.x);
            labels.extend(next.labels);
            all.mnist = all.mnist.zip(next.mnist).map(|(mut all, next)| {
                all.rows.extend(next.rows);
                all
            });
        }
        preset.samples = labels.len();
        let (inputs, classes) = (preset.network.inputs(), preset.network.outputs());
        all.set = Dataset::from_rows(x, labels, inputs, classes)?;
        Ok(all)
    }

    /// The batch and the parameters of a dump. Changes the preset to match the dump: layer sizes, batch size, seed,
    /// learning rate, and the loss if the dump states it.
    ///
    /// # Errors
    /// If `x`, `y` or a parameter is missing or has a shape that doesn't match the others, or `y` is not one-hot.
    pub fn from_dump(dump: &Dump, preset: &mut Preset) -> Result<Self> {
        let x = tensor_of(dump, TensorName::X)?;
        let &[batch, inputs] = x.shape() else {
            return Err(Error::Usage(format!("x has the shape {:?}, not [B, n0]", x.shape())));
        };
        let mut sizes = vec![inputs];
        while let Some(w) = dump.get(TensorName::W(sizes.len())) {
            sizes.push(*w.shape.first().unwrap_or(&0));
        }
        if sizes.len() < 2 || sizes.contains(&0) || batch == 0 {
            return Err(Error::Usage("the inputs have no w1, or an empty tensor".into()));
        }
        let loss = dump.header.loss.unwrap_or(preset.network.loss);
        preset.network = Network { sizes, loss };
        (preset.batch_size, preset.samples) = (batch, batch);
        preset.seed = dump.header.seed;
        preset.learning_rate = dump.header.learning_rate;
        let DumpedSamples { x, labels, mnist } = samples_of(dump, &preset.network)?;
        let set = Dataset::from_rows(x, labels, inputs, preset.network.outputs())?;
        let parameters = Parameters::from_dump(dump, &preset.network)?;
        Ok(Self { set, parameters, keeps_order: true, mnist })
    }

    /// The indices of a batch's samples in MNIST.
    fn samples(&self, batch: &Batch<'_>) -> Option<Samples> {
        let Samples { normalisation, rows } = self.mnist.as_ref()?;
        let rows = batch.indices().map(|i| rows[i]).collect();
        Some(Samples { normalisation: normalisation.clone(), rows })
    }

    /// The order of the samples in an epoch.
    fn order(&self, preset: &Preset, epoch: usize) -> Epoch {
        if self.keeps_order || preset.kind == PresetKind::Fixture {
            Epoch::in_order(self.set.len(), preset.batch_size, false)
        } else {
            epoch_order(preset, self.set.len(), epoch)
        }
    }
}

/// The samples of one dump.
struct DumpedSamples {
    x: Vec<f32>,
    labels: Vec<u8>,
    mnist: Option<Samples>,
}

/// Reads the samples of a dump of this network.
fn samples_of(dump: &Dump, network: &Network) -> Result<DumpedSamples> {
    let (x, y) = (tensor_of(dump, TensorName::X)?, tensor_of(dump, TensorName::Y)?);
    let batch = x.shape().first().copied().unwrap_or_default();
    if batch == 0 {
        return Err(Error::Usage("x has no samples".into()));
    }
    for (name, tensor) in [(TensorName::X, &x), (TensorName::Y, &y)] {
        let expected = network.shape(name, batch).unwrap_or_default();
        if tensor.shape() != expected {
            let shape = tensor.shape();
            return Err(Error::Usage(format!("{name} has the shape {shape:?}, not {expected:?}")));
        }
    }
    let label = |(i, row): (usize, &[f32])| {
        let count = |value: f32| row.iter().filter(|v| **v == value).count();
        if count(1.0) == 1 && count(0.0) == row.len() - 1 {
            Ok(row.iter().position(|v| *v == 1.0).unwrap_or_default() as u8)
        } else {
            Err(Error::Usage(format!("row {i} of y is not one-hot: {row:?}")))
        }
    };
    let rows = y.data().chunks_exact(network.outputs()).enumerate();
    let labels = rows.map(label).collect::<Result<_>>()?;
    let mnist = dump.header.mnist.clone().filter(|samples| samples.rows.len() == batch);
    Ok(DumpedSamples { x: x.into_data(), labels, mnist })
}

/// A tensor that a dump has to contain.
fn tensor_of(dump: &Dump, name: TensorName) -> Result<Tensor> {
    let tensor = dump.get(name).map(tensor::DumpedTensor::to_tensor);
    tensor.ok_or_else(|| Error::Usage(format!("the inputs have no tensor {name}")))
}

/// A dump with only the inputs of a step, `x y w1 b1 … wL bL`; nothing is computed.
#[must_use]
pub fn inputs_only(header: Header, preset: &Preset, inputs: &Inputs) -> Dump {
    let order = inputs.order(preset, 0);
    let batch = order.batch(&inputs.set, 0);
    let mut dump = Dump::new(Header { mnist: inputs.samples(&batch), ..header });
    let mut x = Tensor::zeros([batch.len(), inputs.set.features()]);
    batch.copy_x(x.data_mut());
    let mut y = Tensor::zeros([batch.len(), inputs.set.classes()]);
    batch.copy_y(y.data_mut());
    dump.push(TensorName::X, &x);
    dump.push(TensorName::Y, &y);
    for (layer, l) in inputs.parameters.layers.iter().zip(1..) {
        dump.push(TensorName::W(l), &layer.w);
        dump.push(TensorName::B(l), &layer.b);
    }
    dump
}

/// Runs one training step and dumps its tensors, which are read back from the level, inputs included.
///
/// `header.step` steps run first, without a dump. With `fused`, the step runs as in training; otherwise the phases
/// forward, backward and update run one after the other. The header lists the tensors that the level never holds in
/// memory.
///
/// # Errors
/// If the level fails, or there is no batch for that step.
pub fn dump(
    level: &mut dyn Level,
    header: Header,
    preset: &Preset,
    inputs: &Inputs,
    fused: bool,
) -> Result<Dump> {
    let before = usize::try_from(header.step).unwrap_or(usize::MAX);
    let steps = Steps { before, dumped: 1, fused };
    let mut run = run(&mut Single(level), &header, preset, inputs, steps)?;
    run.pop().ok_or_else(|| Error::Usage("no step was requested".into()))
}

/// Trains as the training loop does, with the same buffers from step to step, and dumps the last steps. Such a run also
/// shows mistakes whose effect on one step comes from an earlier step, which no dump of a single step can show.
///
/// `header.step` is the number of the first step that is dumped. Reading the tensors waits for the device after each
/// step, which training doesn't, so a missing synchronisation may not show.
///
/// # Errors
/// If the level fails, or there is no batch for a step.
pub fn run(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
) -> Result<Vec<Dump>> {
    let mut dumps = Vec::new();
    let mut sink = |dump| {
        dumps.push(dump);
        Ok(())
    };
    run_into(runner, header, preset, inputs, steps, &mut sink)?;
    Ok(dumps)
}

/// As [`run`], but passes each dump to `sink` before the next step runs.
///
/// # Errors
/// As [`run`], and if the sink fails.
pub fn run_into(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let run = DumpedRun { header, preset, inputs, steps };
    if steps.fused && at_once(runner) > 1 {
        return run.fused(runner, sink);
    }
    run.each_step(runner, |level, dump| step(level, preset, steps.fused, dump), sink)
}

/// As [`run_into`], but the dumps only contain the inputs of each step: `x y w1 b1 … wL bL`.
///
/// # Errors
/// As [`run_into`].
pub fn inputs_into(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let dumped = |level: &mut dyn Level, dump: &mut Dump| {
        record(level, preset, dump, TensorName::is_given)?;
        level.step(preset.learning_rate)
    };
    DumpedRun { header, preset, inputs, steps }.each_step(runner, dumped, sink)
}

/// A function that consumes the dumps of a run, one at a time.
pub type Sink<'a> = dyn FnMut(Dump) -> Result<()> + 'a;

/// A run of several training steps that are dumped.
struct DumpedRun<'a> {
    header: &'a Header,
    preset: &'a Preset,
    inputs: &'a Inputs,
    steps: Steps,
}

impl DumpedRun<'_> {
    /// Loads the training set. Returns the number of batches in an epoch, and the first step after the run.
    fn start(&self, runner: &mut dyn Runner) -> Result<(usize, usize)> {
        let per_epoch = self.inputs.order(self.preset, 0).batches();
        if per_epoch == 0 {
            return Err(Error::Usage("the samples do not fill one batch".into()));
        }
        runner.level().dataset(&self.inputs.set)?;
        Ok((per_epoch, self.steps.before.saturating_add(self.steps.dumped)))
    }

    /// A dump without tensors for step number `step` of the run, on this rank's part of the step's batch.
    fn new_dump(&self, step: usize, batch: &Batch<'_>) -> Dump {
        let step = self.header.step + (step - self.steps.before) as u64;
        Dump::new(Header { step, mnist: self.inputs.samples(batch), ..self.header.clone() })
    }

    /// Dumps several steps of a level that trains on several batches in one call. Each dumped step is the last one of
    /// such a call, and the call starts where a call of training starts. So the same steps precede the dumped step in
    /// its call as in training.
    fn fused(&self, runner: &mut dyn Runner, sink: &mut Sink<'_>) -> Result<()> {
        let Self { preset, inputs, steps, .. } = self;
        let (rate, set) = (preset.learning_rate, &inputs.set);
        let (per_epoch, end) = self.start(runner)?;
        let mut start = inputs.parameters.clone();
        let mut first = 0;
        while first < end {
            let order = inputs.order(preset, first / per_epoch);
            let k = first % per_epoch;
            let together = at_once(runner).min(end - first).min(per_epoch - k);
            for step in first.max(steps.before)..first + together {
                let last = k + step - first;
                let batch = order.batch(set, last);
                let mut dump = self.new_dump(step, &batch);
                runner.level().set_parameters(&start)?;
                advance(runner, &order, set, k..last, rate)?;
                runner.level().load(&batch, None)?;
                record(runner.level(), preset, &mut dump, TensorName::is_given)?;
                runner.level().set_parameters(&start)?;
                advance(runner, &order, set, k..last + 1, rate)?;
                record(runner.level(), preset, &mut dump, |name| !name.is_given())?;
                sink(dump)?;
            }
            if first + together <= steps.before {
                runner.level().set_parameters(&start)?;
                advance(runner, &order, set, k..k + together, rate)?;
            }
            start = parameters(runner.level(), &preset.network)?;
            first += together;
        }
        Ok(())
    }

    /// Loads each batch as the training loop does. Steps before the dumped ones are run without a dump. For each dumped
    /// step, `dumped` runs it and fills its dump, which is then passed to the sink.
    fn each_step(
        &self,
        runner: &mut dyn Runner,
        dumped: impl Fn(&mut dyn Level, &mut Dump) -> Result<()>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let Self { preset, inputs, steps, .. } = self;
        let (per_epoch, end) = self.start(runner)?;
        runner.level().set_parameters(&inputs.parameters)?;
        let mut order = inputs.order(preset, 0);
        for step in 0..end {
            let k = step % per_epoch;
            if k == 0 && step > 0 {
                order = inputs.order(preset, step / per_epoch);
            }
            let batch = order.batch(&inputs.set, k);
            let next = (k + 1 < per_epoch).then(|| order.batch(&inputs.set, k + 1));
            runner.level().load(&batch, next.as_ref())?;
            if step < steps.before {
                runner.level().step(preset.learning_rate)?;
                continue;
            }
            let mut dump = self.new_dump(step, &runner.share_of_batch(&batch));
            dumped(runner.level(), &mut dump)?;
            sink(dump)?;
        }
        Ok(())
    }
}

/// Runs one step on the loaded batch, and records all tensors.
fn step(level: &mut dyn Level, preset: &Preset, fused: bool, dump: &mut Dump) -> Result<()> {
    record(level, preset, dump, TensorName::is_given)?;
    if fused {
        level.step(preset.learning_rate)?;
    } else {
        level.forward()?;
        level.backward()?;
    }
    record(level, preset, dump, is_computed)?;
    if !fused {
        level.update(preset.learning_rate)?;
    }
    record(level, preset, dump, is_updated)
}

/// Records the `wanted` tensors in the order of computation.
fn record(
    level: &mut dyn Level,
    preset: &Preset,
    dump: &mut Dump,
    wanted: fn(&TensorName) -> bool,
) -> Result<()> {
    for name in preset.network.tensor_names().into_iter().filter(wanted) {
        match read(level, name)? {
            Some(tensor) => dump.push(name, &tensor),
            None => dump.header.not_materialised.push(name),
        }
    }
    Ok(())
}

/// Whether a step computes this tensor, and does so before the update.
fn is_computed(name: &TensorName) -> bool {
    !name.is_given() && !is_updated(name)
}

/// Whether this is an updated parameter.
pub(crate) fn is_updated(name: &TensorName) -> bool {
    matches!(name, TensorName::WNext(_) | TensorName::BNext(_))
}

/// Reads a tensor from a level. The names of updated parameters return the level's current parameters.
pub(crate) fn read(level: &mut dyn Level, name: TensorName) -> Result<Option<Tensor>> {
    match name {
        TensorName::WNext(l) => level.tensor(TensorName::W(l)),
        TensorName::BNext(l) => level.tensor(TensorName::B(l)),
        TensorName::Loss => Ok(Some(Tensor::scalar(level.loss()?))),
        _ => level.tensor(name),
    }
}

/// The header of a dump in single precision.
#[must_use]
pub fn header(level: &str, device: &str, preset: &Preset, step: u64) -> Header {
    Header {
        level: level.into(),
        device: device.into(),
        preset: preset.name.clone(),
        loss: Some(preset.network.loss),
        seed: preset.seed,
        step,
        learning_rate: preset.learning_rate,
        ..Header::default()
    }
}
