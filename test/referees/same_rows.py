"""Compares the rows of a table with the messages of a file, read by deltalake and Python alone.

usage: same_rows.py TABLE_URI STORAGE_OPTIONS_JSON FILE.ndjson|FILE.csv

Prints how many rows are equal; exits 1 with an example otherwise. A field that a message lacks equals null. Numbers compare as numbers,
timestamps by the instant.
"""
import collections, csv, datetime, json, os, sys
from deltalake import DeltaTable

uri, options, path = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]


def number(text):
    try:
        return float(text)
    except ValueError:
        return {"true": True, "false": False, "": None}.get(text, text)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in sorted(value.items()) if plain(item) is not None} or None
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, str):
        try:
            parsed = datetime.datetime.fromisoformat(value) if len(value) > 18 and "T" in value else None
            return parsed.astimezone(datetime.timezone.utc).isoformat() if parsed else value
        except ValueError:
            return value
    return str(value)


def text(row):
    return json.dumps(plain(row), sort_keys=True)


if path.endswith(".csv"):
    with open(path, newline="") as file:
        messages = [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]
else:
    with open(path, encoding="utf-8") as file:
        messages = [json.loads(line) for line in file if line.strip()]
rows = DeltaTable(uri, storage_options=options).to_pyarrow_table().to_pylist()
for row in rows:
    row.pop("_kafka", None)
expected, found = collections.Counter(map(text, messages)), collections.Counter(map(text, rows))
if expected != found:
    missing, extra = list((expected - found).elements()), list((found - expected).elements())
    sys.exit(f"{len(missing)} messages are no row, {len(extra)} rows are no message; for example\n{missing[:1]}\n{extra[:1]}")
print(len(rows))
sys.stdout.flush()
# The library's threads may abort the interpreter on its way out; what had to be said is said.
os._exit(0)
