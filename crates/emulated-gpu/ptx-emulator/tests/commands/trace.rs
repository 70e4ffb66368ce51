//! `ptx-emulator trace`: the actions of one thread, line by line.

use crate::commands::{LAUNCH, SAXPY, emulator, printed};

#[test]
fn trace_shows_what_one_thread_did() {
    let more = ["f32[8]:1", "--thread", "1", "--in-block", "1"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(
        printed(&output),
        "\
saxpy: block (1, 0, 0), thread (1, 0, 0), which is lane 1 of warp 0
   7  ld.param.u32 %r1, [n]          [n] → %r1 = 6
   8  ld.param.f32 %f1, [a]          [a] → %f1 = 2.0
   9  ld.param.u64 %rd1, [x]         [x] → %rd1 = &x
  10  ld.param.u64 %rd2, [y]         [y] → %rd2 = &y
  11  mov.u32 %r2, %ctaid.x          %ctaid.x = 1 → %r2 = 1
  12  mov.u32 %r3, %ntid.x           %ntid.x = 4 → %r3 = 4
  13  mov.u32 %r4, %tid.x            %tid.x = 1 → %r4 = 1
  14  mad.lo.u32 %r5, %r2, %r3, %r4  %r2 = 1, %r3 = 4, %r4 = 1 → %r5 = 5
  15  setp.ge.u32 %p, %r5, %r1       %r5 = 5, %r1 = 6 → %p = false
  16  @%p bra end                    %p = false: not executed
  17  mul.wide.u32 %rd3, %r5, 4      %r5 = 5 → %rd3 = 20
  18  add.u64 %rd4, %rd1, %rd3       %rd1 = &x, %rd3 = 20 → %rd4 = &x+20
  19  add.u64 %rd5, %rd2, %rd3       %rd2 = &y, %rd3 = 20 → %rd5 = &y+20
  20  ld.global.f32 %f2, [%rd4]      %rd4 = &x+20, [x+20] → %f2 = 5.0
  21  ld.global.f32 %f3, [%rd5]      %rd5 = &y+20, [y+20] → %f3 = 1.0
  22  fma.rn.f32 %f3, %f1, %f2, %f3  %f1 = 2.0, %f2 = 5.0, %f3 = 1.0 → %f3 = 11.0
  23  st.global.f32 [%rd5], %f3      %rd5 = &y+20, %f3 = 11.0 → [y+20]
  25  ret                            → the thread ends
"
    );
}

#[test]
fn a_trace_ends_at_its_limit_or_at_a_fault() {
    let short = ["f32[8]:1", "--thread", "3", "--in-block", "1,0,0", "--lines", "9"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &short].concat());
    let text = printed(&output);
    assert_eq!(text.lines().count(), 11);
    let last = "      … and 2 more instructions of this thread: --lines 11 shows them all\n";
    assert!(text.ends_with(last), "{text}");
    // Thread 1 of block 1 reads past the end of y.
    let faulty = ["f32[5]:1", "--thread", "1", "--in-block", "1"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &faulty].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = printed(&output);
    let reads = "  21  ld.global.f32 %f3, [%rd5]      %rd5 = &y+20, [y+20]\nerror: illegal address";
    assert!(text.contains(reads), "{text}");
    let nobody = ["f32[8]:1", "--thread", "4"];
    let output = emulator(SAXPY, &[&["trace"], &LAUNCH[..], &nobody].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(printed(&output).contains("thread 4 is outside the block of 4"));
}

/// A kernel to trace, with diverging lanes, a function, shared memory, a barrier, a shuffle, and
/// values of many types.
const SCENES: &str = "\
.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 count = 7;
.func (.reg .b32 %out) twice(.reg .b32 %in)
{
    add.u32 %out, %in, %in;
}
.visible .entry scenes(.param .u64 kernel_param_0)
{
    .shared .align 4 .b32 box[64];
    .local .align 4 .b8 own[8];
    .reg .pred %p, %q; .reg .b16 %h; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p|%q, %r1, 1;
    @%p bra FEW;
    mov.b32 %r2, 0xff;
    bra JOIN;
FEW:
    mov.u32 %r2, 3;
JOIN:
    mov.u32 %r3, box;
    mad.lo.u32 %r3, %r1, 4, %r3;
    st.shared.u32 [%r3], %r2;
    bar.sync 0;
    ld.shared.s8 %r4, [box+4];
    call (%r5), twice, (%r4);
    shfl.sync.idx.b32 %r6|%p, %r1, 2, 31, -1;
    mov.f32 %f1, 0f7FC00000;
    cvt.rn.f16.f32 %h, -0.5;
    neg.f16 %h, %h;
    cvt.f64.f32 %g, 0f3F800000;
    mov.b64 %d1, {%r1, %r2};
    mov.u64 %d2, own;
    st.local.u32 [%d2+4], %r5;
    cvta.local.u64 %d3, %d2;
    ld.u32 %r7, [%d3+4];
    ld.param.u64 %d4, [kernel_param_0];
    atom.global.add.u32 %r8, [%d4], %r7;
    red.global.add.u32 [count], 1;
    mov.v2.u32 {%r7, %r8}, {%r8, %r7};
    @!%q exit;
}
";

#[test]
fn a_trace_shows_other_warps_and_names_memory() {
    let arguments =
        ["trace", "FILE", "--block", "64", "--arg", "u32[1]:5", "--thread", "1", "--lines", "40"];
    let output = emulator(SCENES, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(
        printed(&output),
        "\
scenes: block (0, 0, 0), thread (1, 0, 0), which is lane 1 of warp 0
  14  mov.u32 %r1, %tid.x                       %tid.x = 1 → %r1 = 1
  15  setp.lt.u32 %p|%q, %r1, 1                 %r1 = 1 → %p = false, %q = true
  16  @%p bra FEW                               %p = false: not executed
  17  mov.b32 %r2, 0xff                         → %r2 = 0xff
  18  bra JOIN                                  → goes to JOIN, line 22
      … 1 instruction of other lanes of the warp
  22  mov.u32 %r3, box                          → %r3 = 0
  23  mad.lo.u32 %r3, %r1, 4, %r3               %r1 = 1, %r3 = 0 → %r3 = 4
  24  st.shared.u32 [%r3], %r2                  %r3 = 4, %r2 = 255 → [box+4]
  25  bar.sync 0                                → waits until all threads have arrived
      … 9 instructions of other warps
  26  ld.shared.s8 %r4, [box+4]                 [box+4] → %r4 = -1
  27  call (%r5), twice, (%r4)                  %r4 = 0xffffffff → calls twice
   7    add.u32 %out, %in, %in                  %in = 4294967295 → %out = 4294967294
  27  call (%r5), twice, (%r4)                  returned → %r5 = 0xfffffffe
  28  shfl.sync.idx.b32 %r6|%p, %r1, 2, 31, -1  %r1 = 1 → %r6 = 2, %p = true
  29  mov.f32 %f1, 0f7FC00000                   → %f1 = NaN (0x7fc00000)
  30  cvt.rn.f16.f32 %h, -0.5                   → %h = -0.5
  31  neg.f16 %h, %h                            %h = -0.5 → %h = 0.5
  32  cvt.f64.f32 %g, 0f3F800000                → %g = 1.0
  33  mov.b64 %d1, {%r1, %r2}                   %r1 = 1, %r2 = 0xff → %d1 = 0xff00000001
  34  mov.u64 %d2, own                          → %d2 = 0
  35  st.local.u32 [%d2+4], %r5                 %d2 = 0, %r5 = 4294967294 → [own+4]
  36  cvta.local.u64 %d3, %d2                   %d2 = 0 → %d3 = &own
  37  ld.u32 %r7, [%d3+4]                       %d3 = &own, [own+4] → %r7 = 4294967294
  38  ld.param.u64 %d4, [kernel_param_0]        [param_0] → %d4 = &param_0
  39  atom.global.add.u32 %r8, [%d4], %r7       %d4 = &param_0, %r7 = 4294967294, [param_0] → %r8 = 3
  40  red.global.add.u32 [count], 1             → [count]
  41  mov.v2.u32 {%r7, %r8}, {%r8, %r7}         %r8 = 3, %r7 = 4294967294 → %r7 = 3, %r8 = 4294967294
  42  @!%q exit                                 %q = true: not executed
"
    );
}
