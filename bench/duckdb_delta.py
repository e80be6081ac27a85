"""DuckDB's own delta extension as a peer: a statement a line in, its rows and milliseconds out as JSON, a line each."""

import glob
import json
import os
import sys
import time

import duckdb
import duckdb_ext

connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
[folder] = [path for root in duckdb_ext.__path__ for path in glob.glob(os.path.join(root, "extensions", "*", "*"))]
connection.execute(f"LOAD '{os.path.join(folder, 'delta.duckdb_extension')}'")
connection.execute("SET TimeZone = 'UTC'")
for line in sys.stdin:
    started = time.perf_counter()
    rows = connection.execute(line).fetchall()
    milliseconds = (time.perf_counter() - started) * 1000
    print(json.dumps({"rows": [[str(cell) for cell in row] for row in rows], "ms": milliseconds}), flush=True)
