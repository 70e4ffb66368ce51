//! Dumps: one training step of a level, or several in a row, every tensor of them.

use data::{Batch, Dataset, Epoch, Generator, Normalisation, Purpose};
use tensor::{Dtype, Dump, Header, Network, Samples, Tensor, TensorName};

use crate::train::{advance, at_once, epoch_order, parameters};
use crate::{Error, Level, Parameters, Preset, PresetKind, Result, Runner, Single};

/// What a dump starts from: one batch, and the parameters before its step.
pub struct Inputs {
    /// The samples that the batch is taken from.
    pub set: Dataset,
    /// Parameters before the first step.
    pub parameters: Parameters,
    /// Whether the samples lie in the order of the steps, whatever the preset says of shuffling and
    /// of a last batch.
    as_they_lie: bool,
    /// The number of each sample in MNIST's training set, and the normalisation of its pixels.
    mnist: Option<Samples>,
}

/// Which steps of a level's training are dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// How many steps are run first, without a dump.
    pub before: usize,
    /// How many are dumped then.
    pub dumped: usize,
    /// Whether they are run as training runs them, where phases may be fused.
    pub fused: bool,
}

impl Inputs {
    /// The samples of a training set, in the order in which the preset goes through them.
    #[must_use]
    pub const fn of_training(set: Dataset, parameters: Parameters) -> Self {
        Self { set, parameters, as_they_lie: false, mnist: None }
    }

    /// Marks the samples as the first ones of MNIST's training set, so that each dump names those of its
    /// batch.
    #[must_use]
    pub fn of_mnist(self, normalisation: Normalisation) -> Self {
        let rows = (0..self.set.len()).map(|row| row as u32).collect();
        let mnist = Some(Samples { normalisation: normalisation.to_string(), rows });
        Self { mnist, ..self }
    }

    /// The noise of a fixture: pixels between 0 and 255, of which about half are 0 as in a digit,
    /// normalised as the preset says, random labels, and random parameters, both changed as the
    /// preset's edge says; one batch, or as many samples as the preset asks for.
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
            as_they_lie: true,
            mnist: None,
        }
    }

    /// The batches of a run and the parameters that it started from, and the preset changed to them
    /// as [`from_dump`](Self::from_dump) does.
    ///
    /// # Errors
    /// As [`from_dump`](Self::from_dump), for any of the steps; or when another batch than the last
    /// is smaller than the first.
    pub fn from_run(run: &[Dump], preset: &mut Preset) -> Result<Self> {
        let [first, rest @ ..] = run else {
            return Err(Error::Usage("there is no step in the inputs".into()));
        };
        let mut all = Self::from_dump(first, preset)?;
        let (mut x, mut labels) = (all.set.x().to_vec(), all.set.labels().to_vec());
        for (i, step) in rest.iter().enumerate() {
            if labels.len() != (i + 1) * preset.batch_size {
                return Err(Error::Usage(format!(
                    "the batch before step {} has another size than the first one: only the last of \
                     a run may",
                    step.header.step
                )));
            }
            let mut batch = step.clone();
            // The parameters of later steps are what the level makes of the first ones.
            batch.tensors.retain(|tensor| matches!(tensor.name, TensorName::X | TensorName::Y));
            for &(name, index) in &[(TensorName::X, 0), (TensorName::Y, 1)] {
                if step.get(name).and_then(|tensor| tensor.shape.get(1)).copied()
                    != Some([preset.network.inputs(), preset.network.outputs()][index])
                {
                    let step = step.header.step;
                    return Err(Error::Usage(format!("{name} of step {step} has another width")));
                }
            }
            batch.tensors.extend(
                first
                    .tensors
                    .iter()
                    .filter(|tensor| matches!(tensor.name, TensorName::W(_) | TensorName::B(_)))
                    .cloned(),
            );
            let next = Self::from_dump(&batch, &mut preset.clone())?;
            x.extend_from_slice(next.set.x());
            labels.extend_from_slice(next.set.labels());
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

    /// The inputs and parameters that a dump carries, and the preset changed to them: layer sizes,
    /// batch size, seed and learning rate, and the loss where the dump tells it.
    ///
    /// # Errors
    /// When `x`, `y` or a parameter is missing or has a shape that doesn't fit the others, or
    /// `y` is not one-hot.
    pub fn from_dump(dump: &Dump, preset: &mut Preset) -> Result<Self> {
        let get = |name: TensorName| {
            dump.get(name)
                .map(tensor::DumpedTensor::to_tensor)
                .ok_or_else(|| Error::Usage(format!("the inputs have no tensor {name}")))
        };
        let (x, y) = (get(TensorName::X)?, get(TensorName::Y)?);
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
        preset.batch_size = batch;
        preset.samples = batch;
        preset.seed = dump.header.seed;
        preset.learning_rate = dump.header.learning_rate;
        let classes = preset.network.outputs();
        if y.shape() != [batch, classes] {
            let shape = y.shape();
            return Err(Error::Usage(format!(
                "y has the shape {shape:?}, not [{batch}, {classes}]"
            )));
        }
        let label = |(i, row): (usize, &[f32])| {
            let ones = row.iter().filter(|v| **v == 1.0).count();
            let zeros = row.iter().filter(|v| **v == 0.0).count();
            if ones == 1 && zeros == classes - 1 {
                Ok(row.iter().position(|v| *v == 1.0).unwrap_or_default() as u8)
            } else {
                Err(Error::Usage(format!("row {i} of y is not one-hot: {row:?}")))
            }
        };
        let labels =
            y.data().chunks_exact(classes).enumerate().map(label).collect::<Result<_>>()?;
        let set = Dataset::from_rows(x.into_data(), labels, inputs, classes)?;
        let parameters = Parameters::from_dump(dump, &preset.network)?;
        let mnist = dump.header.mnist.clone().filter(|samples| samples.rows.len() == batch);
        Ok(Self { set, parameters, as_they_lie: true, mnist })
    }

    /// The samples of MNIST that a batch holds.
    fn samples(&self, batch: &Batch<'_>) -> Option<Samples> {
        let Samples { normalisation, rows } = self.mnist.as_ref()?;
        let rows = batch.indices().map(|i| rows[i]).collect();
        Some(Samples { normalisation: normalisation.clone(), rows })
    }

    /// The order in which a dump of this preset goes through the inputs.
    fn order(&self, preset: &Preset, epoch: usize) -> Epoch {
        if self.as_they_lie || preset.kind == PresetKind::Fixture {
            Epoch::in_order(self.set.len(), preset.batch_size, false)
        } else {
            epoch_order(preset, self.set.len(), epoch)
        }
    }
}

/// The part of a dump that a step starts from, `x y w1 b1 … wL bL`, without computing anything.
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

/// Runs one training step and dumps every tensor of it, read back from the level, inputs too.
///
/// `header.step` updates come first. With `fused`, the step is the one that training runs;
/// otherwise it is forward, backward and update one after the other. What the level never holds
/// in memory is listed in the header.
///
/// # Errors
/// What the level says, or that the batch of that step does not exist.
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
    run.pop().ok_or_else(|| Error::Usage("no step was asked for".into()))
}

