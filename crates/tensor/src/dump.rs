//! Dumps: all tensors of one training step, as JSON, plain or gzipped.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Loss, ShapeError, Tensor, TensorName, file, run};

/// What a dump says of itself in its field `format`.
const FORMAT: &str = "four-levels-dump";
/// The only version of the format so far.
const VERSION: u32 = 1;
/// The most bytes of JSON that are read, unpacked: a gzipped file may unpack to a thousand times its
/// size. The dump of a network with 20 million parameters has less.
const MOST_BYTES: u64 = 1 << 30;
/// The most tensors that are read: a network of 800 layers has fewer.
const MOST_TENSORS: usize = 10_000;

/// The arithmetic that made a dump, from which the error that it may have follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE binary32, unit roundoff 2⁻²⁴.
    F32,
    /// IEEE binary64, unit roundoff 2⁻⁵³.
    F64,
    /// binary32 whose matrix products round their inputs to 10 fraction bits: 2⁻¹¹.
    Tf32,
}

impl Dtype {
    /// The name in the header: `f32`, `f64` or `tf32`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Tf32 => "tf32",
        }
    }
}

/// Where a dump comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The program that computed it: `level1-cpu`, `reference-pytorch`, ….
    pub level: String,
    /// The device it ran on, so that an emulated run never passes for hardware.
    pub device: String,
    /// The preset or fixture.
    pub preset: String,
    /// The loss; a dump without it is compared with the widest bound of the three losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The arithmetic.
    pub dtype: Dtype,
    /// The seed of the initial parameters and of the order of the samples.
    pub seed: u64,
    /// How many updates came before this step.
    pub step: u64,
    /// How many steps the run has that this one is of; a dump of a single step doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Which of several ranks made it, counted from 0; then it holds that rank's share of the batch,
    /// and what all ranks have: the parameters, their gradients and the loss. One that is put
    /// together again, or was made by one process alone, doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// How many ranks computed the step together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_size: Option<u64>,
    /// The learning rate that made the `_next` parameters, as the `f32` that the levels use.
    pub learning_rate: f32,
    /// How many significant decimal digits are left of what the step computed, where it was rounded
    /// to save space. What the step was given is always exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// Tensors that this level never holds in memory, such as a `z1` that an epilogue consumes.
    /// A comparison shows them as such; any other tensor that is absent is a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_materialised: Vec<TensorName>,
}

/// One tensor of a dump. The elements are `f64` in memory, which holds every `f32` exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct DumpedTensor {
    /// Its name.
    pub name: TensorName,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: Vec<f64>,
}

impl DumpedTensor {
    /// The tensor in single precision; exact where a level wrote it.
    #[must_use]
    pub fn to_tensor(&self) -> Tensor {
        let data = self.data.iter().map(|&value| value as f32).collect();
        Tensor::new(self.shape.clone(), data).expect("a dump's shapes are checked when it is read")
    }
}

/// All tensors of one training step, in the order of computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// Where it comes from.
    pub header: Header,
    /// The tensors; no name comes twice.
    pub tensors: Vec<DumpedTensor>,
}

