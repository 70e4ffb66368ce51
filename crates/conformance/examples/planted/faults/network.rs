//! The network in plain loops, with one tensor that is computed wrongly. All tensors are kept from
//! step to step, as in a level's buffers.

use std::collections::HashMap;

use data::{Batch, Dataset};
use level1_cpu::operations::{
    add_bias, bce, cross_entropy, matmul_a_b, matmul_a_bt, matmul_at_b, output_gradient, relu,
    relu_backward, sigmoid, softmax, squared_error, sum_batch, update,
};
use tensor::{Network, Tensor, TensorName};
use training::{Level, Parameters, Result};

type Tensors = HashMap<TensorName, Vec<f32>>;

/// The data from which a fault may compute its tensor.
pub(crate) struct Step<'a> {
    /// The number of samples.
    pub(crate) batch: usize,
    /// The number of layers.
    #[allow(dead_code, reason = "only a test of the suite reads it")]
    pub(crate) layers: usize,
    right: Vec<f32>,
    now: &'a Tensors,
    before: Option<&'a Tensors>,
}

impl<'a> Step<'a> {
    /// The right tensor.
    pub(crate) fn right(&self) -> Vec<f32> {
        self.right.clone()
    }

    /// An earlier tensor of this step.
    pub(crate) fn get(&self, name: TensorName) -> &'a [f32] {
        &self.now[&name]
    }

    /// A tensor of the previous step; `None` in the first step.
    pub(crate) fn before(&self, name: TensorName) -> Option<&'a [f32]> {
        self.before.map(|before| &before[&name][..])
    }
}

/// `out[i, j] = Σ_k term(i, j, k)`.
pub(crate) fn product(
    [rows, columns, length]: [usize; 3],
    term: impl Fn(usize, usize, usize) -> f32,
) -> Vec<f32> {
    let at = |i: usize| (0..length).map(|k| term(i / columns, i % columns, k)).sum();
    (0..rows * columns).map(at).collect()
}

/// A function that computes a tensor wrongly.
pub(crate) type Make = fn(&Step<'_>) -> Vec<f32>;
/// A function that changes a parameter between two steps.
pub(crate) type Between = fn(&mut [f32]);

/// The moment at which a fault acts on its tensor.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Made(Make),
    Between(Between),
}

/// Level 1's operations with a fault in one tensor, as a level.
pub(crate) struct FaultyNetwork {
    network: Network,
    change: Change,
    tensor: TensorName,
    batch: usize,
    now: Tensors,
    before: Option<Tensors>,
}

impl FaultyNetwork {
    pub(crate) fn new(network: &Network, change: Change, tensor: TensorName) -> Self {
        let now = Tensors::new();
        Self { network: network.clone(), change, tensor, batch: 0, now, before: None }
    }

    fn get(&self, name: TensorName) -> &[f32] {
        &self.now[&name]
    }

    /// Stores a tensor: the right one, or the wrong one if the fault is in this tensor.
    fn make(&mut self, name: TensorName, right: Vec<f32>) {
        let made = match self.change {
            Change::Made(make) if name == self.tensor => make(&Step {
                batch: self.batch,
                layers: self.network.layers(),
                right,
                now: &self.now,
                before: self.before.as_ref(),
            }),
            _ => right,
        };
        self.now.insert(name, made);
    }

    fn layer_input(l: usize) -> TensorName {
        if l == 1 { TensorName::X } else { TensorName::A(l - 1) }
    }
}

impl Level for FaultyNetwork {
    fn dataset(&mut self, _: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _: Option<&Batch<'_>>) -> Result<()> {
        if self.now.contains_key(&TensorName::P) {
            self.before = Some(self.now.clone());
        }
        self.batch = batch.len();
        let mut x = vec![0.0; self.batch * self.network.inputs()];
        batch.copy_x(&mut x);
        let mut y = vec![0.0; self.batch * self.network.outputs()];
        batch.copy_y(&mut y);
        self.now.insert(TensorName::X, x);
        self.now.insert(TensorName::Y, y);
        if let (Change::Between(change), Some(_)) = (self.change, &self.before) {
            change(self.now.get_mut(&self.tensor).expect("the parameters are set first"));
        }
        Ok(())
    }

