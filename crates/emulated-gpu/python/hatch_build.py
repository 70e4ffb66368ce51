"""Gives the wheel its tag: any Python 3, and the platform for which the libraries were built."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TagOfPlatform(BuildHookInterface):
    """`../scripts/wheel.py` sets the variable."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['EMULATED_GPU_WHEEL_PLATFORM']}"
