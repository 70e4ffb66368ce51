//! Loading, with folders made here and servers on 127.0.0.1 in place of the mirrors.

mod server;

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use flate2::{Compression, write::GzEncoder};
use tempfile::{TempDir, tempdir};

use self::server::{Reply, Server};
use super::*;
use crate::idx;

/// More than any test needs, and a limit for one that goes wrong.
const LONG: Duration = Duration::from_secs(20);
const FEW: Counts = Counts { train: 5, test: 3 };

/// A collection of four small files, as MNIST is one of four large ones.
struct Collection {
    files: [File; 4],
    contents: [Vec<u8>; 4],
}

impl Collection {
    fn new() -> Self {
        let (train, test) = digits::draw(FEW);
        let file = |words: &[u32], bytes: &[u8]| {
            let header = words.iter().flat_map(|word| word.to_be_bytes());
            header.chain(bytes.iter().copied()).collect::<Vec<u8>>()
        };
        let contents = [
            file(&[0x803, 5, 28, 28], train.pixels()),
            file(&[0x801, 5], train.labels()),
            file(&[0x803, 3, 28, 28], test.pixels()),
            file(&[0x801, 3], test.labels()),
        ];
        let mut files = mnist::FILES;
        for (file, content) in files.iter_mut().zip(&contents) {
            file.digest = Content::new(PathBuf::new(), content.clone()).digest.leak();
        }
        Self { files, contents }
    }

    fn folder(&self, name: impl Fn(&File) -> String) -> TempDir {
        let folder = tempdir().unwrap();
        for (file, content) in self.files.iter().zip(&self.contents) {
            let name = name(file);
            let gzip = name.ends_with(".gz");
            let bytes = if gzip { gzipped(content) } else { content.clone() };
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn places<'a>(&'a self, cache: &Path, mirrors: &'a [&'a str]) -> Places<'a> {
        Places {
            folder: None,
            cache: Some(cache.to_owned()),
            mirrors,
            patience: LONG,
            proxy: None,
            files: &self.files,
        }
    }

    /// The gzipped file of an address.
    fn served(&self, address: &str) -> Vec<u8> {
        let name = address.strip_prefix('/').unwrap().strip_suffix(".gz").unwrap();
        let i = self.files.iter().position(|file| file.name == name).unwrap();
        gzipped(&self.contents[i])
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn load_quietly(source: Source, places: &Places<'_>) -> (Result<Digits, DataError>, Vec<String>) {
    let mut notices = Vec::new();
    let digits = load_from(source, places, FEW, &mut |notice| notices.push(notice.to_owned()));
    (digits, notices)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A server that does this with each file of the collection, gzipped.
fn mirror(collection: &Arc<Collection>, reply: fn(Vec<u8>) -> Reply) -> Server {
    let collection = collection.clone();
    Server::new(move |path| reply(collection.served(path)))
}

#[test]
fn a_download_is_kept_in_the_cache() {
    let collection = Arc::new(Collection::new());
    let server = mirror(&collection, Reply::Body);
    let home = tempdir().unwrap();
    let cache = home.path().join("a").join("b");
    let mirrors = [&server.address[..]];
    let places = collection.places(&cache, &mirrors);

    let (digits, notices) = load_quietly(Source::Auto, &places);
    let digits = digits.unwrap();
    assert_eq!((digits.train, digits.test), digits::draw(FEW));
    assert_eq!(digits.origin, Origin::Mnist(cache.clone()));
    assert_eq!(notices, [format!("downloaded MNIST into {}", cache.display())]);
    let mut expected: Vec<_> = collection.files.map(|file| format!("{}.gz", file.name)).into();
    expected.sort();
    assert_eq!(names_in(&cache), expected);
    assert_eq!(server.requests(), 4);

    let (again, notices) = load_quietly(Source::Mnist, &places);
    assert_eq!(again.unwrap().train.len(), 5);
    assert!(notices.is_empty());
    assert_eq!(server.requests(), 4, "the cache was not used");

    // A file that was damaged since is fetched again, the others are not.
    let damaged = cache.join(format!("{}.gz", collection.files[2].name));
    fs::write(&damaged, b"damaged").unwrap();
    load_quietly(Source::Mnist, &places).0.unwrap();
    assert_eq!(server.requests(), 5);
    assert_eq!(fs::read(&damaged).unwrap(), gzipped(&collection.contents[2]));
}

#[test]
fn a_mirror_that_fails_is_replaced_and_not_asked_again() {
    let collection = Arc::new(Collection::new());
    let good = mirror(&collection, Reply::Body);
    let bad = [
        Server::new(|_| Reply::NotFound),
        mirror(&collection, Reply::Cut),
        // Another file than the one asked for, though well-formed.
        mirror(&collection, |file| Reply::Body(gzipped(&file))),
        Server::new(|_| Reply::Body(b"<html>Please log in to this network</html>".to_vec())),
    ];
    for server in bad {
        let cache = tempdir().unwrap();
        let mirrors = [&server.address[..], &good.address[..]];
        let digits = load_quietly(Source::Mnist, &collection.places(cache.path(), &mirrors)).0;
        assert_eq!(digits.unwrap().train.len(), 5);
        assert_eq!(server.requests(), 1);
    }
}

#[test]
fn a_bad_download_is_not_left_in_the_cache() {
    let collection = Arc::new(Collection::new());
    let replies: [fn(Vec<u8>) -> Reply; 2] = [Reply::Cut, |file| Reply::Body(gzipped(&file))];
    for reply in replies {
        let server = mirror(&collection, reply);
        let cache = tempdir().unwrap();
        let mirrors = [&server.address[..]];
        let places = collection.places(cache.path(), &mirrors);
        let error = load_quietly(Source::Mnist, &places).0.unwrap_err().to_string();
        assert!(error.starts_with("MNIST is not on this machine and can't be downloaded"));
        let host = server.address.trim_start_matches("http://").trim_end_matches('/');
        assert!(error.contains(host), "{error}");
        assert!(names_in(cache.path()).is_empty());

        let (digits, notices) = load_quietly(Source::Auto, &places);
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].starts_with("using the built-in digits, because"), "{notices:?}");
        assert!(!notices[0].contains('\n'));
    }
}

