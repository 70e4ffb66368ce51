//! Dumps: all tensors of one training step, as JSON, plain or gzipped.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::json::{DumpFile, FormatStamp, Numbers, NumbersOf, TensorFile, Tensors};
use crate::{Loss, ShapeError, Tensor, TensorName, run};

mod json;
pub(crate) mod packed;

/// The value of a dump's field `format`.
const FORMAT: &str = "four-levels-dump";
/// The only version of the format so far.
const VERSION: u32 = 1;
/// The maximum number of tensors that are read. A network of 800 layers has fewer.
const MAX_TENSORS: usize = 10_000;

/// The arithmetic with which a dump's tensors were computed; it determines the bounds of their errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE binary32, unit roundoff 2⁻²⁴.
    #[default]
    F32,
    /// IEEE binary64, unit roundoff 2⁻⁵³.
    F64,
    /// binary32, but matrix products round their inputs to TF32 (10 fraction bits): unit roundoff 2⁻¹¹.
    Tf32,
    /// binary32, but matrix products round their inputs to bfloat16 (7 fraction bits): unit roundoff 2⁻⁸.
    Bf16,
}

impl Dtype {
    /// The name in a dump's header: `f32`, `f64`, `tf32` or `bf16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
        }
    }
}

/// The samples of MNIST's training set that are in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// The normalisation of pixels: `unit` (x/255) or `mean-std` ((x/255 - 0.1307)/0.3081).
    pub normalisation: String,
    /// The index of each sample in the training set, from 0, in the order of the batch.
    pub rows: Vec<u32>,
}

/// The origin of a dump, and the settings of its step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The program that computed the dump: `level1-cpu`, `reference-pytorch`, ….
    pub level: String,
    /// The device that computed the dump, so that an emulated run can't be mistaken for a run on hardware.
    pub device: String,
    /// The preset or fixture. A former name is converted to the current one when it is read.
    #[serde(deserialize_with = "crate::deserialize_preset_name")]
    pub preset: String,
    /// The loss; a dump without it is compared with the widest bound of the three losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The arithmetic of the program.
    pub dtype: Dtype,
    /// The seed of the initial parameters and of the order of the samples.
    pub seed: u64,
    /// The number of updates before this step.
    pub step: u64,
    /// The number of steps of the run; absent in the dump of a single step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The rank that made the dump, counted from 0. A rank's dump contains the rank's share of the batch, and the
    /// tensors that all ranks have: the parameters, their gradients and the loss. Absent in the combined dump of all
    /// ranks, and in the dump of a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The number of ranks that computed the step together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_size: Option<u64>,
    /// The learning rate with which the `_next` parameters were computed, as the `f32` that the levels use.
    pub learning_rate: f32,
    /// The samples of MNIST that are in `x` and `y`. Absent for other data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mnist: Option<Samples>,
    /// The number of significant decimal digits to which computed tensors were rounded to save space. The step's inputs
    /// are always exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// Tensors that this level never holds in memory, such as a `z1` that an epilogue consumes. A comparison marks them
    /// as not materialised; any other absent tensor is a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_materialised: Vec<TensorName>,
}

/// One tensor of a dump. The elements are `f64` in memory, which holds every `f32` exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct DumpedTensor {
    /// The name of the tensor.
    pub name: TensorName,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: Vec<f64>,
}

impl DumpedTensor {
    /// Converts the tensor to single precision. The conversion is exact if a level wrote the dump.
    #[must_use]
    pub fn to_tensor(&self) -> Tensor {
        let data = self.data.iter().map(|&value| value as f32).collect();
        Tensor::new(self.shape.clone(), data).expect("a dump's shapes are checked when it is read")
    }
}

/// All tensors of one training step, in the order of computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// The origin of the dump, and the settings of its step.
    pub header: Header,
    /// The tensors; each name occurs once.
    pub tensors: Vec<DumpedTensor>,
}

/// An error in reading or writing a dump.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The file can't be opened or read; a truncated `.gz` file is this error, too.
    #[error("can't read the dump {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system or of the decompressor.
        source: io::Error,
    },
    /// The text is not JSON, or is JSON of a form other than a dump's.
    #[error("{} is not a dump{}", host::shown(path), describe(source))]
    Parse {
        /// The file.
        path: PathBuf,
        /// The parser's error, with the position and the reason.
        source: serde_json::Error,
    },
    /// The JSON is well formed, but its content makes no sense.
    #[error("{} is not a usable dump: {reason}", host::shown(path))]
    Content {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The dumps of a run have more bytes than a reader accepts.
    #[error(
        "the dump {} would have more than {most} bytes after {steps} steps, which is the limit for \
         reading it: dump fewer steps",
        host::shown(path)
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The limit for a run's dumps, in bytes of JSON.
        most: u64,
        /// The number of steps after which the limit was exceeded.
        steps: usize,
    },
    /// The file can't be written.
    #[error("can't write the dump {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The end of the error message for a text that is not a dump: the reason, and the remedy.
