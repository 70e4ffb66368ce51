//! The plan of a step: which product or kernel makes each tensor, for batches of one size.

use gpu::Layer;
use tensor::{Loss, TensorName};

use crate::column_major::Matmul;
use crate::epilogue::{Epilogue, EpilogueBuffers, Mask};
use crate::error::Result;
use crate::operations::Operations;
use crate::product::{OWN, Product};

/// The products of one layer.
pub(crate) struct LayerPlan {
    /// `z = a_prev · wᵀ`, at best with bias and ReLU.
    pub(crate) z: Product,
    /// `dw = dzᵀ · a_prev`, at best with `db` where nothing before it makes it.
    pub(crate) dw: Product,
    /// `da = dz · w` for the layer before, at best with its ReLU's gradient and its `db`; none in
    /// the first layer.
    pub(crate) da: Option<Product>,
    makes_db: bool,
}

/// The plan as a table: each tensor that a step makes, in the order of computation, with the product or
/// kernel that makes it.
pub(crate) fn table(plans: &[LayerPlan], loss: Loss) -> Vec<(TensorName, String)> {
    use TensorName::{A, Da, Db, Dw, Dz, P, Z};
    const NOT_WRITTEN: &str = "never written";
    let kernel = |name: &str| format!("kernel {name}");
    let mut rows = Vec::new();
    for (l, plan) in (1..).zip(plans) {
        let product = plan.z.describe();
        let (z, a) = match plan.z.epilogue() {
            Epilogue::ReluAuxBias => (NOT_WRITTEN.to_owned(), product),
            Epilogue::Bias => (product, kernel("relu")),
            _ => (format!("{product}, then kernel add_bias"), kernel("relu")),
        };
        rows.push((Z(l), z));
        rows.extend((l < plans.len()).then_some((A(l), a)));
    }
    rows.push(match loss {
        Loss::CrossEntropy => (P, kernel("softmax")),
        Loss::Bce => (P, kernel("sigmoid")),
        Loss::SquaredError => (P, "copy of z".into()),
    });
    rows.push((Dz(plans.len()), kernel("output_gradient")));
    let mut behind: Option<&Product> = None;
    for (plan, l) in plans.iter().rev().zip((1..=plans.len()).rev()) {
        rows.push((Dw(l), plan.dw.describe()));
        let db = match behind {
            _ if !plan.makes_db() => kernel("sum_batch"),
            Some(da) if plan.dw.epilogue() == Epilogue::None => da.describe(),
            _ => plan.dw.describe(),
        };
        rows.push((Db(l), db));
        if let Some(da) = &plan.da {
            let (made, dz) = match plan.makes_dz() {
                true => (NOT_WRITTEN.to_owned(), da.describe()),
                false => (da.describe(), kernel("relu_backward")),
            };
            rows.extend([(Da(l - 1), made), (Dz(l - 1), dz)]);
        }
        behind = plan.da.as_ref();
    }
    rows
}

impl LayerPlan {
    /// Whether the product `z` adds `b`.
    pub(crate) fn adds_b(&self) -> bool {
        self.z.epilogue() != Epilogue::None
    }

    /// Whether the product `z` makes `a`, and `z` itself is never written.
    pub(crate) fn makes_a(&self) -> bool {
        self.z.epilogue() == Epilogue::ReluAuxBias
    }

    /// Whether a product makes `db`: `dw` of this layer, or before it `da` of the layer behind.
    pub(crate) const fn makes_db(&self) -> bool {
        self.makes_db
    }

    /// Whether the product `da` makes `dz` of the layer before, and `da` itself is never written.
    pub(crate) fn makes_dz(&self) -> bool {
        self.da.as_ref().is_some_and(|da| da.epilogue() == Epilogue::DreluBgrad)
    }

    /// Plans a whole network for batches of one size. Biases and masks have to lie where they are
    /// going to.
    pub(crate) fn all(
        on: &Operations,
        layers: &mut [Layer],
        masks: &mut [Mask],
        batch: usize,
    ) -> Result<Vec<Self>> {
        let last = layers.len() - 1;
        // A batch begins anywhere in the training set where that is on the device, but always with
        // a row.
        let x = OWN.min(1 << (layers[0].inputs * size_of::<f32>()).trailing_zeros().min(31));
        let a_prev = |l| if l == 0 { x } else { OWN };
        let mut forward = Vec::new();
        for (l, layer) in layers.iter_mut().enumerate() {
            let shape = [batch, layer.outputs, layer.inputs];
            let mut buffers = match l < last {
                true => EpilogueBuffers::ReluAuxBias(&layer.b, &mut masks[l]),
                false => EpilogueBuffers::Bias(&layer.b),
            };
            forward.push(on.plan(Matmul::ABt, shape, [a_prev(l), OWN], &mut buffers)?);
        }
        // Gradients are made from the last layer to the first.
        let mut plans: Vec<Self> = Vec::new();
        while let Some(z) = forward.pop() {
            let l = forward.len();
            let (before, rest) = layers.split_at_mut(l);
            let layer = &mut rest[0];
            let [n, m] = [layer.outputs, layer.inputs];
            // With its `dz` the layer behind has made its `db`.
            let has_db = plans.last().is_some_and(Self::makes_dz);
            let mut buffers = match has_db {
                true => EpilogueBuffers::None,
                false => EpilogueBuffers::Bgradb(&mut layer.db),
            };
            let dw = on.plan(Matmul::AtB, [n, m, batch], [OWN, a_prev(l)], &mut buffers)?;
            let da = match before.last_mut() {
                Some(previous) => {
                    // Only a mask that was written can be read.
                    let masked = forward[l - 1].epilogue() == Epilogue::ReluAuxBias;
                    let mut buffers = match masked {
                        true => EpilogueBuffers::DreluBgrad(&masks[l - 1], &mut previous.db),
                        false => EpilogueBuffers::None,
                    };
                    Some(on.plan(Matmul::AB, [batch, m, n], [OWN, OWN], &mut buffers)?)
                }
                None => None,
            };
            let makes_db = has_db || dw.epilogue() == Epilogue::Bgradb;
            plans.push(Self { z, dw, da, makes_db });
        }
        plans.reverse();
        Ok(plans)
    }
}
