"""Reads each collections file of a trial, and writes it again.

Runs with the original library.
"""

import json
import os
import sys

from smdebug.core.collection_manager import CollectionManager

folder = os.path.join(sys.argv[1], "collections", "000000000")
names = sorted(os.listdir(folder))
for name in names:
    CollectionManager.load(os.path.join(folder, name)).export(sys.argv[1], name)
print(json.dumps(names))
