//! Parameters in files: JSON for people, safetensors for programs (`safetensors.torch.load_file`
//! reads it). The file's extension selects the format.

use std::io;
use std::path::Path;

use host::file::{read_file, write_atomically};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use tensor::cannot_be_safetensors;

use crate::{Array, Element, Error, ErrorKind, Module, Result};

/// The value of `format` in a JSON file.
const FORMAT: &str = "four-levels-parameters";

/// The largest file that is read. No network of this project has as many parameters.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
struct JsonFile<T> {
    format: String,
    dtype: String,
    parameters: Vec<JsonParameter<T>>,
}

#[derive(Serialize, Deserialize)]
struct JsonParameter<T> {
    name: String,
    shape: Vec<usize>,
    data: Vec<T>,
}

enum Format {
    Json,
    SafeTensors,
}

/// Writes the parameters of a module to a file. On an error, an existing file is unchanged.
///
/// # Errors
/// [`ErrorKind::File`] if the name ends neither in `.json` nor in `.safetensors`, a value is not finite, or
/// the file can't be written; an error of the device.
pub fn save<T: Element>(path: &Path, module: &dyn Module<T>) -> Result<()> {
    let mut parameters = Vec::new();
    for (name, tensor) in module.parameters() {
        let (shape, data) = (tensor.shape()?, tensor.to_vec()?);
        if let Some(value) = data.iter().find(|value| !value.to_f64().is_finite()) {
            return Err(error(
                path,
                format!("{name} contains {value}: the parameters have to be finite"),
            ));
        }
        parameters.push(JsonParameter { name, shape, data });
    }
    let bytes = match format(path)? {
        Format::Json => to_json(parameters),
        Format::SafeTensors => to_safetensors(&parameters),
    };
    let bytes = bytes.map_err(|reason| error(path, reason))?;
    let written = write_atomically::<io::Error>(path, |writer| writer.write_all(&bytes));
    written.map_err(|source| error(path, format!("it can't be written: {source}")))
}

/// Reads parameters into a module with the same names, shapes and type. On an error, no parameter changes.
///
/// # Errors
/// [`ErrorKind::File`] if the file can't be read or has another format, if a parameter is missing or
/// unknown, or if one has another shape, another type, or a value that is not finite.
pub fn load<T: Element>(path: &Path, module: &dyn Module<T>) -> Result<()> {
    let format = format(path)?;
    let is_enough = |bytes: &[u8]| match format {
        Format::Json => bytes.trim_ascii_start().first() != Some(&b'{'),
        Format::SafeTensors => cannot_be_safetensors(bytes),
    };
    let bytes = read_file(path, MAX_BYTES, is_enough);
    let bytes = bytes.map_err(|e| error(path, format!("it can't be read: {e}")))?;
    let mut found: Vec<JsonParameter<T>> = match format {
        Format::Json => from_json(&bytes),
        Format::SafeTensors => from_safetensors(&bytes),
    }
    .map_err(|reason| error(path, reason))?;
    let mut loaded = Vec::new();
    for (name, tensor) in module.parameters() {
        let Some(position) = found.iter().position(|parameter| parameter.name == name) else {
            return Err(error(path, format!("the parameter {name} is missing")));
        };
        let JsonParameter { shape, data, .. } = found.swap_remove(position);
        let expected = tensor.shape()?;
        if shape != expected {
            let reason = format!("{name} has the shape {shape:?}, not {expected:?}");
            return Err(error(path, reason));
        }
        if let Some(value) = data.iter().find(|value| !value.to_f64().is_finite()) {
            return Err(error(path, format!("{name} contains {value}")));
        }
        loaded.push((tensor.clone(), Array::new(&shape, data)?.to(&tensor.device()?)?));
    }
    if let Some(other) = found.first() {
        return Err(error(path, format!("the network has no parameter {}", other.name)));
    }
    loaded.iter().try_for_each(|(tensor, values)| tensor.assign(values))
}

fn format(path: &Path) -> Result<Format> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(Format::Json),
        Some("safetensors") => Ok(Format::SafeTensors),
        _ => Err(error(path, "its name has to end in .json or .safetensors".into())),
    }
}

fn error(path: &Path, reason: String) -> Error {
    ErrorKind::File { path: path.to_owned(), reason }.into()
}

fn to_json<T: Element>(parameters: Vec<JsonParameter<T>>) -> Result<Vec<u8>, String> {
    let file = JsonFile { format: FORMAT.into(), dtype: T::NAME.into(), parameters };
    serde_json::to_vec(&file).map_err(|error| error.to_string())
}

fn from_json<T: Element>(bytes: &[u8]) -> Result<Vec<JsonParameter<T>>, String> {
    let file: JsonFile<T> = serde_json::from_slice(bytes).map_err(|error| {
        format!("it is not a JSON file ({error}): name a file that `save` wrote")
    })?;
    if (file.format.as_str(), file.dtype.as_str()) != (FORMAT, T::NAME) {
        let (format, dtype) = (file.format, file.dtype);
        return Err(format!("its format is {format:?} in {dtype}, not {FORMAT:?} in {}", T::NAME));
    }
    Ok(file.parameters)
}

const fn dtype<T: Element>() -> Dtype {
    if size_of::<T>() == 4 { Dtype::F32 } else { Dtype::F64 }
}

fn to_safetensors<T: Element>(parameters: &[JsonParameter<T>]) -> Result<Vec<u8>, String> {
    let bytes_of = |p: &JsonParameter<T>| p.data.iter().flat_map(|v| v.to_bytes()).collect();
    let bytes: Vec<Vec<u8>> = parameters.iter().map(bytes_of).collect();
    let views: Vec<(&str, TensorView<'_>)> = parameters
        .iter()
        .zip(&bytes)
        .map(|(p, bytes)| {
            let view = TensorView::new(dtype::<T>(), p.shape.clone(), bytes);
            view.map(|view| (p.name.as_str(), view)).map_err(|error| error.to_string())
        })
        .collect::<Result<_, _>>()?;
    safetensors::serialize(views, None).map_err(|error| error.to_string())
}

fn from_safetensors<T: Element>(bytes: &[u8]) -> Result<Vec<JsonParameter<T>>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        format!("it is not a safetensors file ({error}): name a file that `save` wrote")
    })?;
    let parameter = |(name, view): (String, TensorView<'_>)| {
        if view.dtype() != dtype::<T>() {
            return Err(format!("{name} is {:?}, not {:?}", view.dtype(), dtype::<T>()));
        }
        let data: Option<Vec<T>> =
            view.data().chunks_exact(size_of::<T>()).map(T::from_bytes).collect();
        let data = data.ok_or_else(|| format!("{name} is truncated"))?;
        Ok(JsonParameter { name, shape: view.shape().to_vec(), data })
    };
    file.tensors().into_iter().map(parameter).collect()
}
