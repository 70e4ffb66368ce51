//! A level with a bug: one training step with the operations of level 1, in which one line is missing. It starts from the
//! parameters and the batch of a dump, and writes a dump as every level does.
//!
//!     cargo run -p book-check --example planted_bug -- REFERENCE OUT

use std::error::Error;
use std::path::Path;

use level1_cpu::operations::{
    add_bias, cross_entropy, matmul_a_b, matmul_a_bt, matmul_at_b, output_gradient, relu, softmax,
    sum_batch, update,
};
use tensor::{Dtype, Dump, Loss, Network, Tensor, TensorName};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(reference), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err("usage: planted_bug REFERENCE OUT".into());
    };
    let reference = Dump::read(Path::new(&reference))?;
    let get = |name: TensorName| {
        let tensor = reference.get(name).ok_or(format!("the reference has no {name}"))?;
        Ok::<_, Box<dyn Error>>(tensor.to_tensor())
    };
    let (x, y) = (get(TensorName::X)?, get(TensorName::Y)?);
    let (w1, b1) = (get(TensorName::W(1))?, get(TensorName::B(1))?);
    let (w2, b2) = (get(TensorName::W(2))?, get(TensorName::B(2))?);
    let (batch, n0) = (x.shape()[0], x.shape()[1]);
    let (n1, n2) = (w1.shape()[0], w2.shape()[0]);
    let network = Network { sizes: vec![n0, n1, n2], loss: Loss::CrossEntropy };
    let rate = reference.header.learning_rate;
    let (x, y, w1, b1, w2, b2) = (x.data(), y.data(), w1.data(), b1.data(), w2.data(), b2.data());
    let zeros = |elements: usize| vec![0.0_f32; elements];

    let (mut z1, mut a1) = (zeros(batch * n1), zeros(batch * n1));
    matmul_a_bt(x, w1, &mut z1, batch, n1, n0);
    add_bias(&mut z1, b1);
    relu(&z1, &mut a1);
    let (mut z2, mut p) = (zeros(batch * n2), zeros(batch * n2));
    matmul_a_bt(&a1, w2, &mut z2, batch, n2, n1);
    add_bias(&mut z2, b2);
    softmax(&z2, &mut p, n2);

    let (mut dz2, mut dw2, mut db2) = (zeros(batch * n2), zeros(n2 * n1), zeros(n2));
    let (mut da1, mut dw1, mut db1) = (zeros(batch * n1), zeros(n1 * n0), zeros(n1));
    // ANCHOR: backward
    output_gradient(&p, y, &mut dz2, n2);
    matmul_at_b(&dz2, &a1, &mut dw2, n2, n1, batch);
    sum_batch(&dz2, &mut db2);
    matmul_a_b(&dz2, w2, &mut da1, batch, n1, n2);
    let dz1 = da1.clone(); // here should be: relu_backward(&da1, &z1, &mut dz1);
    matmul_at_b(&dz1, x, &mut dw1, n1, n0, batch);
    sum_batch(&dz1, &mut db1);
    // ANCHOR_END: backward

    let next = |w: &[f32], dw: &[f32]| {
        let mut w = w.to_vec();
        update(&mut w, dw, rate);
        w
    };
    let mut header = reference.header.clone();
    header.level = "planted-bug".into();
    header.device = "cpu".into();
    header.dtype = Dtype::F32;
    header.digits = None;
    let mut dump = Dump::new(header);
    for name in network.tensor_names() {
        let data = match name {
            TensorName::X => x.to_vec(),
            TensorName::Y => y.to_vec(),
            TensorName::W(1) => w1.to_vec(),
            TensorName::B(1) => b1.to_vec(),
            TensorName::W(_) => w2.to_vec(),
            TensorName::B(_) => b2.to_vec(),
            TensorName::Z(1) => z1.clone(),
            TensorName::Z(_) => z2.clone(),
            TensorName::A(_) => a1.clone(),
            TensorName::P => p.clone(),
            TensorName::Loss => vec![cross_entropy(&z2, y, n2)],
            TensorName::Dz(1) => dz1.clone(),
            TensorName::Dz(_) => dz2.clone(),
            TensorName::Dw(1) => dw1.clone(),
            TensorName::Dw(_) => dw2.clone(),
            TensorName::Db(1) => db1.clone(),
            TensorName::Db(_) => db2.clone(),
            TensorName::Da(_) => da1.clone(),
            TensorName::WNext(1) => next(w1, &dw1),
            TensorName::WNext(_) => next(w2, &dw2),
            TensorName::BNext(1) => next(b1, &db1),
            TensorName::BNext(_) => next(b2, &db2),
        };
        let shape = network.shape(name, batch).ok_or("the network has this tensor")?;
        dump.push(name, &Tensor::new(shape, data)?);
    }
    dump.write(Path::new(&out))?;
    Ok(())
}
