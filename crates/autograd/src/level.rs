//! The project's network on this engine, as a [`Level`]. Where the levels have gradients derived by hand,
//! it calls [`Tensor::backward`].

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use data::{Batch, Dataset};
use tensor::{Loss, Network, TensorName};
use training::{Level, Parameters};

use crate::{
    Activation, Array, Choice, Device, Element, Linear, Mlp, Module, Result, Sgd, Tensor, loss,
    no_grad,
};

/// A network, and the tensors of its last training step.
pub struct Autograd<T: Element> {
    network: Network,
    device: Device,
    mlp: Mlp<T>,
    /// The training set, and its samples `[N, n0]` as a tensor. A batch in order is a view of it.
    set: Option<(Dataset, Tensor<T>)>,
    x: Tensor<T>,
    y: Tensor<T>,
    forward: Option<Forward<T>>,
    /// The forward tensors `z`, `a`, `p` and `loss` of the last step and the gradients `dz` and `da` of its backward
    /// pass, without their graph.
    computed: BTreeMap<TensorName, Array<T>>,
}

/// The result of a forward pass, with its graph.
struct Forward<T: Element> {
    /// `z1 a1 … zL`, each of which keeps its gradient.
    hidden: Vec<(TensorName, Tensor<T>)>,
    /// The loss that the preset prints.
    loss: Tensor<T>,
    /// The loss whose gradient the preset trains with.
    trained: Tensor<T>,
}

impl<T: Element> Autograd<T> {
    /// A network with all parameters 0.
    #[must_use]
    pub fn new(network: &Network, device: &Device) -> Self {
        let zeros = |name| {
            let shape = network.shape(name, 0).unwrap_or_default();
            Tensor::zeros(shape).to(device).requires_grad().named(name.to_string())
        };
        let layer = |l| Linear { w: zeros(TensorName::W(l)), b: zeros(TensorName::B(l)) };
        let layers = (1..=network.layers()).map(layer).collect();
        Self {
            network: network.clone(),
            device: device.clone(),
            mlp: Mlp { layers, activation: Activation::Relu },
            set: None,
            x: Tensor::zeros([0, network.inputs()]),
            y: Tensor::zeros([0, network.outputs()]),
            forward: None,
            computed: BTreeMap::new(),
        }
    }

    // ANCHOR: forward
    /// `z1 a1 … zL` and the loss of the batch.
    fn run_forward(&mut self) -> Result<()> {
        let mut hidden = Vec::new();
        let mut a = self.x.clone();
        for (l, layer) in (1..).zip(&self.mlp.layers) {
            let z = layer.forward(&a);
            hidden.push((TensorName::Z(l), z.clone()));
            if l < self.mlp.layers.len() {
                a = z.relu();
                hidden.push((TensorName::A(l), a.clone()));
            } else {
                a = z;
            }
        }
        let (z, y) = (&a, &self.y);
        let (loss, trained) = match self.network.loss {
            Loss::CrossEntropy => (loss::cross_entropy(z, y), None),
            Loss::SquaredError => (loss::squared_error(z, y), None),
            // The printed loss is the mean over the batch and the outputs, the trained one over the batch.
            Loss::Bce => {
                let loss = loss::bce(z, y);
                let trained = &loss * T::from_f64(self.network.outputs() as f64);
                (loss, Some(trained))
            }
        };
        for (_, tensor) in &hidden {
            tensor.retain_grad()?;
        }
        let trained = trained.unwrap_or_else(|| loss.clone());
        self.forward = Some(Forward { hidden, loss, trained });
        Ok(())
    }

    /// Computes the gradients of all parameters and of the tensors between them and the loss.
    fn run_backward(&mut self) -> Result<()> {
        Sgd::zero_grad(&self.sgd(0.0), &self.mlp)?;
        if let Some(forward) = self.forward.take() {
            forward.trained.backward()?;
            self.keep(&forward)?;
        }
        Ok(())
    }

