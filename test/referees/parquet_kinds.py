"""Writes tables of one file each, of kinds of Parquet that DuckDB does not write, by pyarrow; their logs are written by hand.

usage: parquet_kinds.py FOLDER
"""
import datetime, decimal, json, os, sys
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import WriterProperties, write_deltalake

folder = sys.argv[1]
D = decimal.Decimal


def field(name, kind, metadata={}):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields):
    return {"type": "struct", "fields": fields}


def array(kind):
    return {"type": "array", "elementType": kind, "containsNull": True}


def mapping(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def features(*names):
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}


def write(name, fields, files, protocol={"minReaderVersion": 1, "minWriterVersion": 2}, configuration={}, **options):
    path = os.path.join(folder, name)
    os.makedirs(os.path.join(path, "_delta_log"))
    metadata = {
        "id": name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(struct(*fields)),
        "partitionColumns": [],
        "configuration": configuration,
    }
    lines = [{"protocol": protocol}, {"metaData": metadata}]
    for index, table in enumerate(files):
        file = f"part-{index}.parquet"
        pq.write_table(table, os.path.join(path, file), **options)
        size = os.path.getsize(os.path.join(path, file))
        add = {"path": file, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
        lines.append({"add": add})
    with open(os.path.join(path, "_delta_log", f"{0:020d}.json"), "w") as log:
        log.write("\n".join(map(json.dumps, lines)))


def typed(**columns):
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})


nested = pa.struct([("x", pa.int16()), ("l", pa.list_(pa.int8())), ("d", pa.decimal128(4, 1))])
write(
    "widened",
    [
        field("i", "long"), field("b", "integer"), field("f", "double"), field("d", "decimal(20,5)"),
        field("day", "timestamp_ntz"), field("id", "double"), field("idec", "decimal(12,1)"),
        field("s", struct(field("x", "long"), field("l", array("integer")), field("d", "decimal(10,3)"))),
        field("m", mapping("long", "double")), field("days", array("timestamp_ntz")),
    ],
    [
        typed(
            i=([1, None], pa.int32()), b=([-3, 127], pa.int8()), f=([1.1, float("nan")], pa.float32()),
            d=([D("1.23"), D("-9.99")], pa.decimal128(5, 2)),
            day=([datetime.date(1500, 1, 1), datetime.date(9999, 12, 31)], pa.date32()),
            id=([7, 8], pa.int32()), idec=([7, -8], pa.int32()), s=([{"x": 1, "l": [1, 2], "d": D("1.5")}, None], nested),
            m=([[(1, 1.5)], []], pa.map_(pa.int32(), pa.float32())),
            days=([[datetime.date(1970, 1, 2)], None], pa.list_(pa.date32())),
        )
    ],
    protocol=features("typeWidening", "timestampNtz"),
)

moments = [datetime.datetime(1, 1, 1), datetime.datetime(1582, 10, 4, 1, 2, 3), datetime.datetime(9999, 12, 31, 23, 59, 59, 999000)]
recent = [datetime.datetime(1700, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), None]
write("int96", [field("t", "timestamp")], [typed(t=(recent, pa.timestamp("ns")))], use_deprecated_int96_timestamps=True)
write(
    "millis",
    [field("t", "timestamp"), field("n", "timestamp_ntz")],
    [typed(t=(moments, pa.timestamp("ms", "UTC")), n=(moments, pa.timestamp("ms")))],
    protocol=features("timestampNtz"),
)
for name, as_integer in (("decimals as integers", True), ("decimals as bytes", False)):
    write(
        name,
        [field("a", "decimal(9,2)"), field("b", "decimal(18,4)"), field("c", "decimal(38,10)")],
        [
            typed(
                a=([D("1234567.89"), D("-0.01")], pa.decimal128(9, 2)),
                b=([D("12345678901234.5678"), D("-0.0001")], pa.decimal128(18, 4)),
                c=([D("1234567890123456789012345678.0123456789"), D("-0.0000000001")], pa.decimal128(38, 10)),
            )
        ],
        store_decimal_as_integer=as_integer,
    )
