//! Tests with generated fatbins: intact ones, truncated ones, and ones with a wrong byte at each
//! place.

use super::*;

const TEXT: &str = include_str!("tests.ptx");
/// The text `TEXT`, compressed by the zstd program (`zstd -19`).
const PACKED: &[u8] = include_bytes!("tests.ptx.zst");

fn entry(kind: u16, capability: u32, flags: u64, payload: &[u8], unpacked: usize) -> Vec<u8> {
    let padded = payload.len().next_multiple_of(8);
    let packed = if flags & (LZ4 | ZSTD) == 0 { 0 } else { payload.len() as u32 };
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(0x101u16.to_le_bytes());
    bytes.extend(80u32.to_le_bytes());
    bytes.extend((padded as u64).to_le_bytes());
    bytes.extend(packed.to_le_bytes());
    bytes.extend(64u32.to_le_bytes());
    bytes.extend([0, 0, 8, 0]);
    bytes.extend(capability.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend((flags | 0x11).to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend((unpacked as u64).to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(payload);
    bytes.resize(80 + padded, 0);
    bytes
}

fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

fn packed_by_lz4() -> Vec<u8> {
    lz4_flex::block::compress(TEXT.as_bytes())
}

/// The text uncompressed, and compressed in both ways.
fn texts() -> [Vec<u8>; 3] {
    [
        entry(PTX, 80, 0, TEXT.as_bytes(), 0),
        entry(PTX, 80, LZ4, &packed_by_lz4(), TEXT.len()),
        entry(PTX, 80, ZSTD, PACKED, TEXT.len()),
    ]
}

#[test]
fn plain_and_compressed_texts_are_extracted() {
    for one in texts() {
        let text = extract_ptx(&container(&[entry(MACHINE_CODE, 90, 0, &[1; 24], 0), one]), 90);
        assert_eq!(text.unwrap(), TEXT);
    }
}

#[test]
fn newest_supported_architecture_is_chosen() {
    let text_for = |capability: u32| {
        entry(PTX, capability, 0, format!(".version 8.0 // {capability}").as_bytes(), 0)
    };
    let whole = container(&[text_for(70), text_for(90), text_for(80), text_for(100)]);
    assert!(extract_ptx(&whole, 90).unwrap().ends_with("90"));
    assert!(extract_ptx(&whole, 86).unwrap().ends_with("80"));
    let refusal = extract_ptx(&whole, 60).unwrap_err();
    assert!(
        matches!(&refusal, FatbinError::NoPtx(log) if log.contains("compute_70, compute_90")),
        "{refusal}"
    );
}

#[test]
fn machine_code_without_ptx_is_rejected_with_advice() {
    let refusal =
        extract_ptx(&container(&[entry(MACHINE_CODE, 90, 0, &[1; 24], 0)]), 90).unwrap_err();
    let asks = "-gencode arch=compute_90,code=compute_90";
    assert!(matches!(&refusal, FatbinError::NoPtx(log) if log.contains(asks)), "{refusal}");
    assert!(matches!(extract_ptx(&container(&[]), 90), Err(FatbinError::NoPtx(_))));
}

#[test]
fn truncated_fatbins_are_rejected() {
    for one in texts() {
        let whole = container(&[one]);
        for len in 0..whole.len() {
            let refusal = extract_ptx(&whole[..len], 90).unwrap_err();
            assert!(matches!(refusal, FatbinError::Damaged(_)), "{len} bytes: {refusal}");
        }
    }
    let lz4 = packed_by_lz4();
    for (flag, packed) in [(LZ4, lz4.as_slice()), (ZSTD, PACKED)] {
        for len in 0..packed.len() {
            let whole = container(&[entry(PTX, 80, flag, &packed[..len], TEXT.len())]);
            assert!(extract_ptx(&whole, 90).is_err(), "{len} of {} bytes", packed.len());
        }
    }
}

#[test]
fn no_wrong_byte_causes_a_panic() {
    for one in texts() {
        let whole = container(&[one]);
        for at in 0..whole.len() {
            for wrong in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = wrong;
                // The result may be a text or an error: a changed byte inside the text can't be
                // detected.
                let _ = extract_ptx(&damaged, 90);
            }
        }
    }
}

#[test]
fn huge_lengths_allocate_no_memory() {
    for flag in [LZ4, ZSTD] {
        let whole = container(&[entry(PTX, 80, flag, &packed_by_lz4(), usize::MAX)]);
        let refusal = extract_ptx(&whole, 90).unwrap_err();
        assert!(refusal.to_string().contains("the limit is"), "{refusal}");
    }
    let mut header: [u8; HEADER] = container(&[]).try_into().unwrap();
    assert_eq!(length(&header), Ok(HEADER));
    header[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    let refusal = length(&header).unwrap_err();
    assert!(refusal.to_string().contains("the limit is"), "{refusal}");
    header[0] = 0;
    assert!(matches!(length(&header), Err(FatbinError::Damaged(_))));
}

#[test]
fn written_fatbins_have_the_stated_length_and_are_read_back() {
    for text in [".version 8.0", ".version 8.0 //", ".version 8.0 // 7", ".version 8.0 // 8"] {
        let image = from_ptx(text.as_bytes(), 80);
        assert_eq!(length(image.first_chunk().unwrap()), Ok(image.len()));
        assert_eq!(image.last(), Some(&0));
        assert!(is_fatbin(&image) && !is_fatbin(text.as_bytes()));
        assert_eq!(extract_ptx(&image, 90).unwrap(), text);
        assert!(matches!(extract_ptx(&image, 75), Err(FatbinError::NoPtx(_))));
    }
}
