//! MNIST's four files: their names, their published content, and the folder they lie in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Counts, DataError, Digits, Images, Origin, idx};

/// One of the four files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// The name, without the `.gz` that is added when the file is gzipped.
    pub(crate) name: &'static str,
    /// Another spelling of the name, from old copies.
    pub(crate) dotted: &'static str,
    /// The SHA-256 of the unpacked file. It holds whichever gzip wrote the archive.
    pub(crate) digest: &'static str,
}

/// Training images and labels, test images and labels.
pub(crate) const FILES: [File; 4] = [
    File {
        name: "train-images-idx3-ubyte",
        dotted: "train-images.idx3-ubyte",
        digest: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    File {
        name: "train-labels-idx1-ubyte",
        dotted: "train-labels.idx1-ubyte",
        digest: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    File {
        name: "t10k-images-idx3-ubyte",
        dotted: "t10k-images.idx3-ubyte",
        digest: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    File {
        name: "t10k-labels-idx1-ubyte",
        dotted: "t10k-labels.idx1-ubyte",
        digest: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

/// A file that was read.
pub(crate) struct Content {
    /// Where it lies, or where it came from.
    pub(crate) path: PathBuf,
    /// Its bytes, unpacked.
    pub(crate) bytes: Vec<u8>,
    /// Their SHA-256 in hexadecimal.
    pub(crate) digest: String,
}

impl Content {
    /// These unpacked bytes of that file.
    pub(crate) fn new(path: PathBuf, bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { path, bytes, digest }
    }

    /// Reads a file, gzipped or not.
    ///
    /// # Errors
    /// When it can't be read or unpacked.
    pub(crate) fn read(path: PathBuf) -> Result<Self, DataError> {
        match idx::read_unpacked(&path) {
            Ok(bytes) => Ok(Self::new(path, bytes)),
            Err(source) => Err(DataError::Read { path, source }),
        }
    }
}

impl File {
    /// Where the file may lie in a folder: gzipped or not, in either spelling.
    pub(crate) fn paths(&self, folder: &Path) -> [PathBuf; 4] {
        let [name, dotted] = [self.name, self.dotted];
        [format!("{name}.gz"), name.into(), format!("{dotted}.gz"), dotted.into()]
            .map(|name| folder.join(name))
    }

    /// The file in a folder.
    ///
    /// # Errors
    /// When the folder can't be searched, or what has the name is no file.
    fn find(&self, folder: &Path) -> Result<Option<PathBuf>, DataError> {
        for path in self.paths(folder) {
            if exists(&path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Whether there is a file of that name.
///
/// # Errors
/// When that can't be known, or there is something else, such as a folder or a pipe, which may have
/// no end.
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

/// The digits in a folder that a person named. Whatever is wrong with it is an error: nothing
/// else takes its place silently.
///
/// # Errors
/// When the folder or a file is missing, a file can't be read or unpacked, is not well-formed, or
/// is not the published one.
pub(crate) fn read_folder(
    folder: &Path,
    files: &[File; 4],
    counts: Counts,
) -> Result<Digits, DataError> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(DataError::NotAFolder { path: folder.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DataError::NoFolder { folder: folder.to_owned() });
        }
        Err(source) => return Err(DataError::Read { path: folder.to_owned(), source }),
    }
    // All four are looked for before any is read, which takes a while.
    let mut paths = Vec::new();
    for file in files {
        paths.push(file.find(folder)?.ok_or_else(|| DataError::MissingFile {
            folder: folder.to_owned(),
            file: file.name,
            address: crate::download::MIRRORS[0],
        })?);
    }
    let contents = paths.into_iter().map(Content::read).collect::<Result<_, _>>()?;
    digits(folder, files, contents, counts)
}

/// The digits in the content of the four files, given in the order of `files`.
///
/// # Errors
/// When a file is not well-formed or not the published one, or images and labels differ in number.
pub(crate) fn digits(
    folder: &Path,
    files: &[File; 4],
    contents: Vec<Content>,
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

/// What is malformed is told before what is merely another file, since it tells more.
fn images_and_labels(
    (images, images_file): (Content, &File),
    (labels, labels_file): (Content, &File),
) -> Result<Images, DataError> {
    let malformed = |path: &Path, source| DataError::Idx { path: path.to_owned(), source };
    let pixels = idx::images(images.bytes).map_err(|error| malformed(&images.path, error))?;
    let digits = idx::labels(labels.bytes).map_err(|error| malformed(&labels.path, error))?;
    if pixels.len() != digits.len() * crate::PIXELS {
        return Err(DataError::Counts {
            images_path: images.path,
            images: pixels.len() / crate::PIXELS,
            labels_path: labels.path,
            labels: digits.len(),
        });
    }
    for (file, path, found) in
        [(images_file, images.path, images.digest), (labels_file, labels.path, labels.digest)]
    {
        if found != file.digest {
            let (file, expected) = (file.name, file.digest);
            return Err(DataError::Digest { path, file, expected, found });
        }
    }
    Ok(Images::new(pixels, digits))
}
