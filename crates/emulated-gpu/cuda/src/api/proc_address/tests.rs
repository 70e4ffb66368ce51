//! Which form of a function a program gets.

use super::*;
use crate::api::{context, function, memory};

#[test]
fn the_newest_form_that_is_old_enough_is_found() {
    let is = |found: Found, function: *const c_void| assert_eq!(found, Found::Function(function));
    is(look_up("cuMemAlloc", 12_000, 0), memory::cuMemAlloc_v2 as *const c_void);
    is(look_up("cuCtxCreate", 12_000, 0), context::cuCtxCreate_v3 as *const c_void);
    is(look_up("cuCtxCreate", 13_000, 0), context::cuCtxCreate_v4 as *const c_void);
    is(look_up("cuCtxCreate", 11_000, 0), context::cuCtxCreate_v2 as *const c_void);
    is(
        look_up("cuLaunchKernel", 12_000, PER_THREAD),
        function::cuLaunchKernel_ptsz as *const c_void,
    );
    is(look_up("cuMemAlloc", 12_000, PER_THREAD), memory::cuMemAlloc_v2 as *const c_void);
    assert_eq!(look_up("cuMemAlloc", 2_000, 0), Found::Newer);
    assert_eq!(look_up("cuMemAlloc_v2", 12_000, 0), Found::Nothing);
    assert_eq!(look_up("cuNothing", 12_000, 0), Found::Nothing);
}
