//! Checkpoints: trained parameters as safetensors, which PyTorch can read and write.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use host::Foreign;
use host::file;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use tensor::{Loss, Network, Tensor, TensorName};

use crate::report::write_file;
use crate::{Error, Parameters, Preset, Result};

mod names;

/// The maximum size of a file, which exceeds the parameters of any network that `--sizes` accepts.
const MAX_BYTES: u64 = 5 << 28;

/// Writes `w1 b1 … wL bL` as little-endian `f32`, with the preset's name, loss and normalisation
/// in the metadata. `safetensors.torch.load_file` reads it.
///
/// # Errors
/// If the file can't be written.
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
    let metadata = BTreeMap::from([
        ("preset", preset.name.clone()),
        ("loss", preset.network.loss.to_string()),
        ("normalisation", preset.normalisation.to_string()),
    ]);
    let bytes = safetensors::serialize(views, None)
        .map_err(|error| io::Error::other(error.to_string()))
        .and_then(|bytes| add_metadata(&bytes, &metadata))
        .map_err(write)?;
    write_file(path, bytes)
}

/// Adds metadata to the header of a safetensors file. The file has the length of the header as eight bytes, the header
/// as JSON, padded with blanks to a multiple of eight, and the tensors, whose offsets count from the header's end.
///
/// The safetensors library isn't used for this, because it writes metadata in the random order of a hash map, and the
/// same run has to give the same bytes.
fn add_metadata(bytes: &[u8], metadata: &BTreeMap<&str, String>) -> io::Result<Vec<u8>> {
    let odd = || io::Error::other("the safetensors library wrote an unknown format");
    let (length, rest) = bytes.split_first_chunk().ok_or_else(odd)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(io::Error::other)?;
    let (header, tensors) = rest.split_at_checked(length).ok_or_else(odd)?;
    let header = header.trim_ascii_end().strip_prefix(b"{").ok_or_else(odd)?;
    let mut with = br#"{"__metadata__":"#.to_vec();
    serde_json::to_writer(&mut with, metadata)?;
    with.push(b',');
    with.extend_from_slice(header);
    with.resize(with.len().next_multiple_of(8), b' ');
    Ok([&(with.len() as u64).to_le_bytes()[..], &with, tensors].concat())
}

/// The content of a file with saved parameters, written by [`save`] or by PyTorch.
pub struct Checkpoint {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Checkpoint {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file can't be read, or is larger than `MAX_BYTES`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = file::read_file(path, MAX_BYTES, tensor::cannot_be_safetensors);
        let bytes = bytes.map_err(|error| unreadable(path, error.to_string()))?;
        Ok(Self { path: path.into(), bytes })
    }

