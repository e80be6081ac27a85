"""Counts a table by a reader that is not ours, straight on its files, and prints one JSON line.

usage: check-table.py TABLE NUMBER   NUMBER is SQL for a whole number that is another for each message
"""
import json, os, sys
from urllib.parse import unquote, urlparse
from deltalake import DeltaTable, QueryBuilder

path, number = sys.argv[1:]
table = DeltaTable(path)
sql = f"SELECT count(*) AS rows, count(DISTINCT {number}) AS messages FROM found"
found = QueryBuilder().register("found", table).execute(sql).read_all()
sizes = [os.path.getsize(unquote(urlparse(uri).path)) for uri in table.file_uris()]
value = lambda name: next(iter(found.column(name))).as_py()
print(json.dumps({"rows": value("rows"), "messages": value("messages"), "files": len(sizes), "bytes": sum(sizes)}))