    /// `w −= learning_rate · dw`, and the same for `b`.
    fn run_update(&mut self, learning_rate: f32) -> Result<()> {
        self.sgd(learning_rate).step(&self.mlp)
    }
    // ANCHOR_END: forward

    fn sgd(&self, learning_rate: f32) -> Sgd<T> {
        Sgd { learning_rate: T::from_f64(f64::from(learning_rate)) }
    }

    /// Saves the values and gradients of a graph that will be dropped. It has to be dropped before the update,
    /// because it shares the parameters, and only parameters that aren't shared can be updated in place.
    fn keep(&mut self, forward: &Forward<T>) -> Result<()> {
        self.computed.clear();
        for (name, tensor) in &forward.hidden {
            self.computed.insert(*name, tensor.value()?);
            let gradient = match name {
                TensorName::Z(l) => TensorName::Dz(*l),
                TensorName::A(l) => TensorName::Da(*l),
                _ => continue,
            };
            if let Some(values) = tensor.grad()? {
                self.computed.insert(gradient, values);
            }
        }
        self.computed.insert(TensorName::Loss, forward.loss.value()?);
        Ok(())
    }

    /// Copies rows of numbers to the device.
    fn rows(&self, name: &str, columns: usize, values: &[f32]) -> Result<Tensor<T>> {
        let rows = values.len() / columns;
        let values = values.iter().map(|&value| T::from_f64(f64::from(value))).collect();
        Tensor::new([rows, columns], values).to(&self.device).named(name).into_result()
    }

    /// Loads a batch: `x [B, n0]` and `y [B, C]`.
    fn load_batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        let mut y = vec![0.0; batch.len() * self.network.outputs()];
        batch.copy_y(&mut y);
        self.y = self.rows("y", self.network.outputs(), &y)?;
        self.x = match (&self.set, batch.contiguous()) {
            (Some((set, x)), rows) if std::ptr::eq(set.x(), batch.dataset().x()) => match rows {
                Some(rows) => x.slice(0, rows),
                None => x.index(&batch.indices().collect::<Vec<_>>()),
            },
            _ => {
                let mut x = vec![0.0; batch.len() * self.network.inputs()];
                batch.copy_x(&mut x);
                self.rows("x", self.network.inputs(), &x)?
            }
        };
        self.forward = None;
        self.computed.clear();
        Ok(())
    }

    /// The tensor of that name, in this engine's type; `None` if there is no such tensor, or if it hasn't been
    /// computed yet.
    ///
    /// # Errors
    /// If the device fails.
    pub fn array(&self, name: TensorName) -> Result<Option<Array<T>>> {
        if let Some(values) = self.computed.get(&name) {
            return Ok(Some(values.clone()));
        }
        let layer = |l: usize| self.mlp.layers.get(l.wrapping_sub(1));
        match (name, &self.forward) {
            (TensorName::X, _) => self.x.value().map(Some),
            (TensorName::Y, _) => self.y.value().map(Some),
            (TensorName::W(l), _) => layer(l).map(|layer| layer.w.value()).transpose(),
            (TensorName::B(l), _) => layer(l).map(|layer| layer.b.value()).transpose(),
            (TensorName::Dw(l), _) => layer(l).map_or(Ok(None), |layer| layer.w.grad()),
            (TensorName::Db(l), _) => layer(l).map_or(Ok(None), |layer| layer.b.grad()),
            (TensorName::P, _) => self.p(),
            (TensorName::Loss, Some(forward)) => forward.loss.value().map(Some),
            (_, Some(forward)) => {
                let found = forward.hidden.iter().find(|(own, _)| *own == name);
                found.map(|(_, tensor)| tensor.value()).transpose()
            }
            (_, None) => Ok(None),
        }
    }

    /// `p [B, C]`. It is only computed on request: training doesn't need it, because the loss is computed from `z`.
    fn p(&self) -> Result<Option<Array<T>>> {
        let last = TensorName::Z(self.network.layers());
        let Some(z) = self.array(last)?.map(Tensor::from) else { return Ok(None) };
        let p = no_grad(|| match self.network.loss {
            Loss::CrossEntropy => z.softmax(),
            Loss::Bce => z.sigmoid(),
            Loss::SquaredError => z,
        });
        p.value().map(Some)
    }

    /// Fails if no batch is loaded.
    fn is_loaded(&self, operation: &'static str) -> training::Result<()> {
        match self.y.shape()?[..] {
            [0, _] => Err(training::Error::NoBatch { operation }),
            _ => Ok(()),
        }
    }
}