    /// The preset that the parameters belong to: its name, loss and normalisation are in the metadata of files that
    /// [`save`] wrote; its layer sizes follow from the shapes of the tensors.
    ///
    /// # Errors
    /// If the file is not a safetensors file, has no `w1`, has a layer without units, or has transposed weights.
    pub fn preset(&self) -> Result<Preset> {
        let header = SafeTensors::read_metadata(&self.bytes);
        let (_, header) = header.map_err(|error| self.unusable(&error))?;
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
            if outputs == 0 || inputs == 0 {
                let (shape, layer) = (&w.shape, sizes.len().max(1));
                let reason = format!("w{layer} has the shape {shape:?}: a layer can't be empty");
                return Err(unreadable(&self.path, reason));
            }
            let layer = sizes.len().max(1);
            let bias = header.info(&TensorName::B(layer).to_string()).map(|b| &b.shape[..]);
            if bias == Some(&[inputs]) && inputs != outputs {
                let reason = format!(
                    "w{layer} has the shape {:?}, and b{layer} the length {inputs}: a weight matrix has a row \
                     for each output, as in PyTorch's Linear, so transpose it before saving",
                    w.shape
                );
                return Err(unreadable(&self.path, reason));
            }
            if sizes.is_empty() {
                sizes.push(inputs);
            }
            sizes.push(outputs);
        }
        if sizes.is_empty() {
            let shapes = header.tensors().into_iter().map(|(name, of)| (name, of.shape.clone()));
            let shapes: Vec<_> = shapes.collect();
            let reason = format!("it has no matrix w1{}", names::present_tensors(&shapes));
            return Err(unreadable(&self.path, reason));
        }
        preset.network.sizes = sizes;
        Ok(preset)
    }

    /// The parameters, checked against the network.
    ///
    /// # Errors
    /// If the file is not a safetensors file, lacks a tensor, or has a tensor with the wrong type, the wrong shape or a
    /// value that is not finite.
    pub fn parameters(&self, network: &Network) -> Result<Parameters> {
        let error = |reason: String| unreadable(&self.path, reason);
        let file = SafeTensors::deserialize(&self.bytes).map_err(|error| self.unusable(&error))?;
        let parameters = Parameters::collect(network, |name| {
            let view = file.tensor(&name.to_string()).map_err(|_| {
                let tensors = file.tensors().into_iter();
                let shapes = tensors.map(|(name, view)| (name, view.shape().to_vec()));
                let shapes: Vec<_> = shapes.collect();
                error(format!("it has no tensor {name}{}", names::present_tensors(&shapes)))
            })?;
            if view.dtype() != Dtype::F32 {
                let found = view.dtype();
                return Err(error(format!(
                    "{name} is {found:?}, not F32: convert it before saving, in PyTorch with .float()"
                )));
            }
            let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("four bytes"));
            let data = view.data().chunks_exact(4).map(value).collect();
            let tensor = Tensor::new(view.shape(), data).map_err(|e| error(e.to_string()))?;
            match tensor.first_non_finite() {
                None => Ok(tensor),
                Some(at) => Err(error(format!("{name} has {} at index {at}", tensor.data()[at]))),
            }
        });
        parameters.map_err(|source| match source {
            Error::Usage(reason) => error(reason),
            other => other,
        })
    }

    fn unusable(&self, error: &dyn std::error::Error) -> Error {
        let reason = match Foreign::detect(&self.bytes) {
            Some(found) => {
                // torch.save writes one of these two formats.
                let is_torch = ["a ZIP archive", "a Python pickle"].contains(&found.name);
                let advice = if is_torch { names::TORCH_SAVE } else { "" };
                found.instead_of("a safetensors file", advice)
            }
            None => {
                format!("it is not a safetensors file ({error}): name a file that `--save` wrote")
            }
        };
        unreadable(&self.path, reason)
    }
}

fn unreadable(path: &Path, reason: String) -> Error {
    Error::Read { path: path.into(), reason }
}

