"""Messages that fastavro writes, one line of JSON each: the schema, the bytes, and what they say as Python sees it."""

import base64
import datetime
import decimal
import io
import json
import random
import sys
import uuid

import fastavro

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
decimal.getcontext().prec = 100

SCHEMA = {
    "type": "record",
    "name": "Everything",
    "namespace": "referee",
    "fields": [
        {"name": "long", "type": "long"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "bytes", "type": "bytes"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 7}},
        {"name": "fixed", "type": {"type": "fixed", "name": "Cents", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "either", "type": ["null", "long", "string", {"type": "array", "items": "Kind"}]},
        {"name": "map", "type": {"type": "map", "values": "double"}},
        {"name": "next", "type": ["null", {"type": "record", "name": "Node", "fields": [
            {"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Node"]}]}]},
    ],
}


def moment(rng):
    return datetime.datetime(1, 1, 1) + datetime.timedelta(
        days=rng.randrange(3652058), seconds=rng.randrange(86400), microseconds=rng.randrange(1000000))


def sample(rng):
    at, ms, local = moment(rng), moment(rng), moment(rng)
    ms = ms.replace(microsecond=ms.microsecond // 1000 * 1000)
    clock = moment(rng).time()
    unscaled = rng.randrange(-10**30 + 1, 10**30)
    cents = rng.randrange(-10**20 + 1, 10**20)
    either = rng.choice([None, rng.randrange(-2**63, 2**63), "x\u00e9\U0001f600", ["A", "B", "A"]])
    chain = None
    for n in range(rng.randrange(4)):
        chain = {"n": n, "next": chain}
    value = {
        "long": rng.choice([rng.randrange(-2**63, 2**63), -2**63, 2**63 - 1, 2**53 + 1]),
        "text": rng.choice([None, "", 'q"\\\n\u2028']),
        "bytes": rng.randbytes(rng.randrange(9)),
        "price": decimal.Decimal(unscaled).scaleb(-7),
        "fixed": decimal.Decimal(cents).scaleb(-2),
        "day": at.date(),
        "at": at.replace(tzinfo=UTC),
        "ms": ms.replace(tzinfo=UTC),
        "local": local,
        "clock": clock,
        "uuid": uuid.UUID(bytes=rng.randbytes(16)),
        "kind": rng.choice(["A", "B"]),
        "either": either,
        "map": {"a": rng.random(), "b": -0.0},
        "next": chain,
    }
    said = {
        **value,
        "long": str(value["long"]),
        "bytes": base64.b64encode(value["bytes"]).decode(),
        "price": format(value["price"], "f"),
        "fixed": format(value["fixed"], "f"),
        "day": value["day"].isoformat(),
        "at": at.isoformat(timespec="microseconds") + "Z",
        "ms": ms.isoformat(timespec="milliseconds") + "Z",
        "local": local.isoformat(timespec="microseconds"),
        "clock": clock.isoformat(timespec="microseconds"),
        "uuid": str(value["uuid"]),
        "either": None if either is None else {
            {int: "long", str: "string", list: "array"}[type(either)]: str(either) if isinstance(either, int) else either},
        "map": {key: repr(number) for key, number in value["map"].items()},
        "next": None if chain is None else {
            "n": str(chain["n"]),
            "next": None if chain["next"] is None else json.dumps(chain["next"], separators=(",", ":"))},
    }
    return value, said


parsed = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
form = fastavro.schema.to_parsing_canonical_form(SCHEMA)
rng = random.Random(int(sys.argv[1]))
messages = []
for _ in range(int(sys.argv[2])):
    value, said = sample(rng)
    plain, single = io.BytesIO(), io.BytesIO()
    fastavro.schemaless_writer(plain, parsed, value)
    messages.append({"hex": plain.getvalue().hex(), "says": said})
print(json.dumps({
    "schema": SCHEMA,
    "canonical": form,
    "fingerprint": fastavro.schema.fingerprint(form, "CRC-64-AVRO"),
    "messages": messages,
}))
