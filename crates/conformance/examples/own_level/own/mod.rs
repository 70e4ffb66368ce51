//! A level built from scratch: plain loops over one layer at a time, and only the standard library.

mod buffers;
mod passes;
mod program;

use data::{Batch, Dataset};
use tensor::{Network, Tensor, TensorName};
use training::{Error, Level, Parameters, Result};

use buffers::Buffers;
pub(crate) use program::{Program, Stage};

// ANCHOR: level
/// The level: its network, the stage up to which it has been built, and its buffers.
pub(crate) struct Own {
    network: Network,
    stage: Stage,
    buffers: Buffers,
}
// ANCHOR_END: level

impl Own {
    fn new(network: &Network, stage: Stage) -> Self {
        Self { network: network.clone(), stage, buffers: Buffers::new(network) }
    }
}

impl Level for Own {
    // ANCHOR: batch
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        self.buffers.fit(batch)?;
        batch.copy_x(&mut self.buffers.x);
        batch.copy_y(&mut self.buffers.y);
        Ok(())
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.buffers.layers.iter_mut().zip(&parameters.layers) {
            layer.w.copy_from_slice(given.w.data());
            layer.b.copy_from_slice(given.b.data());
        }
        Ok(())
    }
    // ANCHOR_END: batch

    fn forward(&mut self) -> Result<()> {
        if self.stage >= Stage::Forward {
            passes::forward(&mut self.buffers, self.network.loss);
        }
        Ok(())
    }

    fn backward(&mut self) -> Result<()> {
        if self.stage >= Stage::Backward {
            passes::backward(&mut self.buffers);
        }
        Ok(())
    }

    fn update(&mut self, learning_rate: f32) -> Result<()> {
        if self.stage >= Stage::Update {
            passes::update(&mut self.buffers, learning_rate);
        }
        Ok(())
    }

    fn loss(&mut self) -> Result<f32> {
        if self.stage < Stage::Forward {
            return Err(Error::level("there is no forward pass yet, and so no loss"));
        }
        Ok(passes::loss(&self.buffers, self.network.loss))
    }

    // ANCHOR: tensor
    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let needs = match name {
            X | Y | W(_) | B(_) => Stage::Batch,
            Z(_) | A(_) | P | Loss => Stage::Forward,
            Da(_) | Dz(_) | Dw(_) | Db(_) => Stage::Backward,
            // Never requested: after the update, the dump requests `W` and `B`
            // again.
            WNext(_) | BNext(_) => return Ok(None),
        };
        if self.stage < needs {
            return Ok(None);
        }
        let Buffers { batch, x, y, p, layers } = &self.buffers;
        let buffer = match name {
            X => x,
            Y => y,
            P => p,
            W(l) => &layers[l - 1].w,
            B(l) => &layers[l - 1].b,
            Z(l) => &layers[l - 1].z,
            A(l) => &layers[l - 1].a,
            Da(l) => &layers[l - 1].da,
            Dz(l) => &layers[l - 1].dz,
            Dw(l) => &layers[l - 1].dw,
            Db(l) => &layers[l - 1].db,
            Loss => return Ok(Some(Tensor::scalar(self.loss()?))),
            WNext(_) | BNext(_) => return Ok(None),
        };
        let shape = self.network.shape(name, *batch).unwrap_or_default();
        Tensor::new(shape, buffer.clone()).map(Some).map_err(Error::level)
    }
    // ANCHOR_END: tensor
}
