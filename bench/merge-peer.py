"""Merges batches into a table by delta-rs: TABLE FOLDER BATCHES. One line of JSON: seconds of each batch, CPU seconds of them all."""

import json
import os
import resource
import sys
import time

import pyarrow.parquet as pq
from deltalake import DeltaTable

table, folder, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
columns = ["id", "name", "email", "city", "balance", "seen", "note"]
sources = [pq.read_table(f"{folder}/{n}.parquet") for n in range(batches)]


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


used, seconds = cpu(), []
for source in sources:
    started = time.perf_counter()
    (
        DeltaTable(table)
        .merge(source, predicate="t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_delete(predicate="s.deleted")
        .when_matched_update(updates={name: f"s.{name}" for name in columns})
        .when_not_matched_insert(predicate="not s.deleted", updates={name: f"s.{name}" for name in columns})
        .execute()
    )
    seconds.append(time.perf_counter() - started)
print(json.dumps({"seconds": seconds, "cpuSeconds": cpu() - used}))
sys.stdout.flush()
# Threads of the libraries may still run when the interpreter takes itself down, which then ends in an abort now and then.
os._exit(0)
