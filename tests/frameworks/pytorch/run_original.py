"""Runs a script with the original library: python run_original.py SCRIPT [ARGUMENT...]

The original asks NumPy for names that NumPy 1.24 has no more.
"""

import runpy
import sys
from pathlib import Path

import numpy as np

np.bool, np.int = bool, int
del sys.argv[0]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
