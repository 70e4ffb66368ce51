//! The plan of a step for batches of one size: which product or kernel computes each tensor.

use std::rc::Rc;

use cublas::column_major::Matmul;
use cublas::epilogue::{Epilogue, Mask};
use cublas::{ALLOCATION_ALIGNMENT, Product};
use gpu::{Layer, Result};
use tensor::{Loss, TensorName};

use crate::operations::Operations;

/// The products of one layer.
pub(crate) struct LayerPlan {
    /// `z = a_prev · wᵀ`. If the library supports it, an epilogue of the same product adds the bias and applies ReLU.
    pub(crate) z: Product,
    /// `dw = dzᵀ · a_prev`. If the library supports it, an epilogue of the same product computes `db`, unless the next
    /// layer's product `da` already does.
    pub(crate) dw: Product,
    /// `da = dz · w`, the gradient of the previous layer's `a`. If the library supports it, an epilogue of the same
    /// product applies the gradient of that layer's ReLU, and computes that layer's `db`. `None` in the first layer.
    pub(crate) da: Option<Product>,
    /// Whether the epilogue of a product computes this layer's `db`.
    pub(crate) makes_db: bool,
}

impl LayerPlan {
    /// Whether the product `z` adds `b`.
    pub(crate) fn adds_b(&self) -> bool {
        self.z.problem().epilogue != Epilogue::None
    }

    /// Whether the product `z` writes `a` instead of `z`.
    pub(crate) fn makes_a(&self) -> bool {
        self.z.problem().epilogue == Epilogue::ReluAuxBias
    }

    /// Whether the product `da` writes the previous layer's `dz` instead of `da`.
    pub(crate) fn makes_dz(&self) -> bool {
        self.da.as_ref().is_some_and(|da| da.problem().epilogue == Epilogue::DreluBgrad)
    }

    /// Plans all layers of a network for batches of this size.
    pub(crate) fn all(on: &Operations, layers: &[Layer], batch: usize) -> Result<Vec<Self>> {
        let last = layers.len() - 1;
        let mask =
            |layer: &Layer| Mask::new(on.kernels.stream(), batch, layer.outputs).map(Rc::new);
        let masks: Vec<_> = layers[..last].iter().map(mask).collect::<Result<_>>()?;
        // The alignment of `x`: if the training set is on the device, `x` is a part of it, which may begin at any row.
        let x = ALLOCATION_ALIGNMENT
            .min(1 << (layers[0].inputs * size_of::<f32>()).trailing_zeros().min(31));
        let a_prev = |l| if l == 0 { x } else { ALLOCATION_ALIGNMENT };
        let forward = |(l, layer): (usize, &Layer)| {
            let epilogue = if l < last { Epilogue::ReluAuxBias } else { Epilogue::Bias };
            let (shape, alignments) =
                ([batch, layer.outputs, layer.inputs], [a_prev(l), ALLOCATION_ALIGNMENT]);
            on.blas.plan(Matmul::ABt, shape, alignments, epilogue, &layer.b, masks.get(l))
        };
        let mut forward: Vec<_> = layers.iter().enumerate().map(forward).collect::<Result<_>>()?;
        // Gradients are computed from the last layer to the first, so plans are made in this order.
        let mut plans: Vec<Self> = Vec::new();
        while let Some(z) = forward.pop() {
            let l = forward.len();
            let [n, m] = [layers[l].outputs, layers[l].inputs];
            // If the next layer's product `da` writes this layer's `dz`, it also computes this layer's `db`.
            let has_db = plans.last().is_some_and(Self::makes_dz);
            let epilogue = if has_db { Epilogue::None } else { Epilogue::Bgradb };
            let (shape, alignments) = ([n, m, batch], [ALLOCATION_ALIGNMENT, a_prev(l)]);
            let dw = on.blas.plan(Matmul::AtB, shape, alignments, epilogue, &layers[l].db, None)?;
            let da = |previous: &Product| {
                // The mask only exists if the forward product wrote it.
                let masked = previous.problem().epilogue == Epilogue::ReluAuxBias;
                let epilogue = if masked { Epilogue::DreluBgrad } else { Epilogue::None };
                let (shape, alignments) = ([batch, m, n], [ALLOCATION_ALIGNMENT; 2]);
                let (db, mask) = (&layers[l - 1].db, &masks[l - 1]);
                on.blas.plan(Matmul::AB, shape, alignments, epilogue, db, Some(mask))
            };
            let da = forward.last().map(da).transpose()?;
            let makes_db = has_db || dw.problem().epilogue == Epilogue::Bgradb;
            plans.push(Self { z, dw, da, makes_db });
        }
        plans.reverse();
        Ok(plans)
    }
}

/// The plan as a table: each tensor that a step computes, in the order of computation, with the product or kernel that
/// computes it.
pub(crate) fn table(plans: &[LayerPlan], loss: Loss) -> Vec<(TensorName, String)> {
    use TensorName::{A, Da, Db, Dw, Dz, P, Z};
    let kernel = |name: &str| format!("kernel {name}");
    let product = |product: &Product| product.problem().to_string();
    let unless_fused =
        |fused: bool, text: String| if fused { "never written".into() } else { text };
    let mut rows = Vec::new();
    for (l, plan) in (1..).zip(plans) {
        let z = product(&plan.z);
        let a = if plan.makes_a() { z.clone() } else { kernel("relu") };
        let z = if plan.adds_b() { z } else { format!("{z}, then kernel add_bias") };
        rows.push((Z(l), unless_fused(plan.makes_a(), z)));
        rows.extend((l < plans.len()).then_some((A(l), a)));
    }
    rows.push(match loss {
        Loss::CrossEntropy => (P, kernel("softmax")),
        Loss::Bce => (P, kernel("sigmoid")),
        Loss::SquaredError => (P, "copy of z".into()),
    });
    rows.push((Dz(plans.len()), kernel("output_gradient")));
    for l in (1..=plans.len()).rev() {
        let plan = &plans[l - 1];
        rows.push((Dw(l), product(&plan.dw)));
        let next_da = plans.get(l).and_then(|next| next.da.as_ref());
        let db = match next_da {
            _ if !plan.makes_db => kernel("sum_batch"),
            Some(da) if plan.dw.problem().epilogue == Epilogue::None => product(da),
            _ => product(&plan.dw),
        };
        rows.push((Db(l), db));
        if let Some(da) = &plan.da {
            let dz = if plan.makes_dz() { product(da) } else { kernel("relu_backward") };
            rows.push((Da(l - 1), unless_fused(plan.makes_dz(), product(da))));
            rows.push((Dz(l - 1), dz));
        }
    }
    rows
}
