"""Prints what a smdebug's PT_dataloader_analysis returns, a line of JSON each.

usage: dump_loaders.py FOLDER...
"""

import json
import sys

from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis

NAMES = ("dataloaderIter_initialization", "dataloaderWorkers", "dataloader_getnext", "batchtime")

for folder in sys.argv[1:]:
    analysis = PT_dataloader_analysis(PandasFrame(folder))
    answers = {}
    for name in NAMES:
        found = getattr(analysis, f"analyze_{name}")()
        answers[name] = None if found is None else [list(found.columns), *found.astype(str).values.tolist()]
    print("\n" + json.dumps(answers))