/// Trains as the training loop does, with the same buffers from step to step, and dumps every
/// tensor of the last steps: what a level carries over from one step to the next shows here, and in
/// no dump of a single step.
///
/// `header.step` is the number of the first step that is dumped. Reading the tensors waits for the
/// device after each step, which training doesn't: what comes too early or too late may hide.
///
/// # Errors
/// What the level says, or that the batch of a step does not exist.
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

/// The same, with each dump given to `sink` before the next step runs.
///
/// # Errors
/// As [`run`], and what the sink returns.
pub fn run_into(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
    sink: &mut Sink<'_>,
) -> Result<()> {
    if steps.fused && at_once(runner) > 1 {
        return fused_run(runner, header, preset, inputs, steps, sink);
    }
    let dumped = |level: &mut dyn Level, dump: &mut Dump| step(level, preset, steps.fused, dump);
    each_step(runner, header, preset, inputs, steps, dumped, sink)
}

/// What the steps of [`run`] start from, `x y w1 b1 … wL bL` of each, given to `sink` as by
/// [`run_into`].
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
        given(level, preset, dump)?;
        level.step(preset.learning_rate)
    };
    each_step(runner, header, preset, inputs, steps, dumped, sink)
}

/// Consumes the dumps of a run, one at a time.
pub type Sink<'a> = dyn FnMut(Dump) -> Result<()> + 'a;