/// Reads parameters that [`save`] or PyTorch wrote, and checks them against the network.
///
/// # Errors
/// The errors of [`Checkpoint::read`] and [`Checkpoint::parameters`].
pub fn load(path: &Path, network: &Network) -> Result<Parameters> {
    Checkpoint::read(path)?.parameters(network)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A path in a temporary folder.
    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        (folder, path)
    }

    /// Writes random parameters of a preset to a file, and returns them.
    fn saved(path: &Path, preset: &Preset) -> Parameters {
        let parameters = Parameters::new(&preset.network, preset.initialisation, 7);
        save(path, &parameters, preset).unwrap();
        parameters
    }

    #[test]
    fn saved_parameters_are_loaded_bit_for_bit() {
        let (_folder, path) = file();
        let preset = Preset::find("deep").unwrap();
        let parameters = saved(&path, &preset);
        assert_eq!(load(&path, &preset.network).unwrap(), parameters);
        assert_eq!(Checkpoint::read(&path).unwrap().preset().unwrap(), preset);
        // A checkpoint with the preset's former name.
        let former = Preset { name: "ptx-3layer".into(), ..preset.clone() };
        save(&path, &parameters, &former).unwrap();
        assert_eq!(Checkpoint::read(&path).unwrap().preset().unwrap(), preset);
    }

    #[test]
    fn a_file_names_its_network() {
        let (_folder, path) = file();
        let mut preset = Preset::find("medium").unwrap();
        preset.network = Network { sizes: vec![784, 20, 12, 10], loss: Loss::SquaredError };
        preset.normalisation = data::Normalisation::Unit;
        saved(&path, &preset);
        assert_eq!(Checkpoint::read(&path).unwrap().preset().unwrap(), preset);
    }

    #[test]
    fn wrong_shapes_and_nan_are_refused_with_the_reason() {
        let (_folder, path) = file();
        let preset = Preset::find("small").unwrap();
        let mut parameters = saved(&path, &preset);
        let wider = Preset::find("race").unwrap().network;
        let said = load(&path, &wider).unwrap_err().to_string();
        assert!(said.contains("w1 has the shape [30, 784]"), "{said}");
        let deeper = Preset::find("deep").unwrap().network;
        assert_eq!(load(&path, &deeper).unwrap_err().exit_code(), 2);

        parameters.layers[1].b.data_mut()[3] = f32::NAN;
        save(&path, &parameters, &preset).unwrap();
        let said = load(&path, &preset.network).unwrap_err().to_string();
        assert!(said.contains("b2 has NaN at index 3"), "{said}");
    }

    /// The files have the same bytes, so that a digest of the file shows whether a run is reproducible.
    #[test]
    fn the_same_parameters_are_the_same_bytes() {
        let (_folder, path) = file();
        let preset = Preset::find("deep").unwrap();
        let parameters = Parameters::new(&preset.network, preset.initialisation, 7);
        let bytes = || {
            save(&path, &parameters, &preset).unwrap();
            fs::read(&path).unwrap()
        };
        let first = bytes();
        // If the metadata were a hash map, its three keys would be in one of six orders at random.
        for _ in 0..20 {
            assert!(bytes() == first);
        }
        let (_, header) = SafeTensors::read_metadata(&first).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap()["preset"], "deep");
    }

    /// A file of zeros with these names and shapes.
    fn with_shapes(shapes: &[(&str, &[usize])]) -> Vec<u8> {
        let mut at = 0;
        let tensor = |&(name, shape): &(&str, &[usize])| {
            let (start, end) = (at, at + 4 * shape.iter().product::<usize>());
            at = end;
            format!(
                r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
            )
        };
        let header = format!("{{{}}}", shapes.iter().map(tensor).collect::<Vec<_>>().join(","));
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; at]].concat()
    }

    #[test]
    fn files_of_other_formats_are_recognised() {
        let (_folder, path) = file();
        let network = Preset::find("small").unwrap().network;
        let cases: [(&[u8], &str); 4] = [
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:0f\n", "`git lfs pull`"),
            (b"<!DOCTYPE html><html>Not found</html>", "an HTML page, not a safetensors file"),
            (b"PK\x03\x04\0\0\0\0\0\0", "if torch.save wrote it"),
            (b"\x80\x02}q\0.", "if torch.save wrote it"),
        ];
        for (bytes, words) in cases {
            fs::write(&path, bytes).unwrap();
            for error in [
                load(&path, &network).unwrap_err(),
                Checkpoint::read(&path).unwrap().preset().unwrap_err(),
            ] {
                assert!(error.to_string().contains(words), "{error}");
                assert_eq!(error.exit_code(), 2);
            }
        }
    }

    #[test]
    fn the_error_for_pytorchs_names_shows_how_to_rename_them() {
        let (_folder, path) = file();
        let shapes: [(&str, &[usize]); 4] = [
            ("fc1.bias", &[30]),
            ("fc1.weight", &[30, 784]),
            ("fc2.bias", &[10]),
            ("fc2.weight", &[10, 30]),
        ];
        fs::write(&path, with_shapes(&shapes)).unwrap();
        for error in [
            load(&path, &Preset::find("small").unwrap().network).unwrap_err(),
            Checkpoint::read(&path).unwrap().preset().unwrap_err(),
        ] {
            let said = error.to_string();
            assert!(
                said.contains("PyTorch's names") && said.contains(r#"t["fc2.bias"]"#),
                "{said}"
            );
        }
    }

    #[test]
    fn a_transposed_matrix_is_recognised() {
        let (_folder, path) = file();
        let shapes: [(&str, &[usize]); 4] =
            [("w1", &[30, 784]), ("b1", &[30]), ("w2", &[30, 10]), ("b2", &[10])];
        fs::write(&path, with_shapes(&shapes)).unwrap();
        let said = Checkpoint::read(&path).unwrap().preset().unwrap_err().to_string();
        assert!(said.contains("w2 has the shape [30, 10]") && said.contains("transpose"), "{said}");
    }

    #[test]
    fn a_layer_without_units_is_refused() {
        let (_folder, path) = file();
        let cases: [&[(&str, &[usize])]; 3] = [
            &[("w1", &[0, 784]), ("b1", &[0]), ("w2", &[10, 0]), ("b2", &[10])],
            &[("w1", &[10, 0]), ("b1", &[10])],
            &[("w1", &[30, 784]), ("b1", &[30]), ("w2", &[0, 30]), ("b2", &[0])],
        ];
        for shapes in cases {
            fs::write(&path, with_shapes(shapes)).unwrap();
            let said = Checkpoint::read(&path).unwrap().preset().unwrap_err().to_string();
            assert!(said.contains("a layer can't be empty"), "{said}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_at_any_byte_is_refused() {
        let (_folder, path) = file();
        let mut preset = Preset::find("small").unwrap();
        preset.network.sizes = vec![3, 2];
        saved(&path, &preset);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let said = load(&path, &preset.network).unwrap_err().to_string();
            assert!(said.contains("not a safetensors file ("), "{length}: {said}");
        }
    }
}
