//! Linking several texts to one image.

use std::ffi::CStr;

use crate::support::{allocate, code, cu, function, launch, ok, output, own_context, read};

const CUBIN: u32 = 0;
const PTX: u32 = 1;
const FATBINARY: u32 = 2;
const LIBRARY: u32 = 4;

const CALLER: &CStr = c".version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b32 out) twice(.param .b32 in);
.visible .entry k(.param .u64 to)
{
    .reg .b32 %x;
    .reg .b64 %o;
    ld.param.u64 %o, [to];
    ld.global.u32 %x, [%o];
    { .param .b32 in; .param .b32 back; st.param.b32 [in], %x; call (back), twice, (in);
      ld.param.b32 %x, [back]; }
    st.global.u32 [%o], %x;
    ret;
}
";
const CALLEE: &CStr = c".version 7.8
.target sm_80
.address_size 64
.visible .func (.param .b32 out) twice(.param .b32 in)
{
    .reg .b32 %x;
    ld.param.b32 %x, [in];
    add.u32 %x, %x, %x;
    st.param.b32 [out], %x;
    ret;
}
";

struct Linker {
    handle: usize,
    errors: Box<[u8; 4096]>,
    /// The error log's buffer and size; the linker replaces the size by the length of the log.
    _values: Box<[usize; 2]>,
}

impl Linker {
    fn new() -> Self {
        let (mut handle, mut errors) = (0usize, Box::new([0u8; 4096]));
        // The options are CU_JIT_ERROR_LOG_BUFFER and the size of that buffer.
        let (names, values) = ([5u32, 6], Box::new([errors.as_mut_ptr() as usize, 4096]));
        ok!(cuLinkCreate_v2(2u32, names.as_ptr(), values.as_ptr(), &raw mut handle));
        Self { handle, errors, _values: values }
    }

    fn add(&self, kind: u32, name: &CStr, image: &[u8]) -> u32 {
        let none = std::ptr::null::<u32>();
        cu!(cuLinkAddData_v2(
            self.handle, kind, image.as_ptr(), image.len(), name.as_ptr(), 0 => u32, none, none
        ))
    }

    fn complete(&self) -> Result<*const u8, u32> {
        let (mut image, mut size) = (std::ptr::null::<u8>(), 0usize);
        let code = cu!(cuLinkComplete(self.handle, &raw mut image, &raw mut size));
        if code == 0 { Ok(image) } else { Err(code) }
    }

    fn log(&self) -> String {
        CStr::from_bytes_until_nul(&self.errors[..]).unwrap().to_str().unwrap().to_owned()
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        ok!(cuLinkDestroy(self.handle));
    }
}

#[test]
fn linked_texts_call_each_others_functions() {
    let _context = own_context();
    // A fatbin is also accepted as a cubin.
    for fatbin in [None, Some(FATBINARY), Some(CUBIN)] {
        let linker = Linker::new();
        assert_eq!(linker.add(PTX, c"caller.ptx", CALLER.to_bytes_with_nul()), 0);
        if let Some(kind) = fatbin {
            let image = super::fatbins::fatbin(CALLEE.to_bytes());
            assert_eq!(linker.add(kind, c"callee.fatbin", &image), 0);
        } else {
            assert_eq!(linker.add(PTX, c"callee.ptx", CALLEE.to_bytes()), 0);
        }
        let image = linker.complete().unwrap();
        assert_eq!(linker.complete(), Ok(image), "linking happens once");
        assert_eq!(linker.add(PTX, c"late.ptx", CALLEE.to_bytes()), code::INVALID_VALUE);
        let module = output!(cuModuleLoadData(-> usize, image));
        let kernel = function(module, "k");
        let data = allocate(4);
        ok!(cuMemsetD32_v2(data, 21u32, 1usize));
        assert_eq!(launch(kernel, (1, 1), 0, &[data]), 0);
        assert_eq!(read(data, 1), [42]);
    }
}

/// A kernel whose grid synchronises three times: each block writes its number, and adds up the numbers of all blocks.
const GRID: &CStr = c".version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 numbers, .param .u64 sums)
{
    .reg .pred %q;
    .reg .b32 %t, %b, %n, %x, %sum, %i, %round, %error;
    .reg .b64 %numbers, %sums, %at, %handle;
    ld.param.u64 %numbers, [numbers];
    ld.param.u64 %sums, [sums];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, %nctaid.x;
    { .param .b32 scope; .param .b64 back; st.param.b32 [scope], 1;
      call (back), cudaCGGetIntrinsicHandle, (scope); ld.param.b64 %handle, [back]; }
    mov.u32 %round, 0;
    mov.u32 %sum, 0;
next:
    mul.wide.u32 %at, %b, 4;
    add.u64 %at, %at, %numbers;
    add.u32 %x, %b, %round;
    setp.eq.u32 %q, %t, 0;
    @%q st.volatile.global.u32 [%at], %x;
    { .param .b64 grid; .param .b32 flags; .param .b32 back; st.param.b64 [grid], %handle;
      st.param.b32 [flags], 0; call (back), cudaCGSynchronize, (grid, flags);
      ld.param.b32 %error, [back]; }
    add.u32 %sum, %sum, %error;
    mov.u32 %i, 0;
more:
    mul.wide.u32 %at, %i, 4;
    add.u64 %at, %at, %numbers;
    ld.volatile.global.u32 %x, [%at];
    add.u32 %sum, %sum, %x;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, %n;
    @%q bra more;
    { .param .b64 grid; .param .b32 flags; .param .b32 back; st.param.b64 [grid], %handle;
      st.param.b32 [flags], 0; call (back), cudaCGSynchronize, (grid, flags);
      ld.param.b32 %error, [back]; }
    add.u32 %sum, %sum, %error;
    add.u32 %round, %round, 1;
    setp.lt.u32 %q, %round, 3;
    @%q bra next;
    mul.wide.u32 %at, %b, 4;
    add.u64 %at, %at, %sums;
    st.global.u32 [%at], %sum;
    ret;
}
";

