//! MNIST's four files: their names and digests, and how they are read from a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Counts, DataError, Digits, Images, Origin, idx};

/// One of the four files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// The name, without `.gz`.
    pub(crate) name: &'static str,
    /// Another spelling of the name, found in old copies of MNIST.
    pub(crate) dotted: &'static str,
    /// The SHA-256 of the decompressed file.
    pub(crate) digest: &'static str,
    /// The size of the gzipped file.
    pub(crate) packed_bytes: u64,
}

/// The end of error messages about the user's folder: how to load MNIST without a folder.
const DOWNLOAD: &str = "leave out --data-dir and MNIST_DIR to download them";

/// The four files: training images and labels, test images and labels.
pub(crate) const FILES: [File; 4] = [
    File {
        name: "train-images-idx3-ubyte",
        dotted: "train-images.idx3-ubyte",
        digest: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        packed_bytes: 9_912_422,
    },
    File {
        name: "train-labels-idx1-ubyte",
        dotted: "train-labels.idx1-ubyte",
        digest: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        packed_bytes: 28_881,
    },
    File {
        name: "t10k-images-idx3-ubyte",
        dotted: "t10k-images.idx3-ubyte",
        digest: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        packed_bytes: 1_648_877,
    },
    File {
        name: "t10k-labels-idx1-ubyte",
        dotted: "t10k-labels.idx1-ubyte",
        digest: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        packed_bytes: 4_542,
    },
];

/// The content of a file.
pub(crate) struct FileContent {
    /// The file's path, or the address from which it was downloaded.
    pub(crate) path: PathBuf,
    /// The decompressed bytes of the file.
    pub(crate) bytes: Vec<u8>,
    /// The SHA-256 of the decompressed bytes, in hexadecimal.
    pub(crate) digest: String,
}

impl FileContent {
    /// Computes the digest of decompressed bytes.
    pub(crate) fn new(path: PathBuf, bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { path, bytes, digest }
    }

    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// If it can't be read or decompressed.
    pub(crate) fn read(path: PathBuf) -> Result<Self, DataError> {
        match idx::read_unpacked(&path) {
            Ok(bytes) => Ok(Self::new(path, bytes)),
            Err(source) => Err(DataError::Read { path, source }),
        }
    }
}

impl File {
    /// The possible paths of the file in a folder: gzipped or not, in either spelling.
    pub(crate) fn paths(&self, folder: &Path) -> [PathBuf; 4] {
        let [name, dotted] = [self.name, self.dotted];
        [format!("{name}.gz"), name.into(), format!("{dotted}.gz"), dotted.into()]
            .map(|name| folder.join(name))
    }

    /// The path of the file in a folder, or `None` if it is missing.
    ///
    /// # Errors
    /// If the folder can't be searched, or the path is not a file.
    fn find(&self, folder: &Path) -> Result<Option<PathBuf>, DataError> {
        for path in self.paths(folder) {
            if exists(&path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Whether there is a file at this path.
///
/// # Errors
/// If the operating system fails, or the path is something else, such as a folder or a pipe, which may be
/// endless.
pub(crate) fn exists(path: &Path) -> Result<bool, DataError> {
    let reason = match fs::metadata(path) {
        Ok(found) if found.is_file() => return Ok(true),
        Ok(found) if found.is_dir() => "it is a folder, not a file",
        Ok(_) => "it is a pipe or a device, not a file",
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(DataError::Read { path: path.to_owned(), source }),
    };
    Err(DataError::Read { path: path.to_owned(), source: io::Error::other(reason) })
}

/// Reads the digits in the user's folder. There is no fallback if that fails.
///
/// # Errors
/// If the folder or a file is missing, or a file can't be read or decompressed, is malformed, or differs from the
/// published file.
pub(crate) fn read_folder(
    folder: &Path,
    files: &[File; 4],
    counts: Counts,
) -> Result<Digits, DataError> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(DataError::Unusable(format!(
                "{} is not a folder: name the folder with MNIST's four files",
                host::shown(folder)
            )));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DataError::Unusable(format!(
                "the MNIST folder {} does not exist: name one that contains MNIST's four files, or \
                 {DOWNLOAD}",
                host::shown(folder)
            )));
        }
        Err(source) => return Err(DataError::Read { path: folder.to_owned(), source }),
    }
    // Finds all four files before reading any, because reading takes a while.
    let mut paths = Vec::new();
    for file in files {
        paths.push(file.find(folder)?.ok_or_else(|| {
            let [train_images, train_labels, images, labels] =
                files.each_ref().map(|file| file.name);
            DataError::Unusable(format!(
                "the MNIST folder {} has no {name} (nor {name}.gz). It needs {train_images}, \
                 {train_labels}, {images} and {labels}, gzipped or not. Get them from {address}, or \
                 {DOWNLOAD}",
                host::shown(folder),
                name = file.name,
                address = crate::download::MIRRORS[0],
            ))
        })?);
    }
    let contents = paths.into_iter().map(FileContent::read).collect::<Result<_, _>>()?;
    digits(folder, files, contents, counts)
}

/// Decodes the contents of the four files, which are in the order of `files`.
///
/// # Errors
/// If a file is malformed or differs from the published file, or images and labels differ in number.
pub(crate) fn digits(
    folder: &Path,
    files: &[File; 4],
    contents: Vec<FileContent>,
    counts: Counts,
) -> Result<Digits, DataError> {
    let mut contents = contents.into_iter().zip(files);
    let mut set = || -> Result<Images, DataError> {
        let (images, labels) = (contents.next(), contents.next());
        images_and_labels(images.expect("four files"), labels.expect("four files"))
    };
    Ok(Digits {
        train: set()?.truncated(counts.train),
        test: set()?.truncated(counts.test),
        origin: Origin::Mnist(folder.to_owned()),
    })
}

/// Decodes a file of images and its file of labels. A malformed file is reported before a wrong digest, because that
/// error is more specific.
fn images_and_labels(
    (images, images_file): (FileContent, &File),
    (labels, labels_file): (FileContent, &File),
) -> Result<Images, DataError> {
    let malformed = |path: &Path, reason| {
        let path = host::shown(path);
        DataError::Unusable(format!("{path} is not usable: {reason}; fetch the file again"))
    };
    let pixels = idx::images(images.bytes).map_err(|error| malformed(&images.path, error))?;
    let digits = idx::labels(labels.bytes).map_err(|error| malformed(&labels.path, error))?;
    if pixels.len() != digits.len() * crate::PIXELS {
        return Err(DataError::Unusable(format!(
            "{} has {} images and {} has {} labels: they do not belong together; fetch both again",
            host::shown(&images.path),
            pixels.len() / crate::PIXELS,
            host::shown(&labels.path),
            digits.len()
        )));
    }
    for (file, path, found) in
        [(images_file, images.path, images.digest), (labels_file, labels.path, labels.digest)]
    {
        if found != file.digest {
            return Err(DataError::Unusable(format!(
                "{} is not the file of MNIST: the SHA-256 of its decompressed content is {found}, but that \
                 of MNIST's {} is {}; fetch the file again",
                host::shown(&path),
                file.name,
                file.digest
            )));
        }
    }
    Ok(Images::new(pixels, digits))
}
