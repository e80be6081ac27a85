# Appends to a table while others do: append.py URI OPTIONS WRITER COMMITS ROWS. Each commit has ROWS rows (writer, seq, n). Starts when
# its standard input ends; then prints the commits it was told to be in the log.
import json
import os
import sys

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

uri, options, writer, commits, rows = sys.argv[1:6]
options = json.loads(options)
print("ready", flush=True)
sys.stdin.read()

told = []
for seq in range(int(commits)):
    data = pa.table(
        {
            "writer": pa.array([writer] * int(rows)),
            "seq": pa.array([seq] * int(rows), pa.int64()),
            "n": pa.array(range(int(rows)), pa.int64()),
        }
    )
    # It gives up after 15 lost races otherwise, which others who write faster make likely.
    patient = CommitProperties(max_commit_retries=1000)
    write_deltalake(DeltaTable(uri, storage_options=options), data, mode="append", commit_properties=patient)
    told.append({"seq": seq})
print(json.dumps(told), flush=True)
sys.stdout.flush()
os._exit(0)