    fn forward(&mut self) -> Result<()> {
        use TensorName::{A, B, P, W, Z};
        let last = self.network.layers();
        for l in 1..=last {
            let (m, n) = (self.network.sizes[l - 1], self.network.sizes[l]);
            let mut z = vec![0.0; self.batch * n];
            matmul_a_bt(self.get(Self::layer_input(l)), self.get(W(l)), &mut z, self.batch, n, m);
            add_bias(&mut z, self.get(B(l)));
            self.make(Z(l), z);
            if l < last {
                let mut a = vec![0.0; self.batch * n];
                relu(self.get(Z(l)), &mut a);
                self.make(A(l), a);
            }
        }
        let (z, classes) = (self.get(Z(last)), self.network.outputs());
        let mut p = z.to_vec();
        match self.network.loss {
            tensor::Loss::CrossEntropy => softmax(z, &mut p, classes),
            tensor::Loss::Bce => sigmoid(z, &mut p),
            tensor::Loss::SquaredError => {}
        }
        self.make(P, p);
        let loss = match self.network.loss {
            tensor::Loss::CrossEntropy => cross_entropy,
            tensor::Loss::Bce => bce,
            tensor::Loss::SquaredError => squared_error,
        };
        let value = loss(self.get(Z(last)), self.get(TensorName::Y), classes);
        self.make(TensorName::Loss, vec![value]);
        Ok(())
    }

    fn backward(&mut self) -> Result<()> {
        use TensorName::{Da, Db, Dw, Dz, P, W, Y, Z};
        let last = self.network.layers();
        let mut dz = self.get(P).to_vec();
        output_gradient(self.get(P), self.get(Y), &mut dz, self.network.outputs());
        self.make(Dz(last), dz);
        for l in (1..=last).rev() {
            let (m, n) = (self.network.sizes[l - 1], self.network.sizes[l]);
            let mut dw = vec![0.0; n * m];
            matmul_at_b(self.get(Dz(l)), self.get(Self::layer_input(l)), &mut dw, n, m, self.batch);
            self.make(Dw(l), dw);
            let mut db = vec![0.0; n];
            sum_batch(self.get(Dz(l)), &mut db);
            self.make(Db(l), db);
            if l > 1 {
                let mut da = vec![0.0; self.batch * m];
                matmul_a_b(self.get(Dz(l)), self.get(W(l)), &mut da, self.batch, m, n);
                self.make(Da(l - 1), da);
                let mut dz = vec![0.0; self.batch * m];
                relu_backward(self.get(Da(l - 1)), self.get(Z(l - 1)), &mut dz);
                self.make(Dz(l - 1), dz);
            }
        }
        Ok(())
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        use TensorName::{B, BNext, Db, Dw, W, WNext};
        for l in 1..=self.network.layers() {
            for (parameter, gradient, next) in [(W(l), Dw(l), WNext(l)), (B(l), Db(l), BNext(l))] {
                let mut w = self.get(parameter).to_vec();
                update(&mut w, self.get(gradient), learning_rate);
                self.make(next, w);
            }
        }
        for l in 1..=self.network.layers() {
            for (parameter, next) in [(W(l), WNext(l)), (B(l), BNext(l))] {
                let made = self.now[&next].clone();
                self.now.insert(parameter, made);
            }
        }
        Ok(())
    }

    fn loss(&mut self) -> Result<f32> {
        Ok(self.get(TensorName::Loss)[0])
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        for (l, layer) in (1..).zip(&parameters.layers) {
            self.now.insert(TensorName::W(l), layer.w.data().to_vec());
            self.now.insert(TensorName::B(l), layer.b.data().to_vec());
        }
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        let shape = self.network.shape(name, self.batch);
        let (Some(shape), Some(data)) = (shape, self.now.get(&name)) else { return Ok(None) };
        Ok(Some(Tensor::new(shape, data.clone()).map_err(training::Error::level)?))
    }
}
