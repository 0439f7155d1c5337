"""The commands that measure only a part of the comparison: they print it and judge it."""

import argparse
import subprocess
import sys
from pathlib import Path

from common import setting
from parts import measured, named


def run(about, *names):
    """Measures the named parts and ends with 1 where a budget or a measurement fell short."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs, and no long ones")
    measure(named(*names), parser.parse_args().quick)


def measure(subjects, is_quick):
    """Tells each part as soon as it is had."""
    is_good = True
    try:
        with setting(is_quick) as there:
            for subject in subjects:
                part = measured(subject, there)
                print(part.markdown(), flush=True)
                is_good &= part.is_good()
    except (subprocess.SubprocessError, OSError) as failed:
        sys.exit(f"benches/{Path(sys.argv[0]).name}: {failed}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0 if is_good else 1)
