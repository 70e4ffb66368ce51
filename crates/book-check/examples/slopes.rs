//! The slope of a loss with one weight and one sample, by the chain rule and by measuring.

use host::println;

// ANCHOR: loss
/// One neuron and one sample: how wrong is the weight `w`?
fn loss(w: f64) -> f64 {
    let (x, b, y) = (2.0, -1.0, 0.5);
    let z = w * x + b;
    let a = z.max(0.0);
    0.5 * (a - y) * (a - y)
}
// ANCHOR_END: loss

// ANCHOR: slope
/// The slope of `loss`, differentiated by hand with the chain rule: `dL/dw = (a − y) · relu'(z) · x`.
fn slope(w: f64) -> f64 {
    let (x, b, y) = (2.0, -1.0, 0.5);
    let z = w * x + b;
    let a = z.max(0.0);
    let da = a - y;
    let dz = if z > 0.0 { da } else { 0.0 };
    dz * x
}
// ANCHOR_END: slope

// ANCHOR: measured
/// The measured slope: the change of the loss over a small step, divided by the step.
fn one_step(w: f64, h: f64) -> f64 {
    (loss(w + h) - loss(w)) / h
}

/// The measured slope with a step to each side, so that the curvature cancels.
fn two_steps(w: f64, h: f64) -> f64 {
    (loss(w + h) - loss(w - h)) / (2.0 * h)
}
// ANCHOR_END: measured

fn main() {
    let w = 1.3;
    println!("at w = {w}: loss {:.4}, slope by the chain rule {:.4}", loss(w), slope(w));
    println!("h       one step        two steps");
    for exponent in [1, 3, 5, 7, 9, 11, 13, 15] {
        let h = 10_f64.powi(-exponent);
        println!("1e-{exponent:<2}   {:.9}     {:.9}", one_step(w, h), two_steps(w, h));
    }
    let kink = 0.5;
    let measured = two_steps(kink, 1e-5);
    println!(
        "at the kink, w = {kink}: {:.4} by the chain rule, {measured:.4} measured",
        slope(kink)
    );
}
