"""What is tested lies in the folder above; machines are described as in the peers' tests."""

import sys
from pathlib import Path

BENCHES = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCHES), str(BENCHES.parent / "tests" / "peers")]
