//! A program that depends on this crate for the library's path must not have the driver linked into it as well.

#![cfg(target_os = "linux")]

/// The names in a symbol table of a 64-bit ELF file. `table` is the type of the table's section: 2 (`.symtab`), or 11
/// (`.dynsym`), which the loader uses (System V ABI, "Sections", "Symbol Table").
fn symbols(file: &[u8], table: u32) -> Vec<String> {
    let number = |at: usize, size: usize| {
        let bytes = file[at..at + size].iter().rev();
        bytes.fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(&file[..5], b"\x7fELF\x02");
    let (headers, size, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let section = |index: usize| headers + index * size;
    let header = (0..count).map(section).find(|at| number(at + 4, 4) == table as usize).unwrap();
    let (start, len, texts) =
        (number(header + 24, 8), number(header + 32, 8), number(header + 40, 4));
    let texts = number(section(texts) + 24, 8);
    let name = |symbol: usize| {
        let text = &file[texts + number(start + symbol * 24, 4)..];
        let end = text.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8_lossy(&text[..end]).into_owned()
    };
    (0..len / 24).map(name).collect()
}

#[test]
fn a_program_that_requests_the_path_does_not_link_the_driver() {
    let library = std::fs::read(emulated_cuda::library_path().unwrap()).unwrap();
    let exported = symbols(&library, 11);
    let exported: Vec<_> = exported
        .iter()
        .filter(|name| name.starts_with("cu") || name.starts_with("emulatedGpu"))
        .collect();
    assert!(exported.len() > 250, "the library exports only {}", exported.len());
    for name in ["cuInit", "cuLaunchKernel", "cuMemAlloc_v2", "emulatedGpuDeclareAccess"] {
        assert!(exported.iter().any(|other| *other == name), "the library lacks {name}");
    }
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let defined = symbols(&program, 2);
    assert!(defined.iter().any(|name| name == "main"), "the program's symbols were not found");
    let twice: Vec<_> = exported.iter().filter(|name| defined.contains(name)).collect();
    assert!(twice.is_empty(), "linked into the program: {twice:?}");
}

#[test]
fn the_library_has_the_soname_of_nvidias_driver() {
    let library = std::fs::read(emulated_cuda::library_path().unwrap()).unwrap();
    let name = b"libcuda.so\0";
    assert!(
        library.windows(name.len()).any(|window| window == name),
        "there is no SONAME libcuda.so"
    );
}
