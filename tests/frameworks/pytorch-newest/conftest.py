"""Finds the helpers of the tests with the oldest PyTorch, which run here too (also.txt)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "pytorch"))
