//! A small multilayer perceptron that writes its own dumps: in float64 as a reference, and in
//! float32 with any order of summation, with and without fused multiply-add, with and without TF32
//! inputs, as correct candidates. Tests inject faults into its dumps.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod arithmetic;
pub(crate) mod faults;

use std::fmt;
use std::path::Path;
use std::process::Command;

use tensor::{Dtype, Dump, DumpedTensor, Header, Loss, Network, TensorName};
use tensor_diff::{Comparison, compare};

use arithmetic::Real;
pub(crate) use arithmetic::{Arithmetic, Order};

/// A pseudo-random number generator for tests: xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A random number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    /// A random number from the uniform distribution on `[-scale, scale)`.
    pub(crate) fn uniform(&mut self, scale: f32) -> f32 {
        ((self.bits() & 0xff_ffff) as f32 / 8_388_608.0 - 1.0) * scale
    }
}

/// The inputs and the initial parameters of a step.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) sizes: Vec<usize>,
    pub(crate) batch: usize,
    pub(crate) loss: Loss,
    pub(crate) learning_rate: f32,
    seed: u64,
    scale: f32,
    pub(crate) x: Vec<f32>,
    pub(crate) y: Vec<f32>,
    /// `(w, b)` of each layer.
    parameters: Vec<(Vec<f32>, Vec<f32>)>,
}

impl fmt::Debug for Start {
    /// Prints the start without its thousands of numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sizes, batch, loss, seed, scale, .. } = self;
        write!(f, "Start::new(&{sizes:?}, {batch}, {loss}, {seed}).scaled({scale})")
    }
}

impl Start {
    /// Inputs as a normalised MNIST has them (most pixels are background), parameters
    /// U(±1/√fan_in).
    pub(crate) fn new(sizes: &[usize], batch: usize, loss: Loss, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let x = (0..batch * sizes[0])
            .map(|_| if random.below(5) > 0 { -0.424_213 } else { random.uniform(1.6) + 1.2 })
            .collect();
        let outputs = sizes[sizes.len() - 1];
        let mut y = vec![0.0; batch * outputs];
        for sample in 0..batch {
            y[sample * outputs + random.below(outputs)] = 1.0;
        }
        let parameters = sizes
            .windows(2)
            .map(|n| {
                let scale = 1.0 / (n[0] as f32).sqrt();
                let mut draw = |count: usize| (0..count).map(|_| random.uniform(scale)).collect();
                (draw(n[0] * n[1]), draw(n[1]))
            })
            .collect();
        Self {
            sizes: sizes.to_vec(),
            batch,
            loss,
            learning_rate: 0.1,
            seed,
            scale: 1.0,
            x,
            y,
            parameters,
        }
    }

    /// The inputs and the initial parameters that a dump contains.
    pub(crate) fn of(dump: &Dump) -> Self {
        let get =
            |name| dump.get(name).map(|tensor| tensor.data.iter().map(|&v| v as f32).collect());
        let layers = (1..).map_while(|l| Some((get(TensorName::W(l))?, get(TensorName::B(l))?)));
        let parameters: Vec<(Vec<f32>, Vec<f32>)> = layers.collect();
        let x = dump.get(TensorName::X).unwrap();
        let outputs = parameters.iter().map(|(_, b)| b.len());
        Self {
            sizes: std::iter::once(x.shape[1]).chain(outputs).collect(),
            batch: x.shape[0],
            loss: dump.header.loss.unwrap(),
            learning_rate: dump.header.learning_rate,
            seed: 0,
            scale: 1.0,
            x: get(TensorName::X).unwrap(),
            y: get(TensorName::Y).unwrap(),
            parameters,
        }
    }

    /// This start with all weights and biases multiplied by `scale`: large ones saturate softmax and sigmoid.
    pub(crate) fn scaled(mut self, scale: f32) -> Self {
        let all = self.parameters.iter_mut().flat_map(|(w, b)| w.iter_mut().chain(b));
        all.for_each(|parameter| *parameter *= scale);
        self.scale = scale;
        self
    }

    /// Replaces the images by bytes, most of them background, normalised like MNIST's.
    pub(crate) fn of_bytes(mut self) -> Self {
        let mut random = Random::new(self.seed + 1);
        for x in &mut self.x {
            let byte = if random.below(5) > 0 { 0 } else { random.below(256) };
            *x = (byte as f32 / 255.0 - 0.1307) / 0.3081;
        }
        self
    }

