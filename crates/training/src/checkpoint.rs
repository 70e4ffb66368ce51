//! Trained parameters as safetensors, the format that PyTorch's users exchange.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use tensor::{Loss, Network, Tensor, TensorName, file};

use crate::{Error, Parameters, Preset, Result};

/// Writes `w1 b1 … wL bL` as little-endian `f32`, with the preset's name, loss and normalisation
/// in the metadata. `safetensors.torch.load_file` reads it.
///
/// # Errors
/// When the file can't be written.
pub fn save(path: &Path, parameters: &Parameters, preset: &Preset) -> Result<()> {
    let write = |source: io::Error| Error::Write { path: path.into(), source };
    let mut named: Vec<(String, &Tensor, Vec<u8>)> = Vec::new();
    for (layer, l) in parameters.layers.iter().zip(1..) {
        for (name, tensor) in [(TensorName::W(l), &layer.w), (TensorName::B(l), &layer.b)] {
            let bytes = tensor.data().iter().flat_map(|value| value.to_le_bytes()).collect();
            named.push((name.to_string(), tensor, bytes));
        }
    }
    let views = named.iter().map(|(name, tensor, bytes)| {
        let view = TensorView::new(Dtype::F32, tensor.shape().to_vec(), bytes);
        (name.as_str(), view.expect("an f32 tensor has four bytes for each element"))
    });
    let metadata = HashMap::from([
        ("preset".to_owned(), preset.name.clone()),
        ("loss".to_owned(), preset.network.loss.to_string()),
        ("normalisation".to_owned(), preset.normalisation.to_string()),
    ]);
    let bytes = safetensors::serialize(views, Some(metadata))
        .map_err(|error| write(io::Error::other(error.to_string())))?;
    file::write_atomically(path, |writer| writer.write_all(&bytes)).map_err(write)
}

/// The preset that saved parameters belong to: name, loss and normalisation from the file's
/// metadata where it has them (as [`save`] writes), layer sizes from the tensors themselves.
///
/// # Errors
/// When the file can't be read, is no safetensors file, or has no `w1`.
pub fn preset(path: &Path) -> Result<Preset> {
    let bytes = read(path)?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| unusable(path, &error))?;
    let known = |key: &str| header.metadata().as_ref().and_then(|known| known.get(key));
    let preset = known("preset").and_then(|name| Preset::find(name));
    let mut preset = preset.unwrap_or_else(|| Preset::presets().remove(0));
    let loss = |name: &String| Loss::ALL.into_iter().find(|loss| loss.name() == name);
    preset.network.loss = known("loss").and_then(loss).unwrap_or(preset.network.loss);
    let normalisation = known("normalisation").and_then(|name| name.parse().ok());
    preset.normalisation = normalisation.unwrap_or(preset.normalisation);
    let mut sizes = Vec::new();
    while let Some(w) = header.info(&TensorName::W(sizes.len().max(1)).to_string()) {
        let &[outputs, inputs] = &w.shape[..] else { break };
        if sizes.is_empty() {
            sizes.push(inputs);
        }
        sizes.push(outputs);
    }
    if sizes.is_empty() {
        let reason = "it has no matrix w1, w2, … as its first tensors".into();
        return Err(Error::Read { path: path.into(), reason });
    }
    preset.network.sizes = sizes;
    Ok(preset)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::Read { path: path.into(), reason: error.to_string() })
}

fn unusable(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::Read { path: path.into(), reason: format!("it is no usable safetensors file: {error}") }
}

/// Reads parameters that [`save`] or PyTorch wrote, and checks them against the network.
///
/// # Errors
/// When the file can't be read, is no safetensors file, lacks a tensor, or holds one of another
/// type or shape or with a value that is not finite.
pub fn load(path: &Path, network: &Network) -> Result<Parameters> {
    let error = |reason: String| Error::Read { path: path.into(), reason };
    let bytes = read(path)?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| unusable(path, &error))?;
    let parameters = Parameters::collect(network, |name| {
        let view = file.tensor(&name.to_string()).map_err(|_| {
            let mut names = file.names();
            names.sort_unstable();
            error(format!("it has no tensor {name}, only {}", names.join(", ")))
        })?;
        if view.dtype() != Dtype::F32 {
            return Err(error(format!("{name} is {:?}, not F32", view.dtype())));
        }
        let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let data = view.data().chunks_exact(4).map(value).collect();
        let tensor = Tensor::new(view.shape(), data).map_err(|e| error(e.to_string()))?;
        match tensor.first_non_finite() {
            None => Ok(tensor),
            Some(at) => Err(error(format!("{name} holds {} at {at}", tensor.data()[at]))),
        }
    });
    parameters.map_err(|source| match source {
        Error::Usage(reason) => error(reason),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let preset = Preset::find("ptx-3layer").unwrap();
        let parameters = Parameters::new(&preset.network, preset.initialisation, 7);
        save(&path, &parameters, &preset).unwrap();
        assert_eq!(load(&path, &preset.network).unwrap(), parameters);
        assert_eq!(super::preset(&path).unwrap(), preset);
    }

    #[test]
    fn a_file_says_which_network_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let mut preset = Preset::find("manning").unwrap();
        preset.network = Network { sizes: vec![784, 20, 12, 10], loss: Loss::SquaredError };
        preset.normalisation = data::Normalisation::Unit;
        let parameters = Parameters::new(&preset.network, preset.initialisation, 7);
        save(&path, &parameters, &preset).unwrap();
        assert_eq!(super::preset(&path).unwrap(), preset);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let preset = Preset::find("nvmath").unwrap();
        let mut parameters = Parameters::new(&preset.network, preset.initialisation, 7);
        save(&path, &parameters, &preset).unwrap();
        let wider = Preset::find("ptx-mnist").unwrap().network;
        let said = load(&path, &wider).unwrap_err().to_string();
        assert!(said.contains("w1 has the shape [30, 784]"), "{said}");
        let deeper = Preset::find("ptx-3layer").unwrap().network;
        assert_eq!(load(&path, &deeper).unwrap_err().exit_code(), 2);

        let whole = fs::read(&path).unwrap();
        for cut in [0, 7, 100, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            let said = load(&path, &preset.network).unwrap_err().to_string();
            assert!(said.contains("no usable safetensors file"), "{said}");
        }
        parameters.layers[1].b.data_mut()[3] = f32::NAN;
        save(&path, &parameters, &preset).unwrap();
        let said = load(&path, &preset.network).unwrap_err().to_string();
        assert!(said.contains("b2 holds NaN at 3"), "{said}");
    }
}
