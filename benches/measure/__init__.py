"""What is measured, one file a subject; each has `rows`, which gives the lines of a table."""

import sys

from common import ROOT

# The peers' tests describe machines in Python; so do plays and troubles.
sys.path.append(str(ROOT / "tests" / "peers"))
