//! The network in [burn](https://burn.dev), in burn's usual style: `Linear` layers, its losses, its automatic
//! differentiation, its plain SGD. The program knows nothing about the emulated GPU.
//!
//! ```text
//! network-in-burn DEVICE INPUTS OUT
//! ```
//!
//! `DEVICE` is `cuda` or `cpu`. `INPUTS` is a dump, or the dumps of a run, with the batch of each step, the first
//! parameters, the loss and the learning rate; `OUT` is burn's dump of these steps, for `tensor-diff`. Each step's loss is
//! printed with its time.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use burn::backend::cuda::CudaDevice;
use burn::backend::ndarray::NdArrayDevice;
use burn::backend::{Autodiff, Cuda, NdArray};
use burn::module::{AutodiffModule, Module, Param};
use burn::nn::Linear;
use burn::nn::loss::{BinaryCrossEntropyLossConfig, CrossEntropyLossConfig, MseLoss, Reduction};
use burn::optim::{GradientsParams, Optimizer, SgdConfig};
use burn::tensor::activation::{relu, sigmoid, softmax};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Tensor, TensorData};
use cudarc::driver::CudaContext;
use tensor::{Dtype, Dump, Header, Loss, TensorName};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The layers. All except the last are followed by a relu.
#[derive(Module, Debug)]
struct Network<B: Backend> {
    layers: Vec<Linear<B>>,
}

impl<B: Backend> Network<B> {
    /// From `x [B, n0]` to `z1, …, zL`; that of layer `l` has the shape `[B, nl]`.
    fn forward(&self, x: Tensor<B, 2>) -> Vec<Tensor<B, 2>> {
        let mut z: Vec<Tensor<B, 2>> = Vec::new();
        for layer in &self.layers {
            let a = z.last().map_or_else(|| x.clone(), |z| relu(z.clone()));
            z.push(layer.forward(a));
        }
        z
    }
}

/// The loss to print, and the loss to backpropagate: scalars of `zL` and one-hot `y`, both `[B, C]`.
fn losses<B: Backend>(loss: Loss, z: Tensor<B, 2>, y: Tensor<B, 2>) -> [Tensor<B, 1>; 2] {
    let device = z.device();
    let outputs = z.dims()[1] as f64;
    match loss {
        Loss::CrossEntropy => {
            let classes = y.argmax(1).squeeze_dim(1);
            let loss = CrossEntropyLossConfig::new().init(&device).forward(z, classes);
            [loss.clone(), loss]
        }
        // The printed loss is a mean over the outputs too, but the backpropagated one is not: see `Loss::Bce`.
        Loss::Bce => {
            let config = BinaryCrossEntropyLossConfig::new().with_logits(true);
            let loss = config.init(&device).forward(z, y.int());
            [loss.clone(), loss * outputs]
        }
        // burn's loss is a mean over the outputs, without the factor 1/2.
        Loss::SquaredError => {
            let loss = MseLoss::new().forward(z, y, Reduction::Mean) * (outputs / 2.0);
            [loss.clone(), loss]
        }
    }
}

/// A dump's tensor in burn, with its own shape; the caller chooses the number of axes.
fn given<B: Backend, const D: usize>(
    dump: &Dump,
    name: TensorName,
    device: &B::Device,
) -> Result<Tensor<B, D>> {
    let found = dump.get(name).ok_or_else(|| format!("it has no tensor {name}"))?;
    if found.shape.len() != D || found.shape.contains(&0) {
        return Err(format!("{name} has the unexpected shape {:?}", found.shape).into());
    }
    let data = TensorData::new(found.to_tensor().into_data(), found.shape.clone());
    Ok(Tensor::from_data(data, device))
}

/// Converts burn's tensor for a dump.
fn taken<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Result<tensor::Tensor> {
    let shape = tensor.dims();
    let data = tensor.into_data().to_vec::<f32>().map_err(|error| format!("{error:?}"))?;
    Ok(tensor::Tensor::new(shape, data)?)
}

/// The network with a dump's parameters. A dump has weights as `[outputs, inputs]`, burn as `[inputs, outputs]`.
fn network<B: Backend>(dump: &Dump, device: &B::Device) -> Result<Network<B>> {
    let mut layers = Vec::new();
    while dump.get(TensorName::W(layers.len() + 1)).is_some() {
        let layer = layers.len() + 1;
        let weight = given::<B, 2>(dump, TensorName::W(layer), device)?.transpose();
        let bias = given::<B, 1>(dump, TensorName::B(layer), device)?;
        layers.push(Linear {
            weight: Param::from_tensor(weight),
            bias: Some(Param::from_tensor(bias)),
        });
    }
    Ok(Network { layers })
}

/// Results of a step: the loss, and the gradients of each layer's weight and bias.
struct Step<B: Backend> {
    loss: f32,
    gradients: Vec<(Tensor<B, 2>, Tensor<B, 1>)>,
}

// ANCHOR: step
/// Does a training step. Returns the network after it and the step's results.
fn step<B: AutodiffBackend>(
    model: Network<B>,
    optimizer: &mut impl Optimizer<Network<B>, B>,
    learning_rate: f32,
    loss: Loss,
    x: Tensor<B, 2>,
    y: Tensor<B, 2>,
) -> Result<(Network<B>, Step<B::InnerBackend>)> {
    let z = model.forward(x).pop().ok_or("it has no parameters")?;
    let [shown, differentiated] = losses(loss, z, y);
    let all = differentiated.backward();
    let of = |layer: &Linear<B>| Some((layer.weight.grad(&all)?, layer.bias.as_ref()?.grad(&all)?));
    let gradients =
        model.layers.iter().map(of).collect::<Option<_>>().ok_or("a gradient is missing")?;
    let all = GradientsParams::from_grads(all, &model);
    let model = optimizer.step(learning_rate.into(), model, all);
    Ok((model, Step { loss: taken(shown)?.data()[0], gradients }))
}
// ANCHOR_END: step

