"""Takes turns with other writers on one Delta table: turns.py TABLE. Each line of standard input is a turn, answered by one line of
JSON: `{"append": [WRITER, SEQ, ROWS]}`, `{"delete": SQL}`, `{"optimize": true}`, `{"sql": SQL}`, which gives the rows of a statement with {t} for the table, or `{"read": true}`, which
gives the rows of each (writer, seq).
"""
import json, sys
from session import open_session

table = sys.argv[1]
spark = open_session()
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    turn = json.loads(line)
    if "append" in turn:
        writer, seq, rows = turn["append"]
        frame = spark.range(rows).selectExpr(f"'{writer}' AS writer", f"cast({seq} as bigint) AS seq", "id AS n")
        frame.coalesce(1).write.format("delta").mode("append").save(table)
        answer = True
    elif "delete" in turn:
        spark.sql(f"DELETE FROM delta.`{table}` WHERE {turn['delete']}")
        answer = True
    elif "optimize" in turn:
        spark.sql(f"OPTIMIZE delta.`{table}`")
        answer = True
    elif "sql" in turn:
        rows = spark.sql(turn["sql"].replace("{t}", f"delta.`{table}`")).collect()
        answer = [row.asDict(recursive=True) for row in rows]
    else:
        rows = spark.read.format("delta").load(table).groupBy("writer", "seq").count().collect()
        answer = sorted([row["writer"], row["seq"], row["count"]] for row in rows)
    print(json.dumps(answer), flush=True)
spark.stop()
