//! MNIST from the network: fetched once, checked, and kept in the user's cache.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tensor::file::write_atomically;
use ureq::{Agent, Body, Proxy, http::Response};

use crate::idx;
use crate::mnist::{Content, File};

/// Where MNIST's files are published, gzipped.
pub(crate) const MIRRORS: [&str; 2] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
];

/// The largest of the gzipped files has 10 MB.
const MOST_BYTES: u64 = 1 << 26;
/// A connection that does answer, and then needs longer for one file, is of no use.
const LONGEST_BODY: Duration = Duration::from_secs(600);

/// Fetches files from whichever mirror works.
pub(crate) struct Downloader {
    /// The mirrors that have not failed yet; the first is asked.
    mirrors: Vec<String>,
    /// How long mirrors that say nothing may still be waited for, all of them together.
    patience: Duration,
    proxy: Option<Proxy>,
    /// Which mirrors failed, and why; those that failed alike stand together.
    failures: Vec<(String, String)>,
}

impl Downloader {
    /// Asks the mirrors in this order, and waits no longer than `patience` in total, over all
    /// files and mirrors, for an answer that does not come.
    pub(crate) fn new(mirrors: &[&str], patience: Duration, proxy: Option<Proxy>) -> Self {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        Self { mirrors, patience, proxy, failures: Vec::new() }
    }

    /// Downloads a file, checks its digest, and only then puts it into the folder. A mirror that
    /// fails in any way is not asked again.
    ///
    /// # Errors
    /// When no mirror is left, with what each of them did, or when the file can't be written.
    pub(crate) fn fetch(&mut self, file: &File, folder: &Path) -> Result<Content, String> {
        while let Some(mirror) = self.mirrors.first() {
            // A mirror that hangs leaves its share of the time to those after it.
            let share = self.patience / u32::try_from(self.mirrors.len()).unwrap_or(u32::MAX);
            let url = format!("{mirror}{}.gz", file.name);
            let started = Instant::now();
            match fetch_checked(&url, file, share, self.proxy.clone()) {
                Ok((packed, content)) => return store(file, folder, &packed, content),
                Err(reason) => {
                    self.patience = self.patience.saturating_sub(started.elapsed().min(share));
                    let host = mirror.split('/').nth(2).unwrap_or(mirror);
                    match self.failures.last_mut() {
                        Some((hosts, same)) if *same == reason => *hosts += &format!(", {host}"),
                        _ => self.failures.push((host.to_owned(), reason)),
                    }
                    self.mirrors.remove(0);
                }
            }
        }
        let failures = self.failures.iter().map(|(hosts, reason)| format!("{hosts}: {reason}"));
        Err(failures.collect::<Vec<_>>().join("; "))
    }
}

/// Puts what was downloaded into the folder.
fn store(file: &File, folder: &Path, packed: &[u8], content: Content) -> Result<Content, String> {
    // A server may have unpacked the file on the way.
    let suffix = if idx::is_gzipped(packed) { ".gz" } else { "" };
    let path = folder.join(format!("{}{suffix}", file.name));
    write_atomically::<std::io::Error>(&path, |writer| writer.write_all(packed))
        .map_err(|error| format!("can't write {}: {error}", path.display()))?;
    Ok(Content { path, ..content })
}

/// The file as it came, and unpacked; the latter has the published digest.
fn fetch_checked(
    url: &str,
    file: &File,
    patience: Duration,
    proxy: Option<Proxy>,
) -> Result<(Vec<u8>, Content), String> {
    let packed = body(request(url, patience, proxy)?, file.name)?;
    let bytes = idx::unpacked(packed.clone()).map_err(|error| error.to_string())?;
    let content = Content::new(url.into(), bytes);
    if content.digest == file.digest {
        Ok((packed, content))
    } else {
        let (name, expected, found) = (file.name, file.digest, content.digest);
        Err(format!("its {name} has the SHA-256 {found}, unpacked, and not {expected}"))
    }
}

/// Asks for a file, and waits until the answer begins.
fn request(url: &str, patience: Duration, proxy: Option<Proxy>) -> Result<Response<Body>, String> {
    let agent: Agent = Agent::config_builder()
        .proxy(proxy)
        .https_only(url.starts_with("https:"))
        .timeout_resolve(Some(patience))
        .timeout_connect(Some(patience))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .timeout_recv_body(Some(LONGEST_BODY))
        .build()
        .into();
    // Each stage above may take the whole time, so the sum is watched from here. A thread that is
    // no longer waited for ends by those limits.
    let (sender, receiver) = mpsc::channel();
    let address = url.to_owned();
    thread::spawn(move || {
        // Nobody listens any more where the answer came too late.
        drop(sender.send(agent.get(address).call()));
    });
    match receiver.recv_timeout(patience) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {:.1} s", patience.as_secs_f64())),
    }
}

/// Reads the answer, with a progress bar on a terminal.
fn body(answer: Response<Body>, name: &str) -> Result<Vec<u8>, String> {
    let length = answer.body().content_length();
    let style = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}";
    // A bar draws itself only on a terminal.
    let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new).with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(format!("downloading {name}"));
    let body = answer.into_body().into_with_config().limit(MOST_BYTES).reader();
    let mut bytes = Vec::new();
    let read = bar.wrap_read(body).read_to_end(&mut bytes);
    bar.finish_and_clear();
    read.map_err(|error| format!("it broke off after {} bytes: {error}", bytes.len()))?;
    Ok(bytes)
}