/// Trains with the batches of a run, a step for each. Returns the dumps of these steps, with the given name of the device
/// and arithmetic.
fn train<B: AutodiffBackend>(
    run: &[Dump],
    (name, dtype): (&str, Dtype),
    device: &B::Device,
) -> Result<Vec<Dump>> {
    let header = &run[0].header;
    let loss = header.loss.ok_or("its header does not name a loss")?;
    let mut model = network::<B>(&run[0], device)?;
    let mut optimizer = SgdConfig::new().init();
    let mut made = Vec::new();
    for inputs in run {
        let x = given::<B, 2>(inputs, TensorName::X, device)?;
        let y = given::<B, 2>(inputs, TensorName::Y, device)?;
        let before = model.valid();
        let start = Instant::now();
        let done;
        (model, done) =
            step(model, &mut optimizer, header.learning_rate, loss, x.clone(), y.clone())?;
        B::sync(device).map_err(|error| format!("{error:?}"))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("step {}: loss {:.6}, {seconds:.3} s", inputs.header.step, done.loss);

        let mut dump = Dump::new(inputs.header.clone());
        dump.header = Header {
            level: "burn".into(),
            device: name.into(),
            loss: Some(loss),
            dtype,
            digits: None,
            not_materialised: Vec::new(),
            ..dump.header
        };
        record(&mut dump, x.inner(), y.inner(), &before, done, &model.valid())?;
        made.push(dump);
    }
    Ok(made)
}

/// Adds the tensors of a step to a dump: its batch, its parameters before and after, and its results. burn's training
/// doesn't keep `z`, `a` and `p`, so they are recomputed from the batch with the network before the step.
fn record<B: Backend>(
    dump: &mut Dump,
    x: Tensor<B, 2>,
    y: Tensor<B, 2>,
    before: &Network<B>,
    step: Step<B>,
    after: &Network<B>,
) -> Result<()> {
    let z = before.forward(x.clone());
    let last = z.len();
    let p = match dump.header.loss {
        Some(Loss::CrossEntropy) => softmax(z[last - 1].clone(), 1),
        Some(Loss::Bce) => sigmoid(z[last - 1].clone()),
        _ => z[last - 1].clone(),
    };
    let mut tensors = HashMap::from([
        (TensorName::X, taken(x)?),
        (TensorName::Y, taken(y)?),
        (TensorName::P, taken(p)?),
        (TensorName::Loss, tensor::Tensor::scalar(step.loss)),
    ]);
    for (n, z) in z.into_iter().enumerate() {
        if n + 1 < last {
            tensors.insert(TensorName::A(n + 1), taken(relu(z.clone()))?);
        }
        tensors.insert(TensorName::Z(n + 1), taken(z)?);
    }
    for (n, (weight, bias)) in step.gradients.into_iter().enumerate() {
        tensors.insert(TensorName::Dw(n + 1), taken(weight.transpose())?);
        tensors.insert(TensorName::Db(n + 1), taken(bias)?);
    }
    let mut parameters = |network: &Network<B>, names: [fn(usize) -> TensorName; 2]| {
        for (n, layer) in network.layers.iter().enumerate() {
            tensors.insert(names[0](n + 1), taken(layer.weight.val().transpose())?);
            if let Some(bias) = &layer.bias {
                tensors.insert(names[1](n + 1), taken(bias.val())?);
            }
        }
        Ok::<_, Box<dyn Error>>(())
    };
    parameters(before, [TensorName::W, TensorName::B])?;
    parameters(after, [TensorName::WNext, TensorName::BNext])?;

    let widths = before.layers.iter().map(|layer| layer.weight.dims());
    let sizes = widths.clone().take(1).map(|[inputs, _]| inputs).chain(widths.map(|[_, n]| n));
    let loss = dump.header.loss.ok_or("its header does not name a loss")?;
    for name in (tensor::Network { sizes: sizes.collect(), loss }).tensor_names() {
        match tensors.get(&name) {
            Some(tensor) => dump.push(name, tensor),
            None => dump.header.not_materialised.push(name),
        }
    }
    Ok(())
}

fn run(device: &str, inputs: &Path, out: &Path) -> Result<()> {
    let run = Dump::read_run(inputs)?;
    let made = match device {
        "cuda" => {
            // burn uses the first card.
            let card = CudaContext::new(0)?;
            let name = card.name()?;
            // burn tries many kernels for a product and keeps the fastest. From 8.0 on, some of them use
            // tensor cores and TF32.
            let dtype = if card.compute_capability()? < (8, 0) { Dtype::F32 } else { Dtype::Tf32 };
            train::<Autodiff<Cuda>>(&run, (&name, dtype), &CudaDevice::default())?
        }
        "cpu" => train::<Autodiff<NdArray>>(&run, ("cpu", Dtype::F32), &NdArrayDevice::default())?,
        other => return Err(format!("unknown device {other}: use cuda or cpu").into()),
    };
    Ok(Dump::write_run(&made, out)?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, inputs, out] = arguments.as_slice() else {
        eprintln!("usage: network-in-burn cuda|cpu INPUTS OUT");
        return ExitCode::from(2);
    };
    match run(device, Path::new(inputs), Path::new(out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {inputs}: {error}");
            ExitCode::FAILURE
        }
    }
}