impl From<crate::Error> for training::Error {
    fn from(error: crate::Error) -> Self {
        Self::level(error)
    }
}

impl<T: Element> Level for Autograd<T> {
    fn dataset(&mut self, set: &Dataset) -> training::Result<()> {
        let x = self.rows("x", set.features(), set.x())?;
        self.set = Some((set.clone(), x));
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> training::Result<()> {
        Ok(self.load_batch(batch)?)
    }

    fn forward(&mut self) -> training::Result<()> {
        self.is_loaded("forward")?;
        Ok(self.run_forward()?)
    }

    fn backward(&mut self) -> training::Result<()> {
        self.is_loaded("backward")?;
        Ok(self.run_backward()?)
    }

    fn update(&mut self, learning_rate: f32) -> training::Result<()> {
        Ok(self.run_update(learning_rate)?)
    }

    fn loss(&mut self) -> training::Result<f32> {
        self.is_loaded("loss")?;
        let loss = self.array(TensorName::Loss)?;
        let loss = loss.ok_or_else(|| training::Error::level("no batch was computed"))?;
        Ok(loss.to_vec()?[0].to_f64() as f32)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> training::Result<()> {
        for (layer, given) in self.mlp.layers.iter().zip(&parameters.layers) {
            for (own, given) in [(&layer.w, &given.w), (&layer.b, &given.b)] {
                let values = given.data().iter().map(|&value| T::from_f64(f64::from(value)));
                let values = Tensor::new(given.shape(), values.collect()).to(&self.device);
                own.assign(&values.value()?)?;
            }
        }
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> training::Result<Option<tensor::Tensor>> {
        let Some(values) = self.array(name)? else { return Ok(None) };
        let data = values.to_vec()?;
        let data = data.into_iter().map(|value| value.to_f64() as f32).collect();
        tensor::Tensor::new(values.shape(), data).map(Some).map_err(training::Error::level)
    }
}

/// The argument of `--device`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceOption {
    /// This computer's processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU if one works, otherwise the emulated GPU.
    Auto,
    /// An NVIDIA GPU; an error if none works.
    Cuda,
    /// The emulated GPU.
    Emulated,
}

/// The options that only this program has.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Autograd")]
pub struct AutogradOptions {
    /// Where to compute: cpu; auto, an NVIDIA GPU if one works, otherwise the emulated one; cuda, an
    /// NVIDIA GPU; emulated, the emulated GPU.
    #[arg(long, value_enum, default_value = "cpu", hide_possible_values = true)]
    device: DeviceOption,
}

impl AutogradOptions {
    /// Opens the device.
    ///
    /// # Errors
    /// If the device can't be used.
    pub fn open(self) -> Result<Device> {
        match self.device {
            DeviceOption::Cpu => Ok(Device::Cpu),
            DeviceOption::Auto => Device::cuda(Choice::Auto),
            DeviceOption::Cuda => Device::cuda(Choice::Cuda),
            DeviceOption::Emulated => Device::cuda(Choice::Emulated),
        }
    }
}

/// The program `autograd`, with the commands of every level.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "autograd";
    const ABOUT: &'static str =
        "The levels' network with gradients that are derived automatically, on the CPU or a GPU";
    type Options = AutogradOptions;

    fn device(options: &AutogradOptions) -> training::Result<String> {
        Ok(options.open()?.to_string())
    }

    fn level(options: &AutogradOptions, network: &Network) -> training::Result<Box<dyn Level>> {
        let device = options.open()?;
        Ok(Box::new(Autograd::<f32>::new(network, &device)))
    }
}