    /// The start of the step after that of a dump, with the same batch.
    pub(crate) fn after(mut self, dump: &Dump) -> Self {
        let get = |name| dump.get(name).unwrap().data.iter().map(|&v| v as f32).collect();
        for (l, (w, b)) in (1..).zip(&mut self.parameters) {
            (*w, *b) = (get(TensorName::WNext(l)), get(TensorName::BNext(l)));
        }
        self
    }

    /// The dump of an honest float64 step.
    pub(crate) fn reference(&self) -> Dump {
        self.reference_by(Arithmetic::default())
    }

    /// The dump of an honest float64 step that computes like this.
    pub(crate) fn reference_by(&self, arithmetic: Arithmetic) -> Dump {
        self.run::<f64>(Dtype::F64, arithmetic)
    }

    /// The dump of an honest float32 step, plain loops from the front.
    pub(crate) fn candidate(&self) -> Dump {
        self.candidate_by(Arithmetic::default())
    }

    /// The dump of an honest float32 step that computes like this.
    pub(crate) fn candidate_by(&self, arithmetic: Arithmetic) -> Dump {
        self.run::<f32>(arithmetic.factors.unwrap_or(Dtype::F32), arithmetic)
    }
}

impl Start {
    fn run<T: Real>(&self, dtype: Dtype, arithmetic: Arithmetic) -> Dump {
        let plain = Arithmetic { factors: None, ..arithmetic };
        let (zero, one) = (T::from_f32(0.0), T::from_f32(1.0));
        let of = |data: &[f32]| data.iter().map(|&v| T::from_f32(v)).collect::<Vec<T>>();
        let network = Network { sizes: self.sizes.clone(), loss: self.loss };
        let (batch, last) = (self.batch, network.layers());
        let classes = self.sizes[last];
        let mut values: Vec<(TensorName, Vec<T>)> =
            vec![(TensorName::X, of(&self.x)), (TensorName::Y, of(&self.y))];
        let get = |values: &[(TensorName, Vec<T>)], name| {
            values.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()).unwrap()
        };
        for (l, (w, b)) in (1..).zip(&self.parameters) {
            values.push((TensorName::W(l), of(w)));
            values.push((TensorName::B(l), of(b)));
        }
        for l in 1..=last {
            let (inputs, outputs) = (self.sizes[l - 1], self.sizes[l]);
            let fed = if l == 1 { TensorName::X } else { TensorName::A(l - 1) };
            let (a, w, b) =
                (get(&values, fed), get(&values, TensorName::W(l)), get(&values, TensorName::B(l)));
            let mut z = Vec::new();
            for i in 0..batch {
                for j in 0..outputs {
                    let terms = (0..inputs).map(|k| (a[i * inputs + k], w[j * inputs + k]));
                    z.push(arithmetic.dot(b[j], terms));
                }
            }
            if l < last {
                let a = z.iter().map(|&z| if z > zero { z } else { zero }).collect();
                values.push((TensorName::Z(l), z));
                values.push((TensorName::A(l), a));
            } else {
                values.push((TensorName::Z(l), z));
            }
        }
        let (z, y) = (get(&values, TensorName::Z(last)), get(&values, TensorName::Y));
        let n = |count: usize| T::from_f32(count as f32);
        let (mut p, mut terms) = (Vec::new(), Vec::new());
        for (z, y) in z.chunks(classes).zip(y.chunks(classes)) {
            let largest = z.iter().copied().fold(z[0], |a, b| if b > a { b } else { a });
            let total: T = z.iter().map(|&z| (z - largest).exponential()).sum();
            for (&z, &y) in z.iter().zip(y) {
                let (output, term) = match self.loss {
                    Loss::CrossEntropy => (
                        (z - largest).exponential() / total,
                        y * (total.logarithm() - (z - largest)),
                    ),
                    Loss::Bce => {
                        let magnitude = if z > zero { z } else { -z };
                        let positive = if z > zero { z } else { zero };
                        let softplus = (one + (-magnitude).exponential()).logarithm();
                        (one / (one + (-z).exponential()), positive - z * y + softplus)
                    }
                    Loss::SquaredError => (z, T::from_f32(0.5) * (z - y) * (z - y)),
                };
                p.push(output);
                terms.push(term);
            }
        }
        let divisor = if self.loss == Loss::Bce { batch * classes } else { batch };
        let loss = plain.dot(zero, terms.iter().map(|&t| (t, one))) / n(divisor);
        let dz: Vec<T> = p.iter().zip(&y).map(|(&p, &y)| (p - y) / n(batch)).collect();
        values.push((TensorName::P, p));
        values.push((TensorName::Loss, vec![loss]));
        values.push((TensorName::Dz(last), dz));
        for l in (1..=last).rev() {
            let (inputs, outputs) = (self.sizes[l - 1], self.sizes[l]);
            let fed = if l == 1 { TensorName::X } else { TensorName::A(l - 1) };
            let (dz, a) = (get(&values, TensorName::Dz(l)), get(&values, fed));
            let mut dw = Vec::new();
            for j in 0..outputs {
                for k in 0..inputs {
                    let terms = (0..batch).map(|i| (dz[i * outputs + j], a[i * inputs + k]));
                    dw.push(arithmetic.dot(zero, terms));
                }
            }
            let column = |j: usize| {
                (0..batch).map({
                    let dz = &dz;
                    move |i| (dz[i * outputs + j], one)
                })
            };
            let db = (0..outputs).map(|j| plain.dot(zero, column(j))).collect();
            values.push((TensorName::Dw(l), dw));
            values.push((TensorName::Db(l), db));
            if l > 1 {
                let w = get(&values, TensorName::W(l));
                let mut da = Vec::new();
                for i in 0..batch {
                    for k in 0..inputs {
                        let terms = (0..outputs).map(|j| (dz[i * outputs + j], w[j * inputs + k]));
                        da.push(arithmetic.dot(zero, terms));
                    }
                }
                let z = get(&values, TensorName::Z(l - 1));
                let dz =
                    da.iter().zip(&z).map(|(&da, &z)| if z > zero { da } else { zero }).collect();
                values.push((TensorName::Da(l - 1), da));
                values.push((TensorName::Dz(l - 1), dz));
            }
        }
        let rate = T::from_f32(self.learning_rate);
        for l in 1..=last {
            for (next, parameter, gradient) in [
                (TensorName::WNext(l), TensorName::W(l), TensorName::Dw(l)),
                (TensorName::BNext(l), TensorName::B(l), TensorName::Db(l)),
            ] {
                let (w, dw) = (get(&values, parameter), get(&values, gradient));
                let step = |(&w, &dw): (&T, &T)| {
                    if plain.fused { (-rate).fused(dw, w) } else { w - rate * dw }
                };
                values.push((next, w.iter().zip(&dw).map(step).collect()));
            }
        }
        let mut dump = Dump::new(header(dtype, self.loss, self.learning_rate));
        for name in network.tensor_names() {
            dump.tensors.push(DumpedTensor {
                name,
                shape: network.shape(name, batch).unwrap(),
                data: get(&values, name).into_iter().map(T::to_f64).collect(),
            });
        }
        dump
    }
}