/// The test passes the contents of NVIDIA's libcudadevrt.a to the linker, as numba does.
#[test]
fn grids_synchronise_through_the_device_runtime() {
    let _context = own_context();
    let linker = Linker::new();
    assert_eq!(linker.add(PTX, c"grid.ptx", GRID.to_bytes()), 0);
    assert_eq!(linker.add(LIBRARY, c"libother.a", b"!<arch>\nother"), code::NOT_SUPPORTED);
    assert!(linker.log().contains("the library is machine code"), "{}", linker.log());
    let library = [b"!<arch>\n", &[0xff; 100][..], b"cuda_device_runtime.o", &[0xff; 9]].concat();
    assert_eq!(linker.add(LIBRARY, c"libcudadevrt.a", &library), 0);
    let image = linker.complete().unwrap();
    let module = output!(cuModuleLoadData(-> usize, image));
    let kernel = function(module, "k");
    let (numbers, sums) = (allocate(4 * 24), allocate(4 * 24));
    let mut parameters = [&raw const numbers, &raw const sums].map(|one| one as usize);
    ok!(cuLaunchCooperativeKernel(
        kernel => usize, 24 => u32, 1 => u32, 1 => u32, 64 => u32, 1 => u32, 1 => u32, 0 => u32,
        0 => usize, parameters.as_mut_ptr() => *mut usize,
    ));
    ok!(cuCtxSynchronize());
    let rounds: u32 = (0..3).map(|round| (0..24).map(|block| block + round).sum::<u32>()).sum();
    assert_eq!(read(sums, 24), [rounds; 24]);
}

/// The linker's options are a part of the image, so a copy of the image has them too.
#[test]
fn the_register_limit_stays_with_the_image() {
    let _context = own_context();
    let (names, values) = ([0u32], [24usize]); // CU_JIT_MAX_REGISTERS
    let handle = output!(cuLinkCreate_v2(1u32, names.as_ptr(), values.as_ptr(), -> usize));
    let linker = Linker { handle, errors: Box::new([0; 4096]), _values: Box::new([0; 2]) };
    let used: String = (0..40).map(|number| format!("mov.u32 %many{number}, 1;")).collect();
    let text = CALLEE.to_str().unwrap().to_owned()
        + &format!(".visible .entry k() {{ .reg .b32 %many<40>; {used} ret; }}");
    assert_eq!(linker.add(PTX, c"many.ptx", text.as_bytes()), 0);
    // SAFETY: the image ends in NUL.
    let copy = unsafe { CStr::from_ptr(linker.complete().unwrap().cast()) }.to_owned();
    drop(linker);
    let (mut module, mut registers) = (0usize, 0i32);
    ok!(cuModuleLoadData(&raw mut module, copy.as_ptr()));
    // CU_FUNC_ATTRIBUTE_NUM_REGS
    ok!(cuFuncGetAttribute(&raw mut registers => *mut i32, 4u32, function(module, "k")));
    assert_eq!(registers, 24);
}

#[test]
fn link_errors_state_the_reason() {
    let _context = own_context();
    let linker = Linker::new();
    assert_eq!(linker.complete(), Err(code::INVALID_VALUE), "nothing was added");
    for kind in [0, 3, 4, 5, 99] {
        assert_eq!(linker.add(kind, c"a", CALLER.to_bytes()), code::NOT_SUPPORTED, "{kind}");
    }
    assert_eq!(linker.add(PTX, c"a.ptx", b".version 7.8 .target sm_80 .entry"), code::INVALID_PTX);
    assert!(linker.log().contains("a.ptx:1"), "{}", linker.log());
    // A text with an error is left out.
    assert_eq!(linker.add(PTX, c"caller.ptx", CALLER.to_bytes()), 0);
    assert_eq!(linker.complete(), Err(code::INVALID_PTX));
    assert!(linker.log().contains("`twice` is defined in no file"), "{}", linker.log());
    assert_eq!(linker.add(PTX, c"callee.ptx", CALLEE.to_bytes()), 0);
    assert!(linker.complete().is_ok());

    let linker = Linker::new();
    assert_eq!(linker.add(PTX, c"one.ptx", CALLEE.to_bytes()), 0);
    assert_eq!(linker.add(PTX, c"two.ptx", CALLEE.to_bytes()), 0);
    assert_eq!(linker.complete(), Err(code::INVALID_PTX));
    assert!(linker.log().contains("`twice` is defined in one.ptx, too"), "{}", linker.log());
    drop(linker);
}
