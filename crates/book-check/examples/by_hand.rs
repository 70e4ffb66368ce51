//! One training step of a network with two hidden units, every number printed.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod tiny;

use host::println;
use tiny::{Matrix, Network};

fn show(name: &str, matrix: &Matrix) {
    let rows: Vec<String> = matrix
        .data
        .chunks(matrix.cols)
        .map(|row| row.iter().map(|value| format!("{value:6}")).collect::<Vec<_>>().join(" "))
        .collect();
    let shape = format!("[{}, {}]", matrix.rows, matrix.cols);
    println!("{name:<4} {shape}  {}", rows.join("  |"));
}

fn main() {
    // ANCHOR: network
    let network = Network {
        x: Matrix::new([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]),
        y: Matrix::new([[1.0], [0.0]]),
        w1: Matrix::new([[1.0, -1.0, 0.5], [0.5, 2.0, -1.0]]),
        b1: Matrix::new([[0.5, -1.0]]),
        w2: Matrix::new([[1.0, -2.0]]),
        b2: Matrix::new([[0.5]]),
    };
    // ANCHOR_END: network
    let forward = network.forward();
    let backward = network.backward(&forward);
    for (name, matrix) in [
        ("x", &network.x),
        ("z1", &forward.z1),
        ("a1", &forward.a1),
        ("p", &forward.p),
        ("y", &network.y),
    ] {
        show(name, matrix);
    }
    println!("loss {}", forward.loss);
    for (name, matrix) in [
        ("dz2", &backward.dz2),
        ("dw2", &backward.dw2),
        ("db2", &backward.db2),
        ("da1", &backward.da1),
        ("dz1", &backward.dz1),
        ("dw1", &backward.dw1),
        ("db1", &backward.db1),
    ] {
        show(name, matrix);
    }
}
