//! Tests of inputs of each form, declared to be of each kind.

use super::*;

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn options(written: &[&str]) -> LinkOptions {
    LinkOptions::read(&written.iter().map(|&one| one.to_owned()).collect::<Vec<_>>()).unwrap()
}

fn plain() -> LinkOptions {
    options(&["-arch=sm_80"])
}

fn lto() -> LinkOptions {
    options(&["-arch=sm_80", "-lto"])
}

#[test]
fn ptx_and_fatbins_are_read_as_what_they_are_and_as_anything() {
    let fatbin = fatbin::from_ptx(PTX.as_bytes(), 80);
    for (kind, bytes) in
        [(2, PTX.as_bytes()), (10, PTX.as_bytes()), (4, &fatbin), (10, &fatbin), (1, &fatbin)]
    {
        let input = read(kind, bytes, "one", &plain()).unwrap();
        assert_eq!(input, Input::Text(PTX.to_owned(), false), "{kind}");
    }
    let input = read(3, &fatbin, "one", &lto()).unwrap();
    assert_eq!(input, Input::Text(PTX.to_owned(), true));
    // C strings end at the first zero.
    let ended = [PTX.as_bytes(), b"\0trash\xff"].concat();
    assert_eq!(read(2, &ended, "one", &plain()), Ok(Input::Text(PTX.to_owned(), false)));
}

#[test]
fn what_is_not_what_it_is_said_to_be_is_refused() {
    let fatbin = fatbin::from_ptx(PTX.as_bytes(), 80);
    let forms: [(&[u8], &[i32]); 5] = [
        (PTX.as_bytes(), &[2, 10]),
        (&fatbin, &[1, 3, 4, 10]),
        (b"\x7fELF and so on", &[1, 5, 10]),
        (b"!<arch>\nand so on", &[6, 10]),
        (b"\xedCN\x7f and so on", &[3, 10]),
    ];
    for (bytes, kinds) in forms {
        for kind in -1..=11 {
            let result = read(kind, bytes, "one", &lto());
            let is_mismatch =
                result.as_ref().is_err_and(|(status, _)| *status == Status::IncorrectInputType);
            assert_eq!(is_mismatch, !kinds.contains(&kind), "{kind}: {result:?}");
        }
    }
    for kind in [1, 2, 3, 4, 5, 6, 7] {
        let (status, log) = read(kind, b"nonsense", "one", &plain()).unwrap_err();
        assert_eq!(status, Status::IncorrectInputType, "{log}");
    }
    let (status, _) = read(10, b"nonsense", "one", &plain()).unwrap_err();
    assert_eq!(status, Status::UnrecognizedInput);
}

#[test]
fn machine_code_is_refused_and_the_log_suggests_an_alternative() {
    let cases: [(&[u8], Status, &str); 3] = [
        (b"\x7fELF", Status::UnrecognizedInput, "--ptx"),
        (b"!<arch>\nlibm.o/", Status::UnrecognizedInput, "libcudadevrt.a"),
        (&fatbin::from_ptx(PTX.as_bytes(), 90), Status::MissingFatbin, "compute_80"),
    ];
    for (bytes, status, words) in cases {
        let (found, log) = read(10, bytes, "the one", &lto()).unwrap_err();
        assert_eq!(found, status, "{log}");
        assert!(log.starts_with("error   : the one: ") && log.contains(words), "{log}");
    }
    for lto_ir in [b"\xedCN\x7f", b"BC\xc0\xde"] {
        assert_eq!(read(10, lto_ir, "one", &lto()), Ok(Input::LtoIr));
    }
    let (status, log) = read(10, b"\xedCN\x7f", "one", &plain()).unwrap_err();
    assert_eq!(status, Status::LtoNotEnabled, "{log}");
}

#[test]
fn the_device_runtime_library_is_replaced_by_the_emulators() {
    let library = b"!<arch>\ncuda_device_runtime.o/";
    let input = read(6, library, "libcudadevrt.a", &plain()).unwrap();
    assert!(matches!(input, Input::Text(text, false) if text.contains("cudaCGSynchronize")));
}

#[test]
fn a_fatbin_damaged_in_any_place_has_an_answer() {
    let whole = fatbin::from_ptx(PTX.as_bytes(), 80);
    for len in 4..whole.len() {
        let (status, log) = read(4, &whole[..len], "one", &plain()).unwrap_err();
        assert_eq!(status, Status::InvalidInput, "{len} bytes: {log}");
    }
    for at in 4..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x81;
        let _ = read(4, &damaged, "one", &plain());
    }
}