/// What can go wrong with a dump.
#[derive(Debug, Error)]
pub enum DumpError {
    /// The file can't be opened or read; a truncated `.gz` is found here.
    #[error("can't read the dump {}: {source}", host::shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system or the decompressor says.
        source: io::Error,
    },
    /// The text is no JSON, or is JSON of another form.
    #[error("{} is not a dump: {source}", host::shown(path))]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The JSON is well formed, and what it says makes no sense.
    #[error("{} is not a usable dump: {reason}", host::shown(path))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file can't be written.
    #[error("can't write the dump {}: {source}", host::shown(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl Dump {
    /// A dump without tensors yet.
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

    /// Reads a dump, plain or gzipped: the content decides, not the file's name. Where there is no
    /// `a.json`, but an `a.json.gz`, that one is meant.
    ///
    /// # Errors
    /// When the file can't be read, is cut off, has more than 1 GiB (unpacked), is not JSON, is not a
    /// dump of version 1, or has a tensor that comes twice or whose shape doesn't hold its elements.
    pub fn read(path: &Path) -> Result<Self, DumpError> {
        match <[Self; 1]>::try_from(run::documents(path)?) {
            Ok([dump]) => Ok(dump),
            Err(run) => {
                let reason = format!("it holds {} steps, and one is asked for", run.len());
                Err(DumpError::Content { path: path.to_owned(), reason })
            }
        }
    }

    /// Reads a dump from JSON; `path` is what errors name as its origin.
    ///
    /// # Errors
    /// As [`Dump::read`].
    pub fn from_json(json: &[u8], path: &Path) -> Result<Self, DumpError> {
        let content = |reason: String| DumpError::Content { path: path.to_owned(), reason };
        let parse = |source| DumpError::Parse { path: path.to_owned(), source };
        // The format first: what is no dump at all should not be called a dump with an odd field.
        let stamp: Stamp = serde_json::from_slice(json).map_err(parse)?;
        if stamp.format != FORMAT || stamp.version != VERSION {
            return Err(content(format!(
                "it says it is {:?} version {}, and this program reads {FORMAT:?} version {VERSION}",
                stamp.format, stamp.version
            )));
        }
        // A number takes 8 bytes, and at least two characters.
        host::memory::check(5 * json.len() as u64).map_err(|shortage| {
            content(format!("it has {} bytes, and reading them {shortage}", json.len()))
        })?;
        // One after the other: what neither knows is passed over, and never held in memory.
        let header: Header = serde_json::from_slice(json).map_err(parse)?;
        let Tensors { tensors } = serde_json::from_slice(json).map_err(parse)?;
        if tensors.len() > MOST_TENSORS {
            let count = tensors.len();
            return Err(content(format!("it has {count} tensors, and {MOST_TENSORS} are read")));
        }
        let mut dump = Self::new(header);
        let mut names = HashSet::new();
        for TensorFile { name, shape, data: Numbers(mut data) } in tensors {
            if dump.header.dtype != Dtype::F64 {
                // "0.1" stands for the f32 nearest to it, which is not the f64 nearest to it.
                data.iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            ShapeError::check(&shape, data.len())
                .map_err(|error| content(format!("{name}: {error}")))?;
            if !names.insert(name) {
                return Err(content(format!("{name} comes twice")));
            }
            dump.tensors.push(DumpedTensor { name, shape, data });
        }
        Ok(dump)
    }

    /// Writes the dump, gzipped when the name ends in `.gz`, whole or not at all.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, path: &Path) -> Result<(), DumpError> {
        write_packed(path, |writer| self.to_json(writer))
    }

    /// Writes the dump as JSON, a tensor a line.
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

/// The bytes of a file, unpacked when it is gzipped, up to a limit for either.
fn read_unpacked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let bytes = file::open(path).and_then(|file| file::read(file, most))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    file::read(MultiGzDecoder::new(&bytes[..]), most).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            io::Error::new(io::ErrorKind::FileTooLarge, format!("unpacked, {error}"))
        }
        _ => error,
    })
}

/// What a file of dumps holds, unpacked; where there is none of that name, of the packed one's.
pub(crate) fn unpacked(path: &Path) -> Result<Vec<u8>, DumpError> {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let packed = Path::new(&packed);
    let found = if !path.exists() && packed.exists() { packed } else { path };
    read_unpacked(found, MOST_BYTES)
        .map_err(|source| DumpError::Read { path: path.to_owned(), source })
}

/// Writes a file of dumps, gzipped when its name ends in `.gz`, whole or not at all.
pub(crate) fn write_packed(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), DumpError> {
    let written = file::write_atomically::<io::Error>(path, |writer| {
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut encoder = GzEncoder::new(writer, Compression::default());
            write(&mut encoder)?;
            encoder.finish()?;
            Ok(())
        } else {
            write(writer)
        }
    });
    written.map_err(|source| DumpError::Write { path: path.to_owned(), source })
}

#[derive(Deserialize)]
struct Stamp {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u32,
}

#[derive(Serialize)]
struct DumpFile<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    header: Header,
    tensors: T,
}

#[derive(Deserialize)]
struct Tensors {
    tensors: Vec<TensorFile<Numbers>>,
}

#[derive(Serialize, Deserialize)]
struct TensorFile<T> {
    name: TensorName,
    shape: Vec<usize>,
    data: T,
}

/// Numbers to be written: NaN and the infinities as strings, `f32` with the fewest digits that
/// read back as the same `f32`.
struct NumbersOf<'a> {
    data: &'a [f64],
    single: bool,
}

impl Serialize for NumbersOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.data.len()))?;
        for &value in self.data {
            if value.is_nan() {
                sequence.serialize_element("NaN")?;
            } else if value.is_infinite() {
                sequence.serialize_element(if value > 0.0 { "Infinity" } else { "-Infinity" })?;
            } else if self.single {
                sequence.serialize_element(&(value as f32))?;
            } else {
                sequence.serialize_element(&value)?;
            }
        }
        sequence.end()
    }
}

