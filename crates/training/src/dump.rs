//! Dumps: one training step of a level, every tensor of it.

use data::{Batch, Dataset, Epoch, Generator, Stream};
use tensor::{Dtype, Dump, Header, Network, Tensor, TensorName};

use crate::train::epoch_order;
use crate::{Error, Kind, Level, Parameters, Preset, Result};

/// What a dump starts from: one batch, and the parameters before its step.
pub struct Inputs {
    /// The samples that the batch is taken from.
    pub set: Dataset,
    /// Parameters before the first step.
    pub parameters: Parameters,
}

impl Inputs {
    /// The noise of a fixture: pixels between 0 and 255, of which about half are 0 as in a digit,
    /// normalised as the preset says, and random labels.
    #[must_use]
    pub fn fixture(preset: &Preset) -> Self {
        let mut generator = Generator::new(preset.seed, Stream::Noise, 0);
        let mut pixel = || if generator.below(2) == 0 { 0 } else { generator.below(256) as u8 };
        let (inputs, classes) = (preset.network.inputs(), preset.network.outputs());
        let pixels: Vec<u8> = (0..preset.batch_size * inputs).map(|_| pixel()).collect();
        let mut generator = Generator::new(preset.seed, Stream::Noise, 1);
        let labels =
            (0..preset.batch_size).map(|_| generator.below(classes as u32) as u8).collect();
        let x = pixels.into_iter().map(|pixel| preset.normalisation.apply(pixel)).collect();
        Self {
            set: Dataset::from_rows(x, labels, inputs, classes).expect("drawn to this size"),
            parameters: Parameters::new(&preset.network, preset.initialisation, preset.seed),
        }
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
        Ok(Self { set, parameters: Parameters::from_dump(dump, &preset.network)? })
    }

    /// The order in which a dump of this preset goes through the inputs.
    fn order(&self, preset: &Preset, epoch: usize) -> Epoch {
        match preset.kind {
            Kind::Preset => epoch_order(preset, self.set.len(), epoch),
            Kind::Fixture => Epoch::in_order(self.set.len(), preset.batch_size, false),
        }
    }
}

/// The part of a dump that a step starts from, `x y w1 b1 … wL bL`, without computing anything.
#[must_use]
pub fn inputs_only(header: Header, preset: &Preset, inputs: &Inputs) -> Dump {
    let mut dump = Dump::new(header);
    let order = inputs.order(preset, 0);
    let batch = order.batch(&inputs.set, 0);
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
    let per_epoch = inputs.order(preset, 0).batches();
    if per_epoch == 0 {
        return Err(Error::Usage("the samples do not fill one batch".into()));
    }
    let step = usize::try_from(header.step).unwrap_or(usize::MAX);
    let mut dump = Dump::new(header);
    level.dataset(&inputs.set)?;
    level.set_parameters(&inputs.parameters)?;
    for index in 0..step {
        let order = inputs.order(preset, index / per_epoch);
        level.load(&order.batch(&inputs.set, index % per_epoch), None)?;
        level.step(preset.learning_rate)?;
    }
    let order = inputs.order(preset, step / per_epoch);
    let batch: Batch<'_> = order.batch(&inputs.set, step % per_epoch);
    level.load(&batch, None)?;

    let names = preset.network.tensor_names();
    let before = |name: &&TensorName| {
        matches!(name, TensorName::X | TensorName::Y | TensorName::W(_) | TensorName::B(_))
    };
    for &name in names.iter().filter(before) {
        let tensor = level.tensor(name)?;
        record(&mut dump, name, tensor);
    }
    if fused {
        level.step(preset.learning_rate)?;
    } else {
        level.forward()?;
        level.backward()?;
    }
    for &name in names.iter().filter(|name| !before(name)) {
        if matches!(name, TensorName::WNext(_) | TensorName::BNext(_)) {
            continue;
        }
        let tensor = match name {
            TensorName::Loss => Some(Tensor::scalar(level.loss()?)),
            _ => level.tensor(name)?,
        };
        record(&mut dump, name, tensor);
    }
    if !fused {
        level.update(preset.learning_rate)?;
    }
    for &name in &names {
        let tensor = match name {
            TensorName::WNext(l) => level.tensor(TensorName::W(l))?,
            TensorName::BNext(l) => level.tensor(TensorName::B(l))?,
            _ => continue,
        };
        record(&mut dump, name, tensor);
    }
    Ok(dump)
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
        learning_rate: preset.learning_rate,
        not_materialised: Vec::new(),
    }
}
