"""Prints what a smdebug's PT_dataloader_analysis returns, as JSON.

usage: dump_loaders.py FOLDER
"""

import json
import sys

from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis

analysis = PT_dataloader_analysis(PandasFrame(sys.argv[1]))
answers = {}
for name in ("dataloaderIter_initialization", "dataloaderWorkers", "dataloader_getnext", "batchtime"):
    found = getattr(analysis, f"analyze_{name}")()
    answers[name] = None if found is None else [list(found.columns), *found.astype(str).values.tolist()]
print(json.dumps(answers))
