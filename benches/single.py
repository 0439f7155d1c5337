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
    is_quick = parser.parse_args().quick
    try:
        with setting(is_quick) as there:
            parts = [measured(subject, there) for subject in named(*names)]
    except subprocess.CalledProcessError as failed:
        sys.exit(f"benches/{Path(sys.argv[0]).name}: {failed}")
    print("\n".join(part.markdown() for part in parts))
    sys.exit(0 if all(part.is_good() for part in parts) else 1)
