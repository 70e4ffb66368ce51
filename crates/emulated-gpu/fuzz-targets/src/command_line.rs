//! Fuzz target for the command line of `ptx-emulator`: one argument per line up to an empty line, then the PTX file
//! that replaces the argument `FILE`.

use std::ffi::OsString;

use clap::Parser;
use emulated_gpu_test_support::files;
use ptx_emulator::commands::program::Arguments;

/// The maximum number of blocks in a launch. Larger launches are valid, but could take forever.
const MAX_BLOCKS: u64 = 64;
const MAX_BYTES: u64 = 1 << 20;
const MAX_INSTRUCTIONS: u64 = 20_000;

/// Runs a command line.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some((arguments, file)) = text.split_once("\n\n") else { return };
    let path = files::file("command.ptx", file.as_bytes());
    let mut words: Vec<String> = arguments.lines().map(ToOwned::to_owned).collect();
    // Rejects paths with a slash, so that no other files and devices of this machine are read.
    if words.iter().any(|word| word.contains('/')) || !is_small(&mut words) {
        return;
    }
    let words = words.iter().map(|word| match word.as_str() {
        "FILE" => path.clone().into_os_string(),
        word => OsString::from(word.replace("@FILE", &format!("@{}", path.display()))),
    });
    let program = OsString::from("ptx-emulator");
    match Arguments::try_parse_from(std::iter::once(program).chain(words)) {
        Ok(arguments) => assert!(arguments.execute() <= 2),
        Err(error) => assert!(!error.render().ansi().to_string().is_empty()),
    }
}

/// Whether the command ends soon. If it has no instruction limit, one is added.
fn is_small(words: &mut Vec<String>) -> bool {
    let value = |name: &str| {
        words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
            "" => words.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        })
    };
    let product =
        |shape: &str| shape.split(',').map(|n| n.parse().unwrap_or(0)).fold(1, u64::saturating_mul);
    let slow_grid = value("--grid").map(product).is_some_and(|blocks| blocks > MAX_BLOCKS);
    let limit = value("--limit").map(|limit| limit.parse().unwrap_or(0));
    let slow = limit.is_some_and(|limit: u64| limit > MAX_INSTRUCTIONS);
    // Rejects large buffers, because they are either refused or take a long time.
    let large = words.iter().any(|word| {
        let count = word.split_once('[').and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
        count.is_some_and(|count: u64| (MAX_BYTES..1 << 31).contains(&count))
    });
    let launches = words.first().is_some_and(|word| ["run", "trace", "profile"].contains(&&**word));
    if launches && limit.is_none() {
        words.insert(1, format!("--limit={MAX_INSTRUCTIONS}"));
    }
    !(slow_grid || slow || large)
}
