# What a table holds of its writers: written.py URI OPTIONS. Prints rows per (writer, seq), sorted.
import json
import os
import sys

from deltalake import DeltaTable

table = DeltaTable(sys.argv[1], storage_options=json.loads(sys.argv[2])).to_pyarrow_table(columns=["writer", "seq"])
counted = table.group_by(["writer", "seq"]).aggregate([([], "count_all")]).to_pylist()
print(json.dumps(sorted([row["writer"], row["seq"], row["count_all"]] for row in counted)))
sys.stdout.flush()
os._exit(0)