write(
    "floats",
    [field("f", "float"), field("d", "double")],
    [
        typed(
            f=([float("inf"), float("-inf"), -0.0, 3.4028235e38], pa.float32()),
            d=([float("nan"), 1.7976931348623157e308, 5e-324, -0.0], pa.float64()),
        )
    ],
)
write(
    "far times",
    [field("d", "date"), field("t", "timestamp")],
    [
        pa.table(
            {
                "d": pa.array([-800000, -141428, 2932897, 10000000], pa.int32()).cast(pa.date32()),
                "t": pa.array([-62135596800000001, 253402300800000000, 9 * 10**18, -9 * 10**18], pa.timestamp("us", "UTC")),
            }
        )
    ],
)
write(
    "texts without a name for it",
    [field("t", "string"), field("s", struct(field("t", array("string"))))],
    [
        typed(
            t=(["ü\\x41".encode(), None], pa.binary()),
            s=([{"t": ["😀".encode()]}, None], pa.struct([("t", pa.list_(pa.binary()))])),
        )
    ],
)
write(
    "split bytes",
    [field("i", "integer")],
    [typed(i=([1, 2], pa.int32()))],
    use_dictionary=False,
    column_encoding={"i": "BYTE_STREAM_SPLIT"},
)
write(
    "nan beside numbers",
    [field("f", "float"), field("d", "double"), field("s", struct(field("d", "double")))],
    [
        typed(
            f=([1.0, float("nan")], pa.float32()), d=([float("nan"), 1.0], pa.float64()),
            s=([{"d": 1.0}, {"d": float("nan")}], pa.struct([("d", pa.float64())])),
        )
    ],
)
write_deltalake(
    os.path.join(folder, "by lz4"), pa.table({"id": [1]}), writer_properties=WriterProperties(compression="LZ4")
)
names = ["a.b", "a b", 'a"b', "it's", "ü😀", "select", "a`b", "__proto__", "constructor", "file_row_number", "filename"]
write(
    "names",
    [field(name, "long") for name in names] + [field("s.t", struct(field("in.ner", "long"), field('q"x', "string")))],
    [pa.table({**{name: [index] for index, name in enumerate(names)}, "s.t": pa.array([{"in.ner": 5, 'q"x': "y"}])})],
)


def numbered(name, kind, id):
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(id)})


def mapped(name, kind, id, physical):
    return field(name, kind, {"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical})


def spelled(a, b, c, d):
    """A file whose column 1 holds fields 2 and, in a list, 4, under any names."""
    item = numbered("element", pa.struct([numbered(d, pa.int32(), 4)]), 10)
    kind = pa.struct([numbered(b, pa.int32(), 2), numbered(c, pa.list_(item), 3)])
    return pa.Table.from_arrays([pa.array([{b: 1, c: [{d: 5}]}], kind)], schema=pa.schema([numbered(a, kind, 1)]))


inner = struct(mapped("d", "integer", 4, "col-d"), mapped("new", "string", 5, "col-new"))
fields = [
    mapped("a", struct(mapped("b", "integer", 2, "col-b"), mapped("c", array(inner), 3, "col-c")), 1, "col-a"),
    mapped("m", mapping("string", struct(mapped("v", "long", 7, "col-v"))), 6, "col-m"),
]
as_delta = spelled("col-a", "col-b", "col-c", "col-d")
# The names of the last one stand for other fields than in the table.
others = [spelled("A", "B", "C", "D"), spelled("col-m", "col-new", "col-b", "col-new")]
legacy = {"minReaderVersion": 2, "minWriterVersion": 5}
# All fields of the struct in each file were dropped since, and the table has others.
kept = struct(mapped("b", "integer", 8, "col-8"))
refilled = [
    mapped("a", kept, 1, "col-a"),
    mapped("l", array(kept), 9, "col-l"),
    mapped("m", mapping("string", kept), 10, "col-m"),
]
emptied = pa.struct([numbered("old", pa.struct([numbered("older", pa.int32(), 12)]), 11)])
then = pa.Table.from_arrays(
    [
        pa.array([{"old": {"older": 1}}, None, {"old": None}], emptied),
        pa.array([[{"old": {"older": 1}}, None], None, []], pa.list_(emptied)),
        pa.array([[("k", {"old": None}), ("l", None)], None, []], pa.map_(pa.string(), emptied)),
    ],
    schema=pa.schema(
        [numbered("col-a", emptied, 1), numbered("col-l", pa.list_(emptied), 9), numbered("col-m", pa.map_(pa.string(), emptied), 10)]
    ),
)
for mode in ("name", "id"):
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "12"}
    write(f"refilled by {mode}", refilled, [then], legacy, configuration)
write("mapped by name", fields, [as_delta], legacy, {"delta.columnMapping.mode": "name"})
write("mapped by id", fields, [as_delta, *others], legacy, {"delta.columnMapping.mode": "id"})
sys.stdout.flush()
# Threads of the libraries may still run when the interpreter takes itself down, which then ends in an abort now and then.
os._exit(0)
