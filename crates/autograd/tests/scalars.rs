//! Tests of the small engine's rules against central differences. Only the operations on this list are
//! tested, so add new ones here first.

#[allow(unreachable_pub, reason = "the book shows it as a module of an example")]
#[path = "../examples/scalars/engine.rs"]
mod engine;

use engine::Value;

/// A name, the operation, and the same operation on plain numbers.
type Listed = (&'static str, fn(&Value, &Value) -> Value, fn(f64, f64) -> f64);

// ANCHOR: list
const OPERATIONS: &[Listed] = &[
    ("add", |a, b| a + b, |a, b| a + b),
    ("mul", |a, b| a * b, |a, b| a * b),
    ("relu", |a, _| a.relu(), |a, _| a.max(0.0)),
    ("a number used twice", |a, b| &(a * b) + &(a * a), |a, b| a * b + a * a),
];
// ANCHOR_END: list

#[test]
fn every_rule_agrees_with_central_differences() {
    const STEP: f64 = 1e-6;
    for (name, operation, plain) in OPERATIONS {
        for (a, b) in [(1.5, -0.75), (-0.5, 2.0), (3.0, 0.25)] {
            let (left, right) = (Value::new(a), Value::new(b));
            let result = operation(&left, &right);
            assert_eq!(result.data(), plain(a, b), "{name}({a}, {b})");
            result.backward();
            let da = (plain(a + STEP, b) - plain(a - STEP, b)) / (2.0 * STEP);
            let db = (plain(a, b + STEP) - plain(a, b - STEP)) / (2.0 * STEP);
            for (side, is, should) in [("left", left.grad(), da), ("right", right.grad(), db)] {
                assert!(
                    (is - should).abs() < 1e-7 * (1.0 + should.abs()),
                    "{name}({a}, {b}): the gradient of the {side} operand is {is}, the slope {should}"
                );
            }
        }
    }
}
