# Rows of Delta tables as DuckDB's own delta extension reads them: delta_scan.py TABLE SELECT [SELECT ...], each over table t. Prints one line of
# JSON a query.
import glob
import json
import os
import sys

import duckdb
import duckdb_ext

[extension] = [
    path for root in duckdb_ext.__path__ for path in glob.glob(f"{root}/extensions/*/*/delta.duckdb_extension")
]
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
connection.execute("SET TimeZone = 'UTC'")
connection.execute(f"CREATE VIEW t AS FROM delta_scan('{sys.argv[1]}')")
for query in sys.argv[2:]:
    print(json.dumps(connection.execute(query).fetchall(), default=str))
sys.stdout.flush()
os._exit(0)