#[test]
fn a_network_that_does_not_answer_is_given_up_on() {
    let collection = Arc::new(Collection::new());
    let silent = [Server::new(|_| Reply::Silence), Server::new(|_| Reply::Silence)];
    let stuck = [mirror(&collection, Reply::Half), mirror(&collection, Reply::Half)];
    for (servers, said) in [(silent, "no answer within 0.5 s"), (stuck, "it broke off after")] {
        let cache = tempdir().unwrap();
        let mirrors = [&servers[0].address[..], &servers[1].address[..]];
        let patience = Duration::from_secs(1);
        let places = Places { patience, ..collection.places(cache.path(), &mirrors) };
        let started = Instant::now();
        let (digits, notices) = load_quietly(Source::Auto, &places);
        // Each mirror has its half of the patience; the rest is for a busy machine.
        assert!(started.elapsed() < 8 * patience, "{:?}", started.elapsed());
        assert_eq!(digits.unwrap().origin, Origin::Synthetic);
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains(said), "{notices:?}");
        assert_eq!(servers.map(|server| server.requests()), [1, 1]);
        assert!(names_in(cache.path()).is_empty());
    }
}

#[test]
fn a_file_that_the_server_unpacked_is_kept_without_gz() {
    let collection = Arc::new(Collection::new());
    let server = mirror(&collection, |file| Reply::Body(idx::unpacked(file).unwrap()));
    let cache = tempdir().unwrap();
    let mirrors = [&server.address[..]];
    let places = collection.places(cache.path(), &mirrors);
    load_quietly(Source::Mnist, &places).0.unwrap();
    load_quietly(Source::Mnist, &places).0.unwrap();
    assert_eq!(server.requests(), 4);
    assert!(names_in(cache.path()).iter().all(|name| !name.ends_with(".gz")));
}

#[test]
fn without_a_cache_the_digits_are_drawn() {
    let collection = Collection::new();
    let places = Places { cache: None, ..collection.places(Path::new(""), &[]) };
    let (digits, notices) = load_quietly(Source::Auto, &places);
    assert_eq!(digits.unwrap().origin, Origin::Synthetic);
    assert!(notices[0].contains("no cache folder"), "{notices:?}");
    // What can't be created is said too, before anything is downloaded.
    let file = tempfile::NamedTempFile::new().unwrap();
    let places = collection.places(&file.path().join("mnist"), &[]);
    let error = load_quietly(Source::Mnist, &places).0.unwrap_err().to_string();
    assert!(error.contains("can't create"), "{error}");
}

