//! Writes the built-in digits as four IDX files, named as MNIST's, for programs that are not
//! Rust:
//!
//! ```text
//! cargo run -p data --example write_digits -- FOLDER [TRAIN TEST]
//! ```

use std::io;
use std::path::Path;
use std::process::ExitCode;

use data::{Counts, Images, Source};
use host::file::write_atomically;

fn main() -> ExitCode {
    host::main(run)
}

fn run() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into_owned()).collect();
    let number = |text: &String| text.parse::<usize>().ok();
    let (folder, counts) = match arguments.as_slice() {
        [folder] => (folder, Some(Counts::ALL)),
        [folder, train, test] => {
            (folder, number(train).zip(number(test)).map(|(train, test)| Counts { train, test }))
        }
        _ => {
            host::complain("usage: write_digits FOLDER [TRAIN TEST]");
            return ExitCode::from(2);
        }
    };
    let Some(counts) = counts else {
        host::complain("TRAIN and TEST are numbers of images");
        return ExitCode::from(2);
    };
    match write(Path::new(folder), counts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            host::complain(format_args!(
                "can't write the digits into {}: {error}",
                host::shown(folder)
            ));
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path, counts: Counts) -> io::Result<()> {
    let started = std::time::Instant::now();
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).map_err(io::Error::other)?;
    host::print(&format!(
        "drew {} + {} digits in {:.2?}\n",
        digits.train.len(),
        digits.test.len(),
        started.elapsed()
    ))?;
    std::fs::create_dir_all(folder)?;
    write_set(folder, "train", &digits.train)?;
    write_set(folder, "t10k", &digits.test)
}

fn write_set(folder: &Path, set: &str, images: &Images) -> io::Result<()> {
    // An IDX header: the magic number (element type and number of axes), then the axes' lengths.
    let header = |magic: u32, lengths: &[usize]| -> io::Result<Vec<u8>> {
        let mut bytes = magic.to_be_bytes().to_vec();
        for &length in lengths {
            bytes.extend(u32::try_from(length).map_err(io::Error::other)?.to_be_bytes());
        }
        Ok(bytes)
    };
    let pixels = header(0x0803, &[images.len(), images.height(), images.width()])?;
    let labels = header(0x0801, &[images.len()])?;
    write_atomically(&folder.join(format!("{set}-images-idx3-ubyte")), |writer| {
        writer.write_all(&pixels)?;
        writer.write_all(images.pixels())
    })?;
    write_atomically(&folder.join(format!("{set}-labels-idx1-ubyte")), |writer| {
        writer.write_all(&labels)?;
        writer.write_all(images.labels())
    })
}
