"""Reads a keyed table and its dead letters with deltalake; prints one JSON document.

Arguments: table URI. `rows`: each row that is not marked as deleted, as JSON without `_cdc`, by its id; `letters`, `distinctLetters`.
"""

import json
import sys

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

uri = sys.argv[1]


def query(sql, table):
    return pa.table(QueryBuilder().register("t", table).execute(sql).read_all()).to_pylist()


keyed = query("SELECT * FROM t", DeltaTable(uri))
live = [row for row in keyed if not (row["_cdc"] or {}).get("deleted")]
for row in live:
    del row["_cdc"]
    for name, value in row.items():
        if hasattr(value, "isoformat"):
            row[name] = value.isoformat()
try:
    letters = query('SELECT partition, "offset" FROM t', DeltaTable(uri + "__dead_letters"))
except TableNotFoundError:
    letters = []
print(
    json.dumps(
        {
            "rows": sorted(live, key=lambda row: row["id"]),
            "letters": len(letters),
            "distinctLetters": len({(one["partition"], one["offset"]) for one in letters}),
        }
    )
)