pub(crate) fn header(dtype: Dtype, loss: Loss, learning_rate: f32) -> Header {
    Header {
        level: "a test".into(),
        device: "cpu".into(),
        preset: "small".into(),
        loss: Some(loss),
        dtype,
        seed: 1,
        step: 0,
        steps: None,
        rank: None,
        world_size: None,
        learning_rate,
        digits: None,
        mnist: None,
        not_materialised: Vec::new(),
    }
}

/// The tensor of that name, to be spoilt.
pub(crate) fn tensor_mut(dump: &mut Dump, name: TensorName) -> &mut DumpedTensor {
    dump.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
}

/// The elements of the tensor of that name, to be spoilt.
pub(crate) fn data(dump: &mut Dump, name: TensorName) -> &mut Vec<f64> {
    &mut tensor_mut(dump, name).data
}

/// Compares with the tolerance as it is derived.
pub(crate) fn diff(reference: &Dump, candidate: &Dump) -> Comparison {
    compare(reference, candidate, 1.0)
}

/// A comparison as text, for a failing test.
pub(crate) fn explain(comparison: &Comparison) -> String {
    format!("{:#?}\n{:#?}", comparison.first_divergence, comparison.rows)
}

/// Runs the program in a folder; returns its exit code, standard output and standard error.
pub(crate) fn program(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensor-diff"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
