//! The driver's identity, which NVIDIA's runtime library checks: a keyed digest of the driver's version, the process,
//! the thread, the time, the addresses of some tables, and the cards. The caller computes the same digest and compares.
//! The project ZLUDA found out and published the digest's input (`dark_api`); the digest function is that of RFC 1319
//! and RFC 2104. The cards' identifiers in the input are not forged: they show that the cards are emulated.

#![allow(unsafe_code, reason = "calls the C library for the thread's identifier")]

use crate::abi::error::Result;
use crate::api::device::count;
use crate::api::driver::VERSION;
use crate::api::export_table::md2::hmac;
use crate::device;

/// The key of the digest.
const KEY: [u8; 16] = 0x146a_ddae_53a9_a752_aa08_4136_0bf5_5a9f_u128.to_be_bytes();
/// The answers to the first two requests, which are constant.
const FIXED: [[u64; 2]; 2] = [
    [0x3341_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
    [0x1841_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
];

/// Addresses that the caller got from `cuGetExportTable`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableAddresses {
    /// The table for the runtime library (`CUDART_INTERFACE`).
    pub(crate) runtime: usize,
    /// The table that contains the function which asks for the identity.
    pub(crate) identity: usize,
    /// That function.
    pub(crate) function: usize,
}

/// The answer, two words, to the question whose number is the last digit of `version`.
///
/// # Errors
/// `NOT_INITIALIZED` if the driver is not initialised.
pub(crate) fn answer(version: u32, seconds: u64, addresses: &TableAddresses) -> Result<[u64; 2]> {
    if let Some(fixed) = FIXED.get((version % 10) as usize) {
        return Ok(*fixed);
    }
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::pthread_self() } as u32;
    let cards = 0..count()? as i32;
    let cards: Vec<_> = cards.map(|card| (device::uuid(card), device::pci_address(card))).collect();
    Ok(words(hmac(
        KEY,
        &message(version, seconds, (std::process::id(), thread), addresses, &cards),
    )))
}

/// The input of the digest, in C's layout.
fn message(
    version: u32,
    seconds: u64,
    (process, thread): (u32, u32),
    addresses: &TableAddresses,
    cards: &[([u8; 16], [i32; 3])],
) -> Vec<u8> {
    let mut message = Vec::new();
    for number in [VERSION as u32, version, process, thread] {
        message.extend(number.to_ne_bytes());
    }
    for address in [addresses.runtime, addresses.identity, addresses.function] {
        message.extend(address.to_ne_bytes());
    }
    message.extend(seconds.to_ne_bytes());
    for (uuid, pci_address) in cards {
        message.extend(uuid);
        pci_address.iter().for_each(|number| message.extend(number.to_ne_bytes()));
    }
    message
}

fn words(digest: [u8; 16]) -> [u64; 2] {
    let word = |at: usize| {
        let bytes = digest.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_ne_bytes(bytes.unwrap_or_default())
    };
    [word(0), word(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_contains_all_inputs() {
        let addresses = TableAddresses { runtime: 1, identity: 2, function: 3 };
        let cards = [([9; 16], [4, 5, 6])];
        let message = message(12_092, 7, (10, 11), &addresses, &cards);
        // The input consists of four words, three addresses, the time, and 28 bytes per card.
        assert_eq!(message.len(), 16 + 24 + 8 + 28);
        assert_eq!(message[..8], [VERSION as u32, 12_092].map(u32::to_ne_bytes).concat()[..]);
        assert_eq!(message[16..24], 1usize.to_ne_bytes());
        assert_eq!(message[40..48], 7u64.to_ne_bytes());
        assert_eq!(message[48..64], [9; 16]);
        assert_eq!(message[72..], 6i32.to_ne_bytes());
    }

    #[test]
    fn a_digest_is_read_as_two_words() {
        let mut digest = [0; 16];
        (digest[0], digest[8]) = (1, 2);
        assert_eq!(
            words(digest),
            [
                u64::from_ne_bytes([1, 0, 0, 0, 0, 0, 0, 0]),
                u64::from_ne_bytes([2, 0, 0, 0, 0, 0, 0, 0])
            ]
        );
    }
}
