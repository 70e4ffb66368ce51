//! Which products a training step makes of a batch of one size, and with which epilogs.

use crate::column_major::Form;
use crate::epilog::{Epilog, With};
use crate::error::Result;
use crate::product::{OWN, On, Product};
use crate::state::Layer;

/// The products of one layer.
pub(crate) struct Plan {
    /// `z = a_prev · wᵀ`, at best with bias and ReLU.
    pub(crate) forward: Product,
    /// `dw = dzᵀ · a_prev`, at best with `db` where nothing before it makes it.
    pub(crate) dw: Product,
    /// `da = dz · w` for the layer before, at best with its ReLU's gradient and its `db`; none in
    /// the first layer.
    pub(crate) da: Option<Product>,
}

impl Plan {
    /// Whether `z` of this hidden layer is never written: bias and ReLU are in the product.
    pub(crate) fn consumes_z(&self) -> bool {
        self.forward.epilog() == Epilog::ReluAuxBias
    }

    /// Whether `da` of the layer before is never written: ReLU's gradient is in the product.
    pub(crate) fn consumes_da(&self) -> bool {
        self.da.as_ref().is_some_and(|da| da.epilog() == Epilog::DreluBgrad)
    }

    /// Plans a whole network for batches of one size. Biases and masks have to lie where they are
    /// going to.
    pub(crate) fn all(on: &On, layers: &mut [Layer], batch: usize) -> Result<Vec<Self>> {
        let last = layers.len() - 1;
        // A batch begins anywhere in the training set where that is on the device, but always with
        // a row.
        let x = OWN.min(1 << (layers[0].inputs * size_of::<f32>()).trailing_zeros().min(31));
        let a_prev = |l| if l == 0 { x } else { OWN };
        let mut forward = Vec::new();
        for (l, layer) in layers.iter_mut().enumerate() {
            let shape = [batch, layer.outputs, layer.inputs];
            let mut with = match l < last {
                true => With::ReluAuxBias(&layer.b, &mut layer.mask),
                false => With::Bias(&layer.b),
            };
            forward.push(on.plan(Form::ABt, shape, [a_prev(l), OWN], &mut with)?);
        }
        // Gradients are made from the last layer to the first.
        let mut plans = Vec::new();
        let mut db_is_made = false;
        while let Some(product) = forward.pop() {
            let l = forward.len();
            let (before, rest) = layers.split_at_mut(l);
            let layer = &mut rest[0];
            let [n, m] = [layer.outputs, layer.inputs];
            let mut with = match db_is_made {
                true => With::Nothing,
                false => With::Bgradb(&mut layer.db),
            };
            let dw = on.plan(Form::AtB, [n, m, batch], [OWN, a_prev(l)], &mut with)?;
            let da = match before.last_mut() {
                Some(previous) => {
                    // Only a mask that was written can be read.
                    let masked = forward[l - 1].epilog() == Epilog::ReluAuxBias;
                    let mut with = match masked {
                        true => With::DreluBgrad(&previous.mask, &mut previous.db),
                        false => With::Nothing,
                    };
                    Some(on.plan(Form::AB, [batch, m, n], [OWN, OWN], &mut with)?)
                }
                None => None,
            };
            let plan = Self { forward: product, dw, da };
            db_is_made = plan.consumes_da();
            plans.push(plan);
        }
        plans.reverse();
        Ok(plans)
    }
}
