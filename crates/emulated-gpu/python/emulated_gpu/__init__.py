"""An NVIDIA GPU in software: the emulated libraries, and the environment in which a process finds them.

`emulated-gpu run COMMAND…` runs a program on the emulated GPU, `pytest --emulated-gpu` a test suite.
"""

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

__version__ = "0.1.0"

HERE = Path(__file__).parent

# NVIDIA's names for each library, the file's own first. A wheel can't contain links.
NAMES = {
    "lib": [
        ["libcuda.so.1", "libcuda.so"],
        ["libcudart.so.12", "libcudart.so.13", "libcudart.so"],
        ["libcublas.so.12", "libcublas.so.13", "libcublas.so"],
        ["libcublasLt.so.12", "libcublasLt.so.13", "libcublasLt.so"],
        ["libnccl.so.2", "libnccl.so"],
        ["libnvJitLink.so.12", "libnvJitLink.so.13", "libnvJitLink.so"],
        ["libnvidia-ml.so.1", "libnvidia-ml.so"],
    ],
    "lib/nvrtc": [["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"]],
}

# NVIDIA's compilers, as its wheels install them: the variable, the places below site-packages, and the names of the
# emulated library that is loaded first.
COMPILERS = [
    (
        "EMULATED_GPU_NVRTC",
        ["nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13"],
        "libnvrtc.so.12 libnvrtc.so.13",
    ),
    (
        "EMULATED_GPU_NVJITLINK",
        ["nvidia/nvjitlink/lib/libnvJitLink.so.12", "nvidia/cu13/lib/libnvJitLink.so.13"],
        "libnvJitLink.so.12 libnvJitLink.so.13",
    ),
]

NVCC = ["nvidia/cu13/bin/nvcc", "nvidia/cuda_nvcc/bin/nvcc"]


def environment(variables=None, search=None):
    """Returns a copy of `variables` (default: `os.environ`) in which programs find the emulated libraries.

    NVIDIA's NVRTC and nvJitLink are used if one of the folders in `search` (default: `sys.path`) has them and
    EMULATED_GPU_NVRTC or EMULATED_GPU_NVJITLINK names no other file; an empty value of these turns that off.
    """
    changed = dict(os.environ if variables is None else variables)
    folder = library_folder()
    # NVIDIA's NVRTC, if there is one, comes before the emulated one: it knows all of C++.
    paths = [str(folder / "lib"), changed.get("LD_LIBRARY_PATH", ""), str(folder / "lib/nvrtc")]
    changed["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))
    if "EMULATED_GPU_NVCC" not in changed:
        nvcc = shutil.which("nvcc", path=changed.get("PATH")) or first_file(search, NVCC)
        # That of an outer `emulated-gpu run` is none.
        changed["EMULATED_GPU_NVCC"] = "" if nvcc.startswith(str(folder)) else nvcc
    changed["PATH"] = f"{folder}/bin:{changed.get('PATH', os.defpath)}"
    for variable, places, names in COMPILERS:
        if variable not in changed:
            changed[variable] = first_file(search, places)
        if changed[variable]:
            # Preloaded, because the program's own search would find another copy.
            changed["LD_PRELOAD"] = " ".join(filter(None, [names, changed.get("LD_PRELOAD")]))
    changed["EMULATED_GPU_LIBRARIES"] = str(folder)
    return changed


def first_file(search, places):
    """The path of the first of these places that is a file below a folder in `search`; empty if there is none."""
    found = (Path(base) / place for base in search or sys.path for place in places)
    return str(next(filter(Path.is_file, found), ""))


def library_folder():
    """The folder with the libraries under all of NVIDIA's names. The first call makes the links.

    They are put into the installed package or, if that is read-only, into the user's cache.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in [HERE / "links", cache / f"emulated-gpu-{__version__}"]:
        try:
            if not is_complete(folder):
                make_links(folder)
            return folder
        except OSError as error:
            problem = error
    raise SystemExit(f"error: neither {HERE} nor {cache} is writable ({problem}): set XDG_CACHE_HOME")


def links():
    """Pairs of a link's path and its target's, both relative to their folders."""
    for folder, libraries in NAMES.items():
        for names in libraries:
            for name in names:
                yield f"{folder}/{name}", f"{folder}/{names[0]}"


def is_complete(folder):
    """Whether all links exist and lead to this installation's files."""
    try:
        is_ours = (folder / "bin/nvcc").read_text() == nvcc_script()
    except FileNotFoundError:
        return False
    return is_ours and all(
        os.path.realpath(folder / link) == os.path.realpath(HERE / to) for link, to in links()
    )


def nvcc_script():
    """The program that forwards to NVIDIA's nvcc."""
    program = f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); from emulated_gpu.nvcc import main; main()"
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(program)} "$@"\n'


def make_links(folder):
    """Makes the links in a temporary folder and renames it, so that processes can do it at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix="links-", dir=folder.parent))
    try:
        temporary.chmod(0o755)
        for link, to in links():
            (temporary / link).parent.mkdir(parents=True, exist_ok=True)
            (temporary / link).symlink_to(HERE / to)
        (temporary / "bin").mkdir()
        (temporary / "bin/nvcc").write_text(nvcc_script())
        (temporary / "bin/nvcc").chmod(0o755)
        if folder.exists():
            folder.rename(temporary / "old")
        temporary.rename(folder)
        shutil.rmtree(folder / "old", ignore_errors=True)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        # Another process may have been faster.
        if not is_complete(folder):
            raise
