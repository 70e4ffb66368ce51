//! The download of MNIST: each file is fetched once, checked, and kept in the user's cache.
//!
//! The program `curl` does the transfers. It comes with Windows, macOS and most Linux systems, and knows their proxies
//! and certificates. An HTTPS client written in Rust would take longer to compile than level 1.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host::file::write_atomically;
use indicatif::{ProgressBar, ProgressStyle};

use crate::idx;
use crate::mnist::{File, FileContent};

/// Base URLs of servers with MNIST's gzipped files.
pub(crate) const MIRRORS: [&str; 2] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
];

/// The maximum number of bytes to download. The largest of the gzipped files has 10 MB.
const MAX_BYTES: u64 = 1 << 26;
/// The maximum time to download one file, in seconds.
const MAX_SECONDS: &str = "600";
/// The beginning of `curl`'s messages about a malformed proxy, which may contain a password.
const BAD_PROXY: &str = "Unsupported proxy";

/// Downloads files from the first mirror that works.
pub(crate) struct Downloader {
    /// The mirrors that have not failed yet. The first one is used.
    mirrors: Vec<String>,
    /// The time that is left for waiting for mirrors that do not answer: one budget for all files and mirrors.
    max_wait: Duration,
    proxy: Option<String>,
    /// The hosts that failed, and the reason. Consecutive mirrors with the same reason are one entry.
    failures: Vec<(String, String)>,
}

impl Downloader {
    /// A downloader that tries the mirrors in this order. Over all files and mirrors, it waits at most `max_wait` for
    /// answers that do not come. A `proxy` overrides the proxy in the environment; an empty text means no proxy.
    pub(crate) fn new(mirrors: &[&str], max_wait: Duration, proxy: Option<&str>) -> Self {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        Self { mirrors, max_wait, proxy: proxy.map(str::to_owned), failures: Vec::new() }
    }

    /// Downloads a file, checks its digest, and then writes it to the folder. A mirror that fails in any way is not
    /// used again.
    ///
    /// # Errors
    /// If all mirrors have failed (the error has the reason for each), or the file can't be written.
    pub(crate) fn fetch(&mut self, file: &File, folder: &Path) -> Result<FileContent, String> {
        while let Some(mirror) = self.mirrors.first() {
            // Each mirror gets an equal share of the time, so that a mirror that hangs leaves time for the others.
            let share = self.max_wait / u32::try_from(self.mirrors.len()).unwrap_or(u32::MAX);
            let url = format!("{mirror}{}.gz", file.name);
            let started = Instant::now();
            match fetch_checked(&url, file, share, self.proxy.as_deref()) {
                Ok((packed, content)) => return store(file, folder, &packed, content),
                Err(reason) => {
                    self.max_wait = self.max_wait.saturating_sub(started.elapsed().min(share));
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

/// Writes a downloaded file to the folder.
fn store(
    file: &File,
    folder: &Path,
    packed: &[u8],
    content: FileContent,
) -> Result<FileContent, String> {
    // The server may have sent the file decompressed; then the name gets no `.gz`.
    let suffix = if idx::is_gzipped(packed) { ".gz" } else { "" };
    let path = folder.join(format!("{}{suffix}", file.name));
    write_atomically::<std::io::Error>(&path, |writer| writer.write_all(packed))
        .map_err(|error| format!("can't write {}: {error}", host::shown(&path)))?;
    Ok(FileContent { path, ..content })
}

/// Downloads a file. Returns the bytes as downloaded, and the decompressed file, which has the published digest.
fn fetch_checked(
    url: &str,
    file: &File,
    max_wait: Duration,
    proxy: Option<&str>,
) -> Result<(Vec<u8>, FileContent), String> {
    let packed = download(url, file, max_wait, proxy)?;
    let bytes = idx::unpacked(&packed[..]).map_err(|error| error.to_string())?;
    let content = FileContent::new(url.into(), bytes);
    if content.digest == file.digest {
        Ok((packed, content))
    } else {
        let (name, expected, found) = (file.name, file.digest, content.digest);
        Err(format!("its decompressed {name} has the SHA-256 {found}, not {expected}"))
    }
}

/// Downloads the bytes at an address. A bar on the terminal shows the progress.
///
/// # Errors
/// If `curl` fails, or the server sends nothing for `max_wait`. The error is `curl`'s message.
fn download(
    url: &str,
    file: &File,
    max_wait: Duration,
    proxy: Option<&str>,
) -> Result<Vec<u8>, String> {
    let protocol = if url.starts_with("https:") { "=https" } else { "=http" };
    let seconds = max_wait.as_secs().max(1).to_string();
    let mut curl = Command::new("curl")
        // `--disable` ignores the user's configuration file, which could write the download elsewhere.
        .args(["--disable", "--fail", "--location", "--silent", "--show-error"])
        .args(["--proto", protocol, "--connect-timeout", &seconds, "--max-time", MAX_SECONDS])
        .args(["--speed-limit", "1", "--speed-time", &seconds])
        .args(proxy.map(|proxy| ["--proxy", proxy]).into_iter().flatten())
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("can't start curl, which downloads it: {error}"))?;
    let style = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}";
    // A bar is only drawn on a terminal.
    let bar = ProgressBar::new(file.packed_bytes).with_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(format!("downloading {}", file.name));
    let mut bytes = Vec::new();
    // Reads from a pipe that is closed after this statement, so that `curl` ends if the limit was reached.
    let read =
        curl.stdout.take().map(|out| bar.wrap_read(out.take(MAX_BYTES)).read_to_end(&mut bytes));
    bar.finish_and_clear();
    let ended = read.transpose().and_then(|_| curl.wait_with_output());
    let reason = match ended {
        Ok(output) if output.status.success() => return Ok(bytes),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    if reason.contains(BAD_PROXY) {
        return Err(
            "the proxy that the environment names can't be used; correct or unset it".into()
        );
    }
    match bytes.len() {
        0 => Err(reason),
        count => Err(format!("it broke off after {count} bytes: {reason}")),
    }
}
