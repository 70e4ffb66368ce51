//! The backward pass: `dzL dwL dbL da(L-1) … dz1 dw1 db1`.

use crate::epilog::{Epilog, With};
use crate::error::Result;
use crate::product::On;
use crate::ranks::Ranks;
use crate::state::State;

/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the
/// layer before, `da = dz · w` and `dz = da` where its `z` was positive. What the products' epilogs
/// don't do, level 2's kernels do. Where there are other ranks, what they have is added to each layer's
/// gradients meanwhile.
pub(crate) fn backward(on: &On, state: &mut State) -> Result<()> {
    let State { layers, plans, batch, whole, input, p, .. } = state;
    let (batch, last) = (*batch, layers.len() - 1);
    let (classes, dz) = (layers[last].outputs, &mut layers[last].dz);
    match &on.ranks {
        None => on.kernels.output_gradient(p, &input.y(), dz, batch, classes)?,
        Some(ranks) if batch == 0 => return ranks.nothing_to_add(layers),
        Some(_) => {
            let batches = (batch, (on.rules().divisor)(batch, *whole));
            on.kernels.output_gradient_of_share(p, &input.y(), dz, batches, classes)?;
        }
    }
    let mut db_is_made = false;
    for (l, plan) in plans.iter().enumerate().rev() {
        let (before, rest) = layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(input.x(), |previous| previous.a.as_view());

        // ANCHOR: layer
        let with = match plan.dw.epilog() {
            Epilog::Bgradb => With::Bgradb(&mut layer.db),
            _ => With::Nothing,
        };
        db_is_made |= plan.dw.epilog() == Epilog::Bgradb;
        on.run(&plan.dw, &layer.dz.as_view(), &a_prev, &mut layer.dw, with)?;
        if !db_is_made {
            on.kernels.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?;
        }
        if let Some(ranks) = &on.ranks {
            ranks.reduce(l, rest)?;
        }
        let layer = &mut rest[0];
        if let (Some(previous), Some(da)) = (before.last_mut(), &plan.da) {
            let (dz, w) = (layer.dz.as_view(), layer.w.as_view());
            db_is_made = plan.consumes_da();
            if db_is_made {
                let with = With::DreluBgrad(&previous.mask, &mut previous.db);
                on.run(da, &dz, &w, &mut previous.dz, with)?;
            } else {
                on.run(da, &dz, &w, &mut previous.da, With::Nothing)?;
                // relu(z) is positive exactly where z is, and z may never have been written.
                let hidden = batch * previous.outputs;
                on.kernels.relu_backward(&previous.da, &previous.a, &mut previous.dz, hidden)?;
            }
        }
        // ANCHOR_END: layer
    }
    on.ranks.as_ref().map_or(Ok(()), Ranks::wait)
}
