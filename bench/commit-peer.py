"""One writer of the commit benchmark by delta-rs: TABLE COMMITS ROWS. Says ready, starts when its standard input ends, prints when each commit stood."""

import json
import os
import sys
import time

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

uri, commits, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
table = DeltaTable(uri)
batch = pa.table(
    {
        "id": pa.array(range(rows), pa.int64()),
        "text": pa.array([f"row {n}" for n in range(rows)], pa.string()),
    }
)
properties = CommitProperties(max_commit_retries=1000)

print("ready", flush=True)
sys.stdin.read()

done = []
for _ in range(commits):
    write_deltalake(table, batch, mode="append", commit_properties=properties)
    done.append({"atMs": time.time() * 1000})
print(json.dumps(done), flush=True)
sys.stdout.flush()
# Threads of the libraries may still run when the interpreter takes itself down, which then ends in an abort now and then.
os._exit(0)
