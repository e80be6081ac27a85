"""Reads two versions of each of many tables with deltalake; prints a JSON line for each table.

usage: appended.py TABLES_JSON      [{"path": ..., "before": 3, "after": 4}, ...]

`rows` of `before`, null where deltalake cannot read it; `added`: rows of `after` that are not in `before`; `new`: those of them that are
equal to no row of `before`; `lost`: the other way round; `error` where deltalake reads `before` and not `after`.
"""
import collections, json, os, sys
from deltalake import DeltaTable


def read(path, version):
    rows = DeltaTable(path, version=version).to_pyarrow_table().to_pylist()
    return collections.Counter(repr(row) for row in rows)


for table in json.loads(sys.argv[1]):
    answer = {"rows": None}
    try:
        before = read(table["path"], table["before"])
        answer["rows"] = sum(before.values())
        after = read(table["path"], table["after"])
        added = after - before
        answer["added"] = sum(added.values())
        answer["new"] = sum(count for row, count in added.items() if row not in before)
        answer["lost"] = sum((before - after).values())
    # A panic of the library is no Exception.
    except BaseException as error:
        answer["error"] = str(error)[:300]
    print(json.dumps(answer), flush=True)
# The library's threads may abort the interpreter on its way out; what had to be said is said.
os._exit(0)