fn describe(error: &serde_json::Error) -> String {
    match (error.is_eof(), error.line(), error.column()) {
        (true, 1, 0) => ": the file is empty; name a file that `dump` wrote".into(),
        (true, ..) => format!(": the file is truncated ({error}); write it again"),
        (false, ..) => format!(" ({error}): name a file that `dump` wrote"),
    }
}

impl Dump {
    /// The maximum number of bytes of JSON that are read. It applies to the unpacked text, because a gzipped file may
    /// unpack to a thousand times its size. The dump of a network with 20 million parameters is smaller.
    pub const MOST_BYTES: u64 = 1 << 30;

    /// A dump that has no tensors yet.
    #[must_use]
    pub const fn new(header: Header) -> Self {
        Self { header, tensors: Vec::new() }
    }

    /// Appends a tensor.
    pub fn push(&mut self, name: TensorName, tensor: &Tensor) {
        self.tensors.push(DumpedTensor {
            name,
            shape: tensor.shape().to_vec(),
            data: tensor.data().iter().map(|&value| f64::from(value)).collect(),
        });
    }

    /// The tensor of that name, if the dump has it.
    #[must_use]
    pub fn get(&self, name: TensorName) -> Option<&DumpedTensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Reads a dump, plain or gzipped: the content decides, not the file's name. If there is no `a.json`, but an
    /// `a.json.gz`, reads `a.json.gz`.
    ///
    /// # Errors
    /// If the file can't be read, is truncated, is larger than 1 GiB (unpacked), is not JSON, is not a dump of version
    /// 1, has two tensors with the same name, or has a tensor whose shape doesn't match its number of elements.
    pub fn read(path: &Path) -> Result<Self, DumpError> {
        match <[Self; 1]>::try_from(run::documents(path)?) {
            Ok([dump]) => Ok(dump),
            Err(run) => {
                let reason = format!("it holds {} steps, but only one is expected", run.len());
                Err(DumpError::Content { path: path.to_owned(), reason })
            }
        }
    }

    /// Reads a dump from JSON; errors name `path` as its origin.
    ///
    /// # Errors
    /// As [`Dump::read`].
    pub fn from_json(json: &[u8], path: &Path) -> Result<Self, DumpError> {
        let content = |reason: String| DumpError::Content { path: path.to_owned(), reason };
        let parse = |source| DumpError::Parse { path: path.to_owned(), source };
        // The format is checked first, so that a JSON file of another kind is not reported as a dump with a wrong field.
        let stamp: FormatStamp = serde_json::from_slice(json).map_err(parse)?;
        if stamp.format != FORMAT || stamp.version != VERSION {
            return Err(content(format!(
                "it says it is {:?} version {}, and this program reads {FORMAT:?} version {VERSION}",
                stamp.format, stamp.version
            )));
        }
        // A number takes 8 bytes in memory, and at least two characters of JSON, so the numbers take up to four times
        // the memory of the text.
        host::memory::check(5 * json.len() as u64).map_err(|shortage| {
            content(format!("it has {} bytes, and reading them {shortage}", json.len()))
        })?;
        // The text is parsed twice, for the header and for the tensors. Both passes skip unknown fields without keeping
        // them in memory.
        let header: Header = serde_json::from_slice(json).map_err(parse)?;
        let Tensors { tensors } = serde_json::from_slice(json).map_err(parse)?;
        if tensors.len() > MAX_TENSORS {
            let count = tensors.len();
            return Err(content(format!(
                "it has {count} tensors, and at most {MAX_TENSORS} are read"
            )));
        }
        let mut dump = Self::new(header);
        let mut names = HashSet::new();
        for TensorFile { name, shape, data: Numbers(mut data) } in tensors {
            if dump.header.dtype != Dtype::F64 {
                // A number such as 0.1 denotes the nearest f32, but was parsed as the nearest f64.
                data.iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            ShapeError::check(&shape, data.len())
                .map_err(|error| content(format!("{name}: {error}")))?;
            if !names.insert(name) {
                return Err(content(format!("there are two tensors {name}")));
            }
            dump.tensors.push(DumpedTensor { name, shape, data });
        }
        Ok(dump)
    }

    /// Writes the dump, gzipped if the name ends in `.gz`, atomically: after an error, the old file is unchanged.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, path: &Path) -> Result<(), DumpError> {
        Self::write_run(std::slice::from_ref(self), path)
    }

    /// Writes the dump as JSON, one tensor per line.
    pub(crate) fn to_json(&self, writer: &mut dyn Write) -> io::Result<()> {
        let file = DumpFile {
            format: FORMAT.into(),
            version: VERSION,
            header: self.header.clone(),
            tensors: [(); 0],
        };
        let head = serde_json::to_string(&file)?;
        let head = head.strip_suffix("]}").expect("the tensors are the last field");
        write!(writer, "{head}")?;
        for (i, tensor) in self.tensors.iter().enumerate() {
            writer.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            let single = self.header.dtype != Dtype::F64;
            let data = NumbersOf { data: &tensor.data, single };
            serde_json::to_writer(
                &mut *writer,
                &TensorFile { name: tensor.name, shape: tensor.shape.clone(), data },
            )?;
        }
        writer.write_all(b"\n]}\n")
    }
}

#[cfg(test)]
mod tests;
