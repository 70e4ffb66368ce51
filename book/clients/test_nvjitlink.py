"""Two PTX texts that nvJitLink links, through NVIDIA's cuda.core and cuda.bindings, and their tests."""

import numpy as np
import pytest
from cuda.bindings import nvjitlink
from cuda.core import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Linker,
    LinkerOptions,
    launch,
)
from cuda.core._module import ObjectCode

HEADER = """
.version 7.0
.target sm_80
.address_size 64
"""
# Each thread writes the result of `twice` for its number.
KERNEL = (
    HEADER
    + """
.extern .func (.param .b32 result) twice(.param .b32 number);
.visible .entry fill(.param .u64 numbers) {
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    mov.u32 %r1, %tid.x;
    {
        .param .b32 given;
        .param .b32 made;
        st.param.b32 [given], %r1;
        call (made), twice, (given);
        ld.param.b32 %r2, [made];
    }
    ld.param.u64 %rd1, [numbers];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
"""
)
TWICE = (
    HEADER
    + """
.visible .func (.param .b32 result) twice(.param .b32 number) {
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [number];
    shl.b32 %r2, %r1, 1;
    st.param.b32 [result], %r2;
    ret;
}
"""
)


@pytest.fixture
def device():
    device = Device()
    device.set_current()
    return device


def filled(device, code):
    stream = device.create_stream()
    buffer = LegacyPinnedMemoryResource().allocate(400, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=100), code.get_kernel("fill"), buffer)
    stream.sync()
    return np.from_dlpack(buffer).view(np.uint32)


def test_two_texts_become_one_image(device):
    parts = [ObjectCode.from_ptx(text.encode()) for text in (KERNEL, TWICE)]
    linker = Linker(*parts, options=LinkerOptions(arch="sm_90", verbose=True))
    np.testing.assert_array_equal(filled(device, linker.link("cubin")), 2 * np.arange(100))
    assert "sm_80" in linker.get_info_log()


def test_an_image_of_the_bindings_is_loaded(device):
    link = nvjitlink.create(2, ["-arch=sm_90", "-maxrregcount=64"])
    for name, text in [("twice", TWICE), ("fill", KERNEL)]:
        nvjitlink.add_data(link, nvjitlink.InputType.ANY, text.encode(), len(text), name)
    nvjitlink.complete(link)
    image = bytearray(nvjitlink.get_linked_cubin_size(link))
    nvjitlink.get_linked_cubin(link, image)
    nvjitlink.destroy(link)
    code = ObjectCode.from_cubin(bytes(image))
    np.testing.assert_array_equal(filled(device, code), 2 * np.arange(100))


def test_a_missing_function_is_named(device):
    linker = Linker(ObjectCode.from_ptx(KERNEL.encode()), options=LinkerOptions(arch="sm_90"))
    with pytest.raises(nvjitlink.nvJitLinkError):
        linker.link("cubin")
    assert "twice" in linker.get_error_log()