/// Numbers that were read: JSON numbers, and the strings that stand for what JSON can't say.
struct Numbers(Vec<f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumbersVisitor;

        impl<'de> Visitor<'de> for NumbersVisitor {
            type Value = Numbers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Numbers, A::Error> {
                let mut numbers = Vec::new();
                while let Some(Number(value)) = sequence.next_element()? {
                    numbers.push(value);
                }
                Ok(Numbers(numbers))
            }
        }

        deserializer.deserialize_seq(NumbersVisitor)
    }
}

struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" => Ok(Number(f64::NAN)),
                    "Infinity" => Ok(Number(f64::INFINITY)),
                    "-Infinity" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(dtype: Dtype) -> Header {
        Header {
            level: "level1-cpu".into(),
            device: "cpu".into(),
            preset: "softmax".into(),
            loss: Some(Loss::CrossEntropy),
            dtype,
            seed: 1,
            step: 0,
            steps: None,
            rank: None,
            world_size: None,
            learning_rate: 0.1,
            digits: None,
            not_materialised: Vec::new(),
        }
    }

    fn round_trip(dump: &Dump, name: &str) -> Dump {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        dump.write(&path).unwrap();
        Dump::read(&path).unwrap()
    }

    proptest! {
        /// Every finite f32, subnormals and −0 among them, comes back bit for bit.
        #[test]
        fn finite_f32_round_trips(bits in prop::collection::vec(any::<u32>(), 1..200)) {
            let values: Vec<f32> =
                bits.into_iter().map(f32::from_bits).filter(|value| value.is_finite()).collect();
            let mut dump = Dump::new(header(Dtype::F32));
            dump.push(TensorName::X, &Tensor::new([values.len()], values.clone()).unwrap());
            let back = round_trip(&dump, "a.json");
            let bits = |data: &[f64]| data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back.tensors[0].data), bits(&dump.tensors[0].data));
        }
    }

    #[test]
    fn non_finite_values_are_words() {
        let mut dump = Dump::new(header(Dtype::F32));
        let values = vec![0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        dump.push(TensorName::Loss, &Tensor::new([2, 2], values).unwrap());
        let mut json = Vec::new();
        dump.to_json(&mut json).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(json.contains(r#""data":[0.0,"NaN","Infinity","-Infinity"]"#), "{json}");
        assert!(json.starts_with(r#"{"format":"four-levels-dump","version":1,"level":"#), "{json}");
        let back = round_trip(&dump, "a.json.gz");
        assert!(back.tensors[0].data[1].is_nan());
        assert_eq!(back.tensors[0].data[2..], [f64::INFINITY, f64::NEG_INFINITY]);
    }

    #[test]
    fn double_precision_keeps_all_its_digits() {
        let mut dump = Dump::new(header(Dtype::F64));
        let data = vec![1.0 / 3.0, 5e-324, f64::MAX];
        dump.tensors.push(DumpedTensor { name: TensorName::P, shape: vec![3], data });
        assert_eq!(round_trip(&dump, "a.json"), dump);
    }

    /// The header that the design fixes, without the optional loss, whole numbers among the data.
    #[test]
    fn a_dump_written_by_hand_is_read() {
        let json = br#"{"format": "four-levels-dump", "version": 1, "level": "me", "device": "cpu",
            "preset": "softmax", "dtype": "f32", "seed": 1, "step": 0, "learning_rate": 0.1,
            "tensors": [{"name": "x", "shape": [1, 3], "data": [0, -1, "NaN"]}]}"#;
        let dump = Dump::from_json(json, Path::new("hand.json")).unwrap();
        assert_eq!(dump.header.loss, None);
        assert_eq!(dump.tensors[0].data[..2], [0.0, -1.0]);
    }

    #[test]
    fn what_is_no_dump_is_refused_with_the_reason() {
        let tensor = |tensors: &str| {
            format!(
                r#"{{"format": "four-levels-dump", "version": 1, "level": "l", "device": "d",
                "preset": "p", "dtype": "f32", "seed": 1, "step": 0, "learning_rate": 0.1,
                "tensors": [{tensors}]}}"#
            )
        };
        let cases = [
            ("not json".into(), "is not a dump: expected ident"),
            ("[1, 2]".into(), "is not a dump"),
            ("{}".into(), r#"it says it is "" version 0"#),
            (r#"{"format": "four-levels-dump", "version": 2}"#.into(), "version 2"),
            (r#"{"format": "four-levels-dump", "version": 1}"#.into(), "missing field"),
            (tensor(r#"{"name": "q", "shape": [1], "data": [1]}"#), "\"q\" is not the name"),
            (
                tensor(r#"{"name": "x", "shape": [2], "data": [1]}"#),
                "x: the shape [2] does not hold 1",
            ),
            (tensor(r#"{"name": "x", "shape": [1], "data": ["nan"]}"#), "invalid value"),
            (
                tensor(
                    r#"{"name": "p", "shape": [], "data": [1]},
                       {"name": "p", "shape": [], "data": [1]}"#,
                ),
                "p comes twice",
            ),
            (
                tensor(r#"{"name": "x", "shape": [18446744073709551615, 2], "data": [1]}"#),
                "does not hold 1",
            ),
        ];
        for (json, reason) in cases {
            let error = Dump::from_json(json.as_bytes(), Path::new("bad.json")).unwrap_err();
            assert!(error.to_string().contains(reason), "{json}\ngave: {error}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error_plain_or_gzipped() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.json", "a.json.gz"] {
            let path = folder.path().join(name);
            let mut dump = Dump::new(header(Dtype::F32));
            dump.push(TensorName::X, &Tensor::zeros([8, 8]));
            dump.write(&path).unwrap();
            let whole = std::fs::read(&path).unwrap();
            for cut in [0, 1, 20, whole.len() / 2, whole.len() - 2] {
                std::fs::write(&path, &whole[..cut]).unwrap();
                assert!(Dump::read(&path).is_err(), "{name} cut to {cut} bytes was accepted");
            }
        }
    }

    /// A thousand times as much as the file: refused with a sentence, and not unpacked to its end.
    #[test]
    fn what_unpacks_to_more_than_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.json.gz");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&vec![b' '; 1 << 24]).unwrap();
        let packed = encoder.finish().unwrap();
        std::fs::write(&path, &packed).unwrap();
        assert!(packed.len() < 1 << 16);
        assert_eq!(read_unpacked(&path, 1 << 24).unwrap().len(), 1 << 24);
        let error = read_unpacked(&path, (1 << 24) - 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unpacked, it has more than 16777215 bytes, which is as much as is read"
        );
        std::fs::write(&path, vec![b' '; 1 << 17]).unwrap();
        let error = read_unpacked(&path, 1 << 16).unwrap_err().to_string();
        assert!(error.starts_with("it has more than 65536 bytes"), "{error}");
    }

    /// Cut off anywhere, packed or not, a dump is refused and never taken for a shorter one.
    #[test]
    fn a_dump_that_is_cut_off_at_any_byte_is_refused() {
        let mut dump = Dump::new(header(Dtype::F32));
        dump.push(TensorName::X, &Tensor::new([2, 2], vec![1.0, 2.5, f32::NAN, -0.0]).unwrap());
        dump.push(TensorName::Loss, &Tensor::scalar(0.25));
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.json", "a.json.gz"] {
            let path = folder.path().join(name);
            dump.write(&path).unwrap();
            let whole = std::fs::read(&path).unwrap();
            // The line break at its end is no part of the text.
            for length in 0..whole.len() - 1 {
                std::fs::write(&path, &whole[..length]).unwrap();
                let said = Dump::read(&path).expect_err("it is cut off").to_string();
                assert!(said.contains(name), "{said}");
            }
        }
    }

    /// A field that nobody knows may be of any size; so may a list of tensors.
    #[test]
    fn what_nobody_knows_is_passed_over_and_too_many_tensors_are_refused() {
        let mut json = Vec::new();
        Dump::new(header(Dtype::F32)).to_json(&mut json).unwrap();
        let json = String::from_utf8(json).unwrap();
        let other = json.replacen('{', &format!("{{\"other\":[{}0],", "[0],".repeat(1000)), 1);
        assert!(Dump::from_json(other.as_bytes(), Path::new("a")).unwrap().tensors.is_empty());
        let tensor = |layer: usize| format!("{{\"name\":\"w{layer}\",\"shape\":[0],\"data\":[]}}");
        let many: Vec<String> = (1..=MOST_TENSORS + 1).map(tensor).collect();
        let (start, end) = json.split_at(json.rfind("\n]}").unwrap());
        let read = |tensors: &[String]| {
            let json = format!("{start}{}{end}", tensors.join(","));
            Dump::from_json(json.as_bytes(), Path::new("a"))
        };
        assert_eq!(read(&many[1..]).unwrap().tensors.len(), MOST_TENSORS);
        let said = read(&many).unwrap_err().to_string();
        assert!(said.ends_with("it has 10001 tensors, and 10000 are read"), "{said}");
    }
}
