//! An engine in which every number is a node: a small version of the crate, to explain its Rust.

use std::cell::RefCell;
use std::ops::{Add, Mul};
use std::rc::Rc;

// ANCHOR: node
/// A number, and the operation that computed it. A clone is the same number.
#[derive(Clone)]
pub struct Value(Rc<Node>);

struct Node {
    age: usize,
    data: f64,
    grad: RefCell<f64>,
    operands: Vec<(Value, Rule)>,
}

/// Computes the gradient of one operand from the gradient of the result.
type Rule = Box<dyn Fn(f64) -> f64>;
// ANCHOR_END: node

// ANCHOR: make
impl Value {
    /// A number that the program sets.
    pub fn new(data: f64) -> Self {
        Self::made_of(data, Vec::new())
    }

    /// A number that was computed from others.
    fn made_of(data: f64, operands: Vec<(Value, Rule)>) -> Self {
        let age = operands.iter().map(|(operand, _)| operand.0.age + 1).max().unwrap_or(0);
        Self(Rc::new(Node { age, data, grad: RefCell::new(0.0), operands }))
    }

    /// The number itself.
    pub fn data(&self) -> f64 {
        self.0.data
    }

    /// The gradient of the number, after `backward`.
    pub fn grad(&self) -> f64 {
        *self.0.grad.borrow()
    }
}
// ANCHOR_END: make

// ANCHOR: operations
impl Add for &Value {
    type Output = Value;

    fn add(self, other: &Value) -> Value {
        let rules: [Rule; 2] = [Box::new(|dy| dy), Box::new(|dy| dy)];
        let operands = [self.clone(), other.clone()].into_iter().zip(rules);
        Value::made_of(self.data() + other.data(), operands.collect())
    }
}

impl Mul for &Value {
    type Output = Value;

    fn mul(self, other: &Value) -> Value {
        let (a, b) = (self.data(), other.data());
        let rules: [Rule; 2] = [Box::new(move |dy| dy * b), Box::new(move |dy| dy * a)];
        let operands = [self.clone(), other.clone()].into_iter().zip(rules);
        Value::made_of(a * b, operands.collect())
    }
}

impl Value {
    /// The number, or 0 if it is negative.
    pub fn relu(&self) -> Value {
        let x = self.data();
        let rule: Rule = Box::new(move |dy| if x > 0.0 { dy } else { 0.0 });
        Value::made_of(x.max(0.0), vec![(self.clone(), rule)])
    }
}
// ANCHOR_END: operations

// ANCHOR: backward
impl Value {
    /// Adds to the gradients of all numbers that this one was computed from.
    pub fn backward(&self) {
        let mut found: Vec<Value> = vec![self.clone()];
        let mut looked_at = 0;
        while let Some(value) = found.get(looked_at).cloned() {
            for (operand, _) in &value.0.operands {
                if !found.iter().any(|other| Rc::ptr_eq(&other.0, &operand.0)) {
                    found.push(operand.clone());
                }
            }
            looked_at += 1;
        }
        // All numbers that use this one are younger and have been processed, so its gradient is complete.
        found.sort_by_key(|value| std::cmp::Reverse(value.0.age));
        *self.0.grad.borrow_mut() = 1.0;
        for value in &found {
            let dy = value.grad();
            for (operand, rule) in &value.0.operands {
                *operand.0.grad.borrow_mut() += rule(dy);
            }
        }
    }
}
// ANCHOR_END: backward
