"""`pytest --emulated-gpu`: runs a test suite on the emulated GPU. A fault of a kernel fails the test that launched it."""

import ctypes
import os
import sys
import tempfile

import pytest

from . import environment
from .faults import Faults, position, summary


def pytest_addoption(parser):
    """Adds the options."""
    group = parser.getgroup("emulated-gpu", "CUDA on an emulated GPU")
    group.addoption("--emulated-gpu", action="store_true", help="run CUDA on the emulated GPU")
    group.addoption(
        "--emulated-gpu-checks",
        metavar="CHECKS",
        help="initialisation, races, synchronisation, separated by commas, or all; implies --emulated-gpu",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Starts pytest again in an environment where the libraries are found: the dynamic linker reads it only once.

    This is before pytest redirects the output, and before any test file can load a library.
    """
    options = early_config.known_args_namespace
    checks = options.emulated_gpu_checks
    if checks:
        os.environ["EMULATED_GPU_CHECKS"] = checks
    if (options.emulated_gpu or checks) and "EMULATED_GPU_LIBRARIES" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment())
    return (yield)


def pytest_configure(config):
    """Watches the faults of this process; each worker of pytest-xdist is one."""
    if config.option.emulated_gpu or config.option.emulated_gpu_checks:
        config.pluginmanager.register(Watch(config), "emulated-gpu-watch")


class Watch:
    """Assigns faults to tests."""

    def __init__(self, config):
        self.folder = tempfile.TemporaryDirectory(prefix="emulated-gpu-")
        config.add_cleanup(self.folder.cleanup)
        path = os.environ["EMULATED_GPU_FAULTS"] = f"{self.folder.name}/faults.jsonl"
        self.faults = Faults(path)
        self.first = None

    def pytest_report_header(self):
        """A line that shows that the results are not a card's."""
        checks = os.environ.get("EMULATED_GPU_CHECKS") or "addresses"
        return f"emulated GPU: checks {checks}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Fails a test if a kernel that it launched broke a rule."""
        report = yield
        # Kernels run asynchronously: without this, the next test would get the fault.
        synchronise()
        found = self.faults.new()
        if found:
            text = "\n\n".join(fault["report"] for fault in found)
            file, line = position(found[0])
            if report.outcome != "failed":
                report.outcome = "failed"
                place = f"{file}:{line}: " if file else ""
                report.longrepr = f"{place}{summary(found[0])}\n\n{text}"
            else:
                report.sections.append(("emulated GPU", text))
            self.first = self.first or item.nodeid
        elif self.first and report.outcome == "failed" and call.when == "call":
            text = f"the fault in {self.first} made this process's CUDA context unusable, as on a card"
            report.sections.append(("emulated GPU", text))
        return report


def synchronise():
    """Waits for the kernels of the current context, if this process has loaded the driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return
    driver.cuCtxSynchronize()
