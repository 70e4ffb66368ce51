//! Loading fatbins through the driver's functions. The tests of `device-image` try damaged fatbins.

use std::ffi::CString;

use crate::support::*;

/// Makes a fatbin with one uncompressed entry, in the layout that nvcc uses; if the text is empty, the fatbin has no
/// entry.
pub(crate) fn fatbin(text: &[u8]) -> Vec<u8> {
    let padded = text.len().next_multiple_of(8);
    let entries = if text.is_empty() { 0 } else { 80 + padded as u64 };
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend(entries.to_le_bytes());
    if text.is_empty() {
        return bytes;
    }
    bytes.extend([1, 0, 1, 1, 80, 0, 0, 0]);
    bytes.extend((padded as u64).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 7, 0, 80, 0, 0, 0]);
    bytes.extend([0; 48]);
    bytes.extend(text);
    bytes.resize(96 + padded, 0);
    bytes
}

#[test]
fn fatbins_are_loaded_from_memory_and_from_files() {
    let _context = own_context();
    let image = fatbin(INCREMENT.as_bytes());
    let mut module = 0usize;
    let empty = fatbin(&[]);
    returns!(code::NO_BINARY_FOR_GPU, cuModuleLoadData(&raw mut module, empty.as_ptr()));
    ok!(cuModuleLoadFatBinary(&raw mut module, image.as_ptr()));
    let data = allocate(4);
    ok!(cuMemsetD32_v2(data, 5u32, 1usize));
    assert_eq!(launch(function(module, "increment"), (1, 1), 0, &[data, 1]), 0);
    assert_eq!(read(data, 1), [6]);
    // Loads the fatbin as a library, through the wrapper structure of a host compiler.
    let wrapper = [0x4662_43b1u64 | 1 << 32, image.as_ptr() as u64, 0];
    let library = output!(cuLibraryLoadData(
        -> usize, wrapper.as_ptr() => *const u64, 0 => usize, 0 => usize, 0 => u32, 0 => usize,
        0 => usize, 0 => u32
    ));
    ok!(cuLibraryUnload(library));
    let path = std::env::temp_dir().join(format!("four-levels-{}.fatbin", std::process::id()));
    std::fs::write(&path, &image).unwrap();
    let name = CString::new(path.to_str().unwrap()).unwrap();
    ok!(cuModuleLoad(&raw mut module, name.as_ptr()));
    // A fatbin whose stated length exceeds the file.
    std::fs::write(&path, &image[..image.len() - 8]).unwrap();
    returns!(code::INVALID_IMAGE, cuModuleLoad(&raw mut module, name.as_ptr()));
    std::fs::remove_file(&path).unwrap();
}
