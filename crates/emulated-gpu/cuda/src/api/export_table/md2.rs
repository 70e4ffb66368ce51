//! The message digest MD2 (RFC 1319), and HMAC (RFC 2104) on it, with which NVIDIA's runtime library identifies a
//! driver. MD2 is broken, and isn't used for security here.

/// The length in bytes of a block, of a digest and of a key.
pub(crate) const BLOCK_BYTES: usize = 16;

/// The permutation of all byte values in RFC 1319, section 3.2, which is derived from the digits of π.
const PERMUTATION: [u8; 256] = [
    41, 46, 67, 201, 162, 216, 124, 1, 61, 54, 84, 161, 236, 240, 6, 19, 98, 167, 5, 243, 192, 199,
    115, 140, 152, 147, 43, 217, 188, 76, 130, 202, 30, 155, 87, 60, 253, 212, 224, 22, 103, 66,
    111, 24, 138, 23, 229, 18, 190, 78, 196, 214, 218, 158, 222, 73, 160, 251, 245, 142, 187, 47,
    238, 122, 169, 104, 121, 145, 21, 178, 7, 63, 148, 194, 16, 137, 11, 34, 95, 33, 128, 127, 93,
    154, 90, 144, 50, 39, 53, 62, 204, 231, 191, 247, 151, 3, 255, 25, 48, 179, 72, 165, 181, 209,
    215, 94, 146, 42, 172, 86, 170, 198, 79, 184, 56, 210, 150, 164, 125, 182, 118, 252, 107, 226,
    156, 116, 4, 241, 69, 157, 112, 89, 100, 113, 135, 32, 134, 91, 207, 101, 230, 45, 168, 2, 27,
    96, 37, 173, 174, 176, 185, 246, 28, 70, 97, 105, 52, 64, 126, 15, 85, 71, 163, 35, 221, 81,
    175, 58, 195, 92, 249, 206, 186, 197, 234, 38, 44, 83, 13, 110, 133, 40, 132, 9, 211, 223, 205,
    244, 65, 129, 77, 82, 106, 220, 55, 200, 108, 193, 171, 250, 36, 225, 123, 8, 12, 189, 177, 74,
    120, 136, 149, 139, 227, 99, 232, 109, 233, 203, 213, 254, 59, 0, 29, 57, 242, 239, 183, 14,
    102, 88, 208, 228, 166, 119, 114, 248, 235, 117, 75, 10, 49, 68, 80, 180, 143, 237, 31, 26,
    219, 153, 141, 51, 159, 17, 131, 20,
];

fn permuted(byte: u8) -> u8 {
    PERMUTATION[usize::from(byte)]
}

/// The digest of a message.
pub(crate) fn digest(message: &[u8]) -> [u8; BLOCK_BYTES] {
    // Section 3.1: the message is padded to whole blocks with n bytes of value n.
    let missing = BLOCK_BYTES - message.len() % BLOCK_BYTES;
    let mut padded = message.to_vec();
    padded.resize(message.len() + missing, missing as u8);
    // Section 3.2: the checksum is appended as one more block.
    let (mut checksum, mut last) = ([0; BLOCK_BYTES], 0);
    for block in padded.chunks_exact(BLOCK_BYTES) {
        for (sum, byte) in checksum.iter_mut().zip(block) {
            *sum ^= permuted(byte ^ last);
            last = *sum;
        }
    }
    padded.extend(checksum);
    // Sections 3.3 to 3.5: the digest of all blocks.
    let mut state = [0u8; 3 * BLOCK_BYTES];
    for block in padded.chunks_exact(BLOCK_BYTES) {
        for (at, byte) in block.iter().enumerate() {
            state[BLOCK_BYTES + at] = *byte;
            state[2 * BLOCK_BYTES + at] = byte ^ state[at];
        }
        let mut carried = 0u8;
        for round in 0..18 {
            for byte in &mut state {
                *byte ^= permuted(carried);
                carried = *byte;
            }
            carried = carried.wrapping_add(round);
        }
    }
    std::array::from_fn(|at| state[at])
}

/// The HMAC of a message, for a key as long as a block.
pub(crate) fn hmac(key: [u8; BLOCK_BYTES], message: &[u8]) -> [u8; BLOCK_BYTES] {
    let padded_digest = |pad: u8, message: &[u8]| {
        let mut whole: Vec<u8> = key.iter().map(|byte| byte ^ pad).collect();
        whole.extend(message);
        digest(&whole)
    };
    padded_digest(0x5c, &padded_digest(0x36, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(bytes: [u8; BLOCK_BYTES]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_match_rfc_1319() {
        // The examples of RFC 1319, appendix A.5.
        for (message, expected) in [
            ("", "8350e5a3e24c153df2275c9f80692773"),
            ("a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"),
            ("abc", "da853b0d3f88d99b30283a69e6ded6bb"),
            ("message digest", "ab4f496bfb2a530b219ff33031fe06b0"),
            ("abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"),
        ] {
            assert_eq!(hexadecimal(digest(message.as_bytes())), expected, "{message}");
        }
    }

    #[test]
    fn hmac_matches_its_definition() {
        let (key, message) = ([7; BLOCK_BYTES], b"message");
        let inner = digest(&[&[7 ^ 0x36; BLOCK_BYTES], message.as_slice()].concat());
        let outer = digest(&[&[7 ^ 0x5c; BLOCK_BYTES], inner.as_slice()].concat());
        assert_eq!(hmac(key, message), outer);
    }
}
