//! Core dump attributes are stored, for each context and globally; no core dump is written.

use std::ffi::CStr;

use crate::support::{code, cu, in_child, ok, own_context, returns};

const ON_EXCEPTION: u32 = 1;
const TRIGGER_HOST: u32 = 2;
const LIGHTWEIGHT: u32 = 3;
const FILE: u32 = 5;
const PIPE: u32 = 6;
const FLAGS: u32 = 7;

fn set_global(attribute: u32, bytes: &[u8]) -> u32 {
    let mut size = bytes.len();
    cu!(cuCoredumpSetAttributeGlobal(attribute, bytes.as_ptr(), &raw mut size))
}

fn set(attribute: u32, bytes: &[u8]) -> u32 {
    let mut size = bytes.len();
    cu!(cuCoredumpSetAttribute(attribute, bytes.as_ptr(), &raw mut size))
}

fn flag(attribute: u32) -> [u8; 2] {
    let (mut of_process, mut of_context, mut size) = (9u8, 9u8, 1usize);
    ok!(cuCoredumpGetAttributeGlobal(attribute, &raw mut of_process, &raw mut size));
    ok!(cuCoredumpGetAttribute(attribute, &raw mut of_context, &raw mut size));
    [of_process, of_context]
}

fn text(attribute: u32) -> String {
    let (mut bytes, mut size) = ([1u8; 1024], 1024usize);
    ok!(cuCoredumpGetAttribute(attribute, bytes.as_mut_ptr(), &raw mut size));
    CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn core_dump_attributes_are_stored() {
    // The attributes concern the whole process.
    in_child!(&[]);
    let _context = own_context();
    assert_eq!([ON_EXCEPTION, TRIGGER_HOST, LIGHTWEIGHT].map(flag), [[0; 2], [1; 2], [0; 2]]);
    assert!(text(FILE).starts_with("core.cuda."));
    assert!(text(PIPE).ends_with(&format!(".{}", std::process::id())));
    // Global attributes apply to contexts without their own value.
    assert_eq!(set_global(TRIGGER_HOST, &[0]), 0);
    assert_eq!(set_global(FILE, b"everyone's"), 0);
    assert_eq!(set_global(PIPE, b"the pipe\0and more"), 0);
    let actual = (flag(TRIGGER_HOST), text(FILE), text(PIPE));
    assert_eq!(actual, ([0; 2], "everyone's".into(), "the pipe".into()));
    assert_eq!((set(FILE, b"its own"), set(LIGHTWEIGHT, &[1])), (0, 0));
    let actual = (text(FILE), flag(LIGHTWEIGHT), flag(TRIGGER_HOST));
    assert_eq!(actual, ("its own".into(), [0, 1], [0; 2]));
    // The flags show the same state.
    let mut flags = 0u32;
    let mut size = 4usize;
    ok!(cuCoredumpGetAttribute(FLAGS, &raw mut flags, &raw mut size));
    assert_eq!(flags, 0x13f);
    assert_eq!(set(FLAGS, &0u32.to_ne_bytes()), 0);
    assert_eq!((flag(LIGHTWEIGHT), flag(TRIGGER_HOST)), ([0; 2], [0, 1]));
    // Core dumps can't be enabled.
    let actual = (set_global(ON_EXCEPTION, &[1]), set_global(ON_EXCEPTION, &[0]));
    assert_eq!(actual, (code::NOT_SUPPORTED, 0));
    assert_eq!(set(PIPE, b"own"), code::NOT_PERMITTED);
    for (attribute, bytes) in [(FLAGS, &[0u8][..]), (FLAGS, &[0, 2, 0, 0]), (FILE, &[0]), (8, &[0])]
    {
        assert_eq!(set_global(attribute, bytes), code::INVALID_VALUE, "{attribute} {bytes:?}");
    }
    // A null pointer queries the size of a value.
    for (attribute, expected) in [(TRIGGER_HOST, 1), (FILE, 1024), (FLAGS, 4)] {
        let (mut size, null) = (0usize, std::ptr::null_mut::<u8>());
        ok!(cuCoredumpGetAttributeGlobal(attribute, null, &raw mut size));
        assert_eq!(size, expected);
    }
    let (mut short, mut size) = ([0u8; 4], 4usize);
    returns!(code::INVALID_VALUE, cuCoredumpGetAttribute(FILE, short.as_mut_ptr(), &raw mut size));
}