/// Dumps several steps as training runs them on a level that takes several batches in one call. Each dump is
/// read after a launch that begins where a launch of training does, and ends with the dumped step. So every
/// step except the first of a launch follows others in the same launch, as in training.
fn fused_run(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let (rate, set) = (preset.learning_rate, &inputs.set);
    let per_epoch = inputs.order(preset, 0).batches();
    if per_epoch == 0 {
        return Err(Error::Usage("the samples do not fill one batch".into()));
    }
    runner.level().dataset(set)?;
    let mut start = inputs.parameters.clone();
    let end = steps.before.saturating_add(steps.dumped);
    let mut first = 0;
    while first < end {
        let order = inputs.order(preset, first / per_epoch);
        let k = first % per_epoch;
        let together = at_once(runner).min(end - first).min(per_epoch - k);
        for index in first.max(steps.before)..first + together {
            let last = k + index - first;
            let number = header.step + (index - steps.before) as u64;
            let batch = order.batch(set, last);
            let mnist = inputs.samples(&batch);
            let mut dump = Dump::new(Header { step: number, mnist, ..header.clone() });
            runner.level().set_parameters(&start)?;
            advance(runner, &order, set, k..last, rate)?;
            runner.level().load(&batch, None)?;
            given(runner.level(), preset, &mut dump)?;
            runner.level().set_parameters(&start)?;
            advance(runner, &order, set, k..last + 1, rate)?;
            computed(runner.level(), preset, &mut dump)?;
            updated(runner.level(), preset, &mut dump)?;
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

/// Loads each batch as the training loop does, runs the steps that come before, and leaves the
/// others to `dumped`, each with a dump of its own, which then goes to the sink.
fn each_step(
    runner: &mut dyn Runner,
    header: &Header,
    preset: &Preset,
    inputs: &Inputs,
    steps: Steps,
    dumped: impl Fn(&mut dyn Level, &mut Dump) -> Result<()>,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let per_epoch = inputs.order(preset, 0).batches();
    if per_epoch == 0 {
        return Err(Error::Usage("the samples do not fill one batch".into()));
    }
    runner.level().dataset(&inputs.set)?;
    runner.level().set_parameters(&inputs.parameters)?;
    let mut order = inputs.order(preset, 0);
    for index in 0..steps.before.saturating_add(steps.dumped) {
        let k = index % per_epoch;
        if k == 0 && index > 0 {
            order = inputs.order(preset, index / per_epoch);
        }
        let batch: Batch<'_> = order.batch(&inputs.set, k);
        let next = (k + 1 < per_epoch).then(|| order.batch(&inputs.set, k + 1));
        runner.level().load(&batch, next.as_ref())?;
        if index < steps.before {
            runner.level().step(preset.learning_rate)?;
            continue;
        }
        let number = header.step + (index - steps.before) as u64;
        let mnist = inputs.samples(&runner.own_part(&batch));
        let mut dump = Dump::new(Header { step: number, mnist, ..header.clone() });
        dumped(runner.level(), &mut dump)?;
        sink(dump)?;
    }
    Ok(())
}

/// What a step starts from.
fn given(level: &mut dyn Level, preset: &Preset, dump: &mut Dump) -> Result<()> {
    for name in preset.network.tensor_names().into_iter().filter(TensorName::is_given) {
        let tensor = level.tensor(name)?;
        record(dump, name, tensor);
    }
    Ok(())
}

/// One step of the batch that is loaded.
fn step(level: &mut dyn Level, preset: &Preset, fused: bool, dump: &mut Dump) -> Result<()> {
    given(level, preset, dump)?;
    if fused {
        level.step(preset.learning_rate)?;
    } else {
        level.forward()?;
        level.backward()?;
    }
    computed(level, preset, dump)?;
    if !fused {
        level.update(preset.learning_rate)?;
    }
    updated(level, preset, dump)
}

/// The tensors that a step computes, except the updated parameters.
fn computed(level: &mut dyn Level, preset: &Preset, dump: &mut Dump) -> Result<()> {
    for name in preset.network.tensor_names().into_iter().filter(|name| !name.is_given()) {
        let tensor = match name {
            TensorName::WNext(_) | TensorName::BNext(_) => continue,
            TensorName::Loss => Some(Tensor::scalar(level.loss()?)),
            _ => level.tensor(name)?,
        };
        record(dump, name, tensor);
    }
    Ok(())
}

/// The updated parameters of a step.
fn updated(level: &mut dyn Level, preset: &Preset, dump: &mut Dump) -> Result<()> {
    for name in preset.network.tensor_names() {
        let tensor = match name {
            TensorName::WNext(l) => level.tensor(TensorName::W(l))?,
            TensorName::BNext(l) => level.tensor(TensorName::B(l))?,
            _ => continue,
        };
        record(dump, name, tensor);
    }
    Ok(())
}

fn record(dump: &mut Dump, name: TensorName, tensor: Option<Tensor>) {
    match tensor {
        Some(tensor) => dump.push(name, &tensor),
        None => dump.header.not_materialised.push(name),
    }
}

/// The header of a dump that a level makes in single precision.
#[must_use]
pub fn header(level: &str, device: &str, preset: &Preset, step: u64) -> Header {
    Header {
        level: level.into(),
        device: device.into(),
        preset: preset.name.clone(),
        loss: Some(preset.network.loss),
        dtype: Dtype::F32,
        seed: preset.seed,
        step,
        steps: None,
        rank: None,
        world_size: None,
        learning_rate: preset.learning_rate,
        digits: None,
        mnist: None,
        not_materialised: Vec::new(),
    }
}
