"""Reads versions of a Delta table with Spark and prints one JSON line a version: its schema, and its rows as sorted lines of the
given SQL expressions, separated by tabs, - for null.

usage: JARS=dir read.py TABLE EXPRESSIONS_JSON VERSION [VERSION ...]
"""
import json, sys
from session import open_session

table, expressions, versions = sys.argv[1], json.loads(sys.argv[2]), [int(v) for v in sys.argv[3:]]
line = "concat_ws('\t', " + ", ".join(f"coalesce(cast({e} as string), '-')" for e in expressions) + ")"
spark = open_session()
for version in versions:
    frame = spark.read.format("delta").option("versionAsOf", version).load(table)
    rows = sorted(row[0] for row in frame.selectExpr(line).collect())
    print(json.dumps({"version": version, "schema": json.loads(frame.schema.json()), "rows": rows}))
spark.stop()
