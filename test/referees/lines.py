"""Reads versions of a Delta table with deltalake; prints the same as spark/read.py, for dotted column paths.

usage: lines.py TABLE PATHS_JSON VERSION [VERSION ...]
"""
import json, os, sys
from deltalake import DeltaTable

table, paths, versions = sys.argv[1], json.loads(sys.argv[2]), [int(v) for v in sys.argv[3:]]


def value(row, path):
    for name in path.split("."):
        row = None if row is None else row[name]
    return "-" if row is None else str(row)


for version in versions:
    opened = DeltaTable(table, version=version)
    rows = sorted("\t".join(value(row, path) for path in paths) for row in opened.to_pyarrow_table().to_pylist())
    print(json.dumps({"version": version, "schema": json.loads(opened.schema().to_json()), "rows": rows}))
sys.stdout.flush()
# The library's threads may abort the interpreter on its way out; what had to be said is said.
os._exit(0)
