//! Common mistakes in a backward pass, and the gradients that each of them spoils.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod tiny;

use host::println;
use tiny::{Backward, Forward, Matrix, Network, matmul_a_b, matmul_at_b, sum_batch};

/// Picks one parameter of a network, to be changed.
type Parameter = fn(&mut Network) -> &mut Matrix;

/// The parameters, in the order of the printed columns.
const PARAMETERS: [Parameter; 4] = [
    |network| &mut network.w2,
    |network| &mut network.b2,
    |network| &mut network.w1,
    |network| &mut network.b1,
];

// ANCHOR: measure
/// The gradient of the loss in one parameter by central differences: each element is increased and
/// decreased by a small step.
fn measure(network: &Network, parameter: Parameter) -> Vec<f64> {
    let h = 1e-5;
    let mut network = network.clone();
    (0..parameter(&mut network).data.len())
        .map(|k| {
            let value = parameter(&mut network).data[k];
            parameter(&mut network).data[k] = value + h;
            let above = network.forward().loss;
            parameter(&mut network).data[k] = value - h;
            let below = network.forward().loss;
            parameter(&mut network).data[k] = value;
            (above - below) / (2.0 * h)
        })
        .collect()
}
// ANCHOR_END: measure

// ANCHOR: mistakes
type Backpropagation = fn(&Network, &Forward) -> Backward;

fn no_division_by_the_batch(network: &Network, forward: &Forward) -> Backward {
    let dz2 = forward.p.zip(&network.y, |p, y| p - y);
    gradients_after_dz2(network, forward, dz2, &network.w2, |z| z > 0.0)
}

fn relu_not_masked(network: &Network, forward: &Forward) -> Backward {
    gradients_after_dz2(network, forward, start(network, forward), &network.w2, |_| true)
}

fn mask_upside_down(network: &Network, forward: &Forward) -> Backward {
    gradients_after_dz2(network, forward, start(network, forward), &network.w2, |z| z <= 0.0)
}

fn updated_too_early(network: &Network, forward: &Forward) -> Backward {
    let dz2 = start(network, forward);
    let dw2 = matmul_at_b(&dz2, &forward.a1);
    let w2_next = network.w2.zip(&dw2, |w, dw| w - 0.1 * dw);
    gradients_after_dz2(network, forward, dz2, &w2_next, |z| z > 0.0)
}

fn only_the_first_sample_in_db(network: &Network, forward: &Forward) -> Backward {
    let mut wrong = network.backward(forward);
    wrong.db2 = Matrix::from_fn(1, wrong.db2.cols, |_, j| wrong.dz2.at(0, j));
    wrong.db1 = Matrix::from_fn(1, wrong.db1.cols, |_, j| wrong.dz1.at(0, j));
    wrong
}
// ANCHOR_END: mistakes

fn start(network: &Network, forward: &Forward) -> Matrix {
    forward.p.zip(&network.y, |p, y| (p - y) / network.x.rows as f64)
}

/// The part of the backward pass that follows `dz2`, with a given `w2` and a given mask.
fn gradients_after_dz2(
    network: &Network,
    forward: &Forward,
    dz2: Matrix,
    w2: &Matrix,
    passes: fn(f64) -> bool,
) -> Backward {
    let da1 = matmul_a_b(&dz2, w2);
    let dz1 = da1.zip(&forward.z1, |da, z| if passes(z) { da } else { 0.0 });
    let (dw2, db2) = (matmul_at_b(&dz2, &forward.a1), sum_batch(&dz2));
    let (dw1, db1) = (matmul_at_b(&dz1, &network.x), sum_batch(&dz1));
    Backward { dz2, dw2, db2, da1, dz1, dw1, db1 }
}

fn main() {
    // Sizes that all differ (5 samples, 3 inputs, 4 hidden units, 2 outputs), and values that
    // follow no pattern but are the same everywhere.
    let value = |seed: usize| move |i, j| (((i * 7 + j * 3 + seed) * 37) % 19) as f64 / 9.0 - 1.0;
    let network = Network {
        x: Matrix::from_fn(5, 3, value(1)),
        y: Matrix::from_fn(5, 2, value(2)),
        w1: Matrix::from_fn(4, 3, value(3)),
        b1: Matrix::from_fn(1, 4, value(4)),
        w2: Matrix::from_fn(2, 4, value(5)),
        b2: Matrix::from_fn(1, 2, value(6)),
    };
    let forward = network.forward();
    let passes: [(&str, Backpropagation); 6] = [
        ("as it should be", Network::backward),
        ("no division by the batch", no_division_by_the_batch),
        ("relu not masked", relu_not_masked),
        ("mask upside down", mask_upside_down),
        ("w2 updated before da1", updated_too_early),
        ("db from the first sample", only_the_first_sample_in_db),
    ];
    println!("the backward pass          dw2    db2    dw1    db1");
    for (name, pass) in passes {
        let backward = pass(&network, &forward);
        let gradients = [&backward.dw2, &backward.db2, &backward.dw1, &backward.db1];
        let verdicts = PARAMETERS.iter().zip(gradients).map(|(parameter, gradient)| {
            let measured = measure(&network, *parameter);
            let agree = gradient.data.iter().zip(measured).all(|(a, b)| (a - b).abs() < 1e-6);
            if agree { "ok" } else { "WRONG" }
        });
        let line: Vec<String> = verdicts.map(|verdict| format!("{verdict:<6}")).collect();
        println!("{name:26} {}", line.join(" ").trim_end());
    }
}