#[test]
fn every_spelling_of_the_files_is_found() {
    let collection = Collection::new();
    let spellings: [fn(&File) -> String; 4] = [
        |file| file.name.into(),
        |file| format!("{}.gz", file.name),
        |file| file.dotted.into(),
        |file| format!("{}.gz", file.dotted),
    ];
    for spelling in spellings {
        let folder = collection.folder(spelling);
        let digits =
            mnist::read_folder(folder.path(), &collection.files, Counts { train: 2, test: 9 });
        let digits = digits.unwrap();
        assert_eq!((digits.train.len(), digits.test.len()), (2, 3));
        assert_eq!(digits.origin.to_string(), format!("MNIST from {}", folder.path().display()));
    }
}

#[test]
fn what_is_wrong_with_a_folder_is_said_and_final() {
    let collection = Collection::new();
    let folder = collection.folder(|file| file.name.into());
    let path = |i: usize| folder.path().join(collection.files[i].name);
    let error = |source| {
        let places = Places {
            folder: Some(folder.path()),
            // Neither the cache nor the network takes the folder's place.
            ..collection.places(Path::new("unused"), &["http://127.0.0.1:1/"])
        };
        let (digits, notices) = load_quietly(source, &places);
        assert!(notices.is_empty());
        digits.unwrap_err().to_string()
    };
    let with = |i: usize, bytes: &[u8]| {
        fs::write(path(i), bytes).unwrap();
        let errors = [error(Source::Auto), error(Source::Mnist)];
        fs::write(path(i), &collection.contents[i]).unwrap();
        assert_eq!(errors[0], errors[1]);
        assert!(errors[0].contains(&path(i).display().to_string()), "{}", errors[0]);
        errors[0].clone()
    };
    let images = &collection.contents[0];
    let labels = &collection.contents[1];
    assert!(with(0, &images[..images.len() - 1]).contains("it is cut off: its header promises"));
    assert!(with(0, &gzipped(images)[..300]).contains("its gzip is bad"));
    assert!(with(0, labels).contains("an IDX file of images begins with 0x00000803"));
    assert!(with(1, &[&labels[..], &[0]].concat()).contains("it has bytes too many"));
    let mut eleven = labels.clone();
    eleven[10] = 11;
    assert!(with(1, &eleven).contains("label 2 is 11"));
    assert!(with(1, &collection.contents[3]).contains("holds 5 images"));
    assert!(with(3, labels).contains("holds 3 images"));
    let mut other = images.clone();
    other[100] ^= 1;
    let digest = with(0, &other);
    assert!(digest.contains("is not the file of MNIST"), "{digest}");
    assert!(digest.contains(collection.files[0].digest), "{digest}");

    fs::remove_file(path(2)).unwrap();
    let missing = error(Source::Auto);
    assert!(missing.contains("has no t10k-images-idx3-ubyte (nor t10k-images"), "{missing}");
    assert!(missing.contains("https://"), "{missing}");
    let absent = folder.path().join("absent");
    let places = Places { folder: Some(&absent), ..collection.places(&absent, &[]) };
    let error = load_quietly(Source::Auto, &places).0.unwrap_err().to_string();
    assert!(error.contains("absent does not exist"), "{error}");
}

#[test]
fn the_built_in_digits_need_no_folder() {
    let collection = Collection::new();
    let absent = Path::new("absent");
    let places = Places { folder: Some(absent), ..collection.places(absent, &[]) };
    let (digits, notices) = load_quietly(Source::Digits, &places);
    assert_eq!(digits.unwrap().origin.to_string(), "built-in digits");
    assert!(notices.is_empty());
}

/// Runs where the environment names MNIST's folder.
#[test]
fn the_published_files_are_accepted() {
    let Some(folder) = std::env::var_os("MNIST_DIR").map(PathBuf::from) else { return };
    let digits = load(Source::Mnist, Some(&folder), Counts::ALL, &mut |_| {}).unwrap();
    assert_eq!((digits.train.len(), digits.test.len()), (60_000, 10_000));
    assert_eq!(digits.train.labels()[..5], [5, 0, 4, 1, 9]);
    assert_eq!(digits.test.labels()[..5], [7, 2, 1, 0, 4]);
}

#[test]
fn names_are_read_as_they_are_written() {
    for source in Source::ALL {
        assert_eq!(source.to_string().parse(), Ok(source));
    }
    assert_eq!(
        "MNIST".parse::<Source>().unwrap_err().to_string(),
        "\"MNIST\" is not a source of images: choose one of auto, mnist, digits"
    );
}
