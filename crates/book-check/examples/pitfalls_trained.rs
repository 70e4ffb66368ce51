//! Accuracies of the default network, trained for an epoch with each of the common mistakes, from the same parameters.
//!
//!     cargo run -p book-check --example pitfalls_trained [-- FOLDER OF MNIST]

use std::error::Error;
use std::path::PathBuf;

use data::{Batch, Counts, Dataset, Epoch, Source};
use host::println;
use level1_cpu::operations::{
    add_bias, matmul_a_b, matmul_a_bt, matmul_at_b, output_gradient, relu, relu_backward, sigmoid,
    sum_batch, update,
};
use training::{Parameters, Preset};

/// A mistake in the backward pass.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    NoMask,
    MaskUpsideDown,
    NotDividedByB,
    UpdatedTooEarly,
    BiasesOfOneSample,
}

const MISTAKES: [(&str, Mistake); 6] = [
    ("none", Mistake::None),
    ("relu not masked", Mistake::NoMask),
    ("mask upside down", Mistake::MaskUpsideDown),
    ("no division by the batch", Mistake::NotDividedByB),
    ("w2 updated before da1", Mistake::UpdatedTooEarly),
    ("db from the first sample", Mistake::BiasesOfOneSample),
];

/// The parameters of a network with one hidden layer, and its sizes.
#[derive(Clone)]
struct Network {
    sizes: [usize; 3],
    w1: Vec<f32>,
    b1: Vec<f32>,
    w2: Vec<f32>,
    b2: Vec<f32>,
}

impl Network {
    fn start(preset: &Preset) -> Result<Self, Box<dyn Error>> {
        let &[inputs, hidden, classes] = &preset.network.sizes[..] else {
            return Err("the preset small no longer has two layers".into());
        };
        let drawn = Parameters::new(&preset.network, preset.initialisation, preset.seed);
        let of = |layer: usize| {
            let layer = &drawn.layers[layer];
            (layer.w.data().to_vec(), layer.b.data().to_vec())
        };
        let ((w1, b1), (w2, b2)) = (of(0), of(1));
        Ok(Self { sizes: [inputs, hidden, classes], w1, b1, w2, b2 })
    }

    /// `x`, `z1`, `a1` and `p`.
    fn forward(&self, batch: &Batch<'_>) -> [Vec<f32>; 4] {
        let [inputs, hidden, classes] = self.sizes;
        let mut x = vec![0.0; batch.len() * inputs];
        batch.copy_x(&mut x);
        let mut z1 = vec![0.0; batch.len() * hidden];
        matmul_a_bt(&x, &self.w1, &mut z1, batch.len(), hidden, inputs);
        add_bias(&mut z1, &self.b1);
        let mut a1 = z1.clone();
        relu(&z1, &mut a1);
        let mut z2 = vec![0.0; batch.len() * classes];
        matmul_a_bt(&a1, &self.w2, &mut z2, batch.len(), classes, hidden);
        add_bias(&mut z2, &self.b2);
        let mut p = z2.clone();
        sigmoid(&z2, &mut p);
        [x, z1, a1, p]
    }

    fn step(&mut self, batch: &Batch<'_>, rate: f32, mistake: Mistake) {
        let ([inputs, hidden, classes], samples) = (self.sizes, batch.len());
        let [x, z1, a1, p] = self.forward(batch);
        let mut y = vec![0.0; samples * classes];
        batch.copy_y(&mut y);
        let mut dz2 = p.clone();
        output_gradient(&p, &y, &mut dz2, classes);
        if mistake == Mistake::NotDividedByB {
            dz2.iter_mut().for_each(|dz| *dz *= samples as f32);
        }
        let (mut dw2, mut db2) = (vec![0.0; classes * hidden], vec![0.0; classes]);
        matmul_at_b(&dz2, &a1, &mut dw2, classes, hidden, samples);
        let counted = |dz: &[f32], units: usize| {
            let samples = if mistake == Mistake::BiasesOfOneSample { 1 } else { samples };
            dz[..samples * units].to_vec()
        };
        sum_batch(&counted(&dz2, classes), &mut db2);
        if mistake == Mistake::UpdatedTooEarly {
            update(&mut self.w2, &dw2, rate);
        }
        let mut da1 = vec![0.0; samples * hidden];
        matmul_a_b(&dz2, &self.w2, &mut da1, samples, hidden, classes);
        let mut dz1 = da1.clone();
        match mistake {
            Mistake::NoMask => {}
            Mistake::MaskUpsideDown => {
                let masked = dz1.iter_mut().zip(&z1).filter(|&(_, &z)| z > 0.0);
                masked.for_each(|(dz, _)| *dz = 0.0);
            }
            _ => relu_backward(&da1, &z1, &mut dz1),
        }
        let (mut dw1, mut db1) = (vec![0.0; hidden * inputs], vec![0.0; hidden]);
        matmul_at_b(&dz1, &x, &mut dw1, hidden, inputs, samples);
        sum_batch(&counted(&dz1, hidden), &mut db1);
        if mistake != Mistake::UpdatedTooEarly {
            update(&mut self.w2, &dw2, rate);
        }
        update(&mut self.b2, &db2, rate);
        update(&mut self.w1, &dw1, rate);
        update(&mut self.b1, &db1, rate);
    }

    /// The percentage of images whose largest output is the right digit's; "diverged" if an output is NaN.
    fn accuracy(&self, set: &Dataset, batch_size: usize) -> String {
        let order = Epoch::in_order(set.len(), batch_size, false);
        let (mut right, mut tested) = (0, 0);
        for k in 0..order.batches() {
            let batch = order.batch(set, k);
            let p = &self.forward(&batch)[3];
            if p.iter().any(|p| p.is_nan()) {
                return "diverged".into();
            }
            for (row, label) in p.chunks_exact(self.sizes[2]).zip(batch.labels()) {
                let ours = row[usize::from(label)];
                right += usize::from(row.iter().filter(|p| **p >= ours).count() == 1);
                tested += 1;
            }
        }
        format!("{:.1} %", 100.0 * right as f64 / tested as f64)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let source = if folder.is_some() { Source::Mnist } else { Source::Digits };
    let digits = data::load(source, folder.as_deref(), Counts::ALL, &mut |_| {})?;
    let preset = Preset::find("small").ok_or("the preset small is missing")?;
    let train = Dataset::new(&digits.train, preset.normalisation);
    let test = Dataset::new(&digits.test, preset.normalisation);
    let start = Network::start(&preset)?;
    println!("{}; {} for an epoch", digits.origin, preset.network);
    let rates = [preset.learning_rate, preset.learning_rate / 10.0];
    println!("test accuracy, at a learning rate of      {:>8?}  {:>8?}", rates[0], rates[1]);
    for (name, mistake) in MISTAKES {
        let reached = rates.map(|rate| {
            let mut network = start.clone();
            let order = Epoch::in_order(train.len(), preset.batch_size, preset.drop_last);
            for k in 0..order.batches() {
                network.step(&order.batch(&train, k), rate, mistake);
            }
            network.accuracy(&test, preset.batch_size)
        });
        println!("{name:40}  {:>8}  {:>8}", reached[0], reached[1]);
    }
    Ok(())
}
