//! The network on the tensor engine as a level: it loads batches, and returns its tensors by name.

use data::{Batch, Dataset};
use tensor::{Loss, Network, TensorName};
use training::{Error, Level, Parameters, Result};

use super::engine::{self, Matrix, Mlp, Tensor};

/// The network, and the tensors of its last step.
struct TensorEngine {
    network: Network,
    mlp: Mlp,
    x: Tensor,
    y: Tensor,
    /// The parameters that the last step began with: their gradients are those of the step.
    used: Vec<(Tensor, Tensor)>,
    z: Vec<Tensor>,
    a: Vec<Tensor>,
    /// The mean over the batch of the loss, summed over the classes.
    loss: Tensor,
}

impl TensorEngine {
    /// `p` of the last layer's `z`.
    fn probabilities(&self, z: &Matrix) -> Matrix {
        match self.network.loss {
            Loss::CrossEntropy => engine::softmax(z).0,
            Loss::Bce => z.mapv(engine::sigmoid),
            Loss::SquaredError => z.clone(),
        }
    }
}

impl Level for TensorEngine {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        let mut x = Matrix::zeros((batch.len(), self.network.inputs()));
        let mut y = Matrix::zeros((batch.len(), self.network.outputs()));
        batch.copy_x(x.as_slice_mut().unwrap_or_default());
        batch.copy_y(y.as_slice_mut().unwrap_or_default());
        (self.x, self.y) = (Tensor::constant(x), Tensor::constant(y));
        Ok(())
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        let parameter = |given: &tensor::Tensor, rows| {
            let values = given.data().to_vec();
            let shape = (rows, values.len() / rows);
            Matrix::from_shape_vec(shape, values).map(Tensor::parameter).map_err(Error::level)
        };
        let layers = parameters.layers.iter();
        let layers = layers.map(|l| Ok((parameter(&l.w, l.w.shape()[0])?, parameter(&l.b, 1)?)));
        self.mlp.layers = layers.collect::<Result<_>>()?;
        Ok(())
    }

    // ANCHOR: step
    fn forward(&mut self) -> Result<()> {
        self.used.clone_from(&self.mlp.layers);
        (self.z, self.a) = self.mlp.forward(&self.x);
        let Some(z) = self.z.last() else { return Ok(()) };
        let sum = match self.network.loss {
            Loss::CrossEntropy => z.cross_entropy(&self.y),
            Loss::Bce => engine::bce(z, &self.y),
            Loss::SquaredError => engine::squared_error(z, &self.y),
        };
        self.loss = &sum * &Tensor::number(1.0 / self.y.value().nrows() as f32);
        Ok(())
    }

    fn backward(&mut self) -> Result<()> {
        self.loss.backward();
        Ok(())
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        self.mlp.update(learning_rate);
        Ok(())
    }
    // ANCHOR_END: step

    fn loss(&mut self) -> Result<f32> {
        let mean = self.loss.value()[[0, 0]];
        // This preset's printed loss is a mean over the outputs too.
        Ok(if self.network.loss == Loss::Bce { mean / self.network.outputs() as f32 } else { mean })
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<tensor::Tensor>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let matrix = match name {
            X => Some(self.x.value().clone()),
            Y => Some(self.y.value().clone()),
            W(l) => Some(self.mlp.layers[l - 1].0.value().clone()),
            B(l) => Some(self.mlp.layers[l - 1].1.value().clone()),
            Z(l) => self.z.get(l - 1).map(|z| z.value().clone()),
            A(l) => self.a.get(l - 1).map(|a| a.value().clone()),
            P => self.z.last().map(|z| self.probabilities(z.value())),
            Loss => return Ok(Some(tensor::Tensor::scalar(self.loss()?))),
            Dw(l) => self.used.get(l - 1).and_then(|(w, _)| w.grad()),
            Db(l) => self.used.get(l - 1).and_then(|(_, b)| b.grad()),
            Dz(l) => self.z.get(l - 1).and_then(Tensor::grad),
            Da(l) => self.a.get(l - 1).and_then(Tensor::grad),
            WNext(_) | BNext(_) => None,
        };
        let Some(matrix) = matrix else { return Ok(None) };
        let shape = self.network.shape(name, self.x.value().nrows()).unwrap_or_default();
        let values = matrix.iter().copied().collect();
        tensor::Tensor::new(shape, values).map(Some).map_err(Error::level)
    }
}

/// The program.
pub(crate) struct Program;

impl training::Program for Program {
    const NAME: &'static str = "tensors";
    const ABOUT: &'static str = "The levels' network on a tensor engine of 250 lines";
    type Options = NoOptions;

    fn device(_options: &NoOptions) -> Result<String> {
        Ok("cpu".into())
    }

    fn level(_options: &NoOptions, network: &Network) -> Result<Box<dyn Level>> {
        let zeros = |(m, n)| (Tensor::constant(Matrix::zeros((n, m))), Tensor::number(0.0));
        let none = Tensor::constant(Matrix::zeros((0, 0)));
        Ok(Box::new(TensorEngine {
            mlp: Mlp { layers: network.sizes.windows(2).map(|s| zeros((s[0], s[1]))).collect() },
            network: network.clone(),
            x: none.clone(),
            y: none,
            used: Vec::new(),
            z: Vec::new(),
            a: Vec::new(),
            loss: Tensor::number(f32::NAN),
        }))
    }
}

/// The level has no options but those of all levels.
#[derive(clap::Args)]
pub(crate) struct NoOptions {}
