//! Where the images come from: MNIST in a folder, in the user's cache or on the network, or the
//! built-in digits.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ureq::Proxy;

use crate::download::{Downloader, MIRRORS};
use crate::mnist::{self, Content, File};
use crate::{DataError, Digits, Origin, UnknownName, digits};

/// A network that does not answer is given up on after this time, over all mirrors and files.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which images are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// MNIST where it can be had, else the built-in digits.
    Auto,
    /// MNIST, or an error.
    Mnist,
    /// The digits that this program draws.
    Digits,
}

impl Source {
    /// Every source there is.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Mnist, Self::Digits];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Mnist => "mnist",
            Self::Digits => "digits",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Source {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|source| source.name() == text).ok_or_else(|| UnknownName {
            what: "source of images",
            given: text.into(),
            known: "auto, mnist, digits",
        })
    }
}

/// How many images are wanted at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Images to train on.
    pub train: usize,
    /// Images to test with.
    pub test: usize,
}

impl Counts {
    /// All that there are, of MNIST and of the built-in digits alike.
    pub const ALL: Self = Self { train: 60_000, test: 10_000 };
}

/// Finds the images: in `folder` when one is given, else in the user's cache, else on the
/// network (into that cache), else, with [`Source::Auto`], draws them. What a person should know
/// of that is told through `notice`, in one line, at most once.
///
/// There are 60,000 images to train on and 10,000 to test with, the first of which are taken.
///
/// # Errors
/// When a folder is given and is not MNIST, for either of the sources that would use it; with
/// [`Source::Mnist`] also when MNIST is neither in the cache nor can be downloaded.
pub fn load(
    source: Source,
    folder: Option<&Path>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, DataError> {
    let places = Places {
        folder,
        cache: dirs::cache_dir().map(|cache| cache.join("four-levels-down").join("mnist")),
        mirrors: &MIRRORS,
        patience: PATIENCE,
        proxy: Proxy::try_from_env(),
        files: &mnist::FILES,
    };
    load_from(source, &places, counts, notice)
}

/// Where MNIST is looked for, and what it is.
pub(crate) struct Places<'a> {
    /// The folder that a person named.
    pub(crate) folder: Option<&'a Path>,
    /// The user's cache, where the system knows one.
    pub(crate) cache: Option<PathBuf>,
    /// Addresses to which a file's name is appended.
    pub(crate) mirrors: &'a [&'a str],
    /// How long mirrors that do not answer are waited for.
    pub(crate) patience: Duration,
    /// The proxy of the network.
    pub(crate) proxy: Option<Proxy>,
    /// Names and digests of the four files.
    pub(crate) files: &'a [File; 4],
}

/// [`load`] from any places.
pub(crate) fn load_from(
    source: Source,
    places: &Places<'_>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, DataError> {
    if source == Source::Digits {
        return Ok(built_in(counts));
    }
    if let Some(folder) = places.folder {
        return mnist::read_folder(folder, places.files, counts);
    }
    match cached_or_downloaded(places, counts, notice) {
        Ok(digits) => Ok(digits),
        Err(reason) if source == Source::Mnist => Err(DataError::Unavailable { reason }),
        Err(reason) => {
            notice(&format!(
                "using the built-in digits, because MNIST is not on this machine and can't \
                 be downloaded ({reason}); to use MNIST, put its four files into a folder and \
                 name it with --data-dir or MNIST_DIR"
            ));
            Ok(built_in(counts))
        }
    }
}

fn built_in(counts: Counts) -> Digits {
    let (train, test) = digits::draw(counts);
    Digits { train, test, origin: Origin::Synthetic }
}

/// MNIST from the user's cache; files that are missing there, or damaged, are downloaded.
fn cached_or_downloaded(
    places: &Places<'_>,
    counts: Counts,
    notice: &mut dyn FnMut(&str),
) -> Result<Digits, String> {
    let cache = places.cache.as_deref().ok_or("this user has no cache folder")?;
    let mut downloader = Downloader::new(places.mirrors, places.patience, places.proxy.clone());
    let mut contents = Vec::new();
    let mut downloaded = false;
    for file in places.files {
        if let Some(content) = cached(file, cache) {
            contents.push(content);
            continue;
        }
        // Before the download, so that a folder that can't be written costs no traffic.
        fs::create_dir_all(cache)
            .map_err(|error| format!("can't create {}: {error}", cache.display()))?;
        contents.push(downloader.fetch(file, cache)?);
        downloaded = true;
    }
    let digits = mnist::digits(cache, places.files, contents, counts).map_err(|e| e.to_string())?;
    if downloaded {
        notice(&format!("downloaded MNIST into {}", cache.display()));
    }
    Ok(digits)
}

/// A file in the cache, if it is there and is what was published.
fn cached(file: &File, cache: &Path) -> Option<Content> {
    Content::read(file.find(cache)?).ok().filter(|content| content.digest == file.digest)
}

#[cfg(test)]
mod tests;
