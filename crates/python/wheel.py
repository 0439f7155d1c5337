"""Builds the wheel: maturin's own way, after the commands were put beside the module.

The commands are the native programs themselves. One of Python that calls into the module would
take longer to start, have more memory, and have an interpreter between it and its signals; and a
recorder starts its own program again.

GUA_WHEEL_PROFILE names another profile of cargo than release; the tests take `dev`.
"""

import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "crates" / "python" / "gua.data" / "scripts"
PROGRAMS = ("gua", "gpu-tracker")

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with _alone():
        _make_folder()
        return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    with _alone():
        _make_folder()
        return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    # The source has no programs in it that were built from it.
    with _alone():
        _make_folder()
        return maturin.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with _alone():
        _build_programs()
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with _alone():
        _build_programs()
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


@contextmanager
def _alone():
    """One build at a time: the folder of the programs is everybody's."""
    with open(SCRIPTS.parents[1] / "gua.data.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_programs():
    profile = os.environ.get("GUA_WHEEL_PROFILE", "release")
    os.environ["MATURIN_PEP517_ARGS"] = f"--profile {profile}"
    bins = [word for program in PROGRAMS for word in ("--bin", program)]
    command = ["cargo", "build", "--package", "gua", "--profile", profile, *bins]
    subprocess.run(command, cwd=ROOT, check=True)
    # The profile dev has another name for its folder, for reasons of age.
    built = _target() / {"dev": "debug"}.get(profile, profile)
    _make_folder()
    for program in PROGRAMS:
        _copy(built / program, SCRIPTS / program)


def _make_folder():
    """Empty: maturin wants it to be there."""
    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)


def _copy(program, to):
    """Without symbols, which a dev build has ten times more of than code."""
    shutil.copy2(program, to)
    if shutil.which("strip"):
        subprocess.run(["strip", to], check=True)


def _target():
    target = os.environ.get("CARGO_TARGET_DIR")
    return Path(target) if target else ROOT / "target"
