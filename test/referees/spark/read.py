"""Reads versions of a Delta table with Spark and prints one JSON line a version: its schema, and its rows as sorted lines of the
given SQL expressions, separated by tabs, - for null.

usage: JARS=dir read.py TABLE EXPRESSIONS_JSON VERSION [VERSION ...]
"""
import glob, json, os, sys
from pyspark.sql import SparkSession

table, expressions, versions = sys.argv[1], json.loads(sys.argv[2]), [int(v) for v in sys.argv[3:]]
line = "concat_ws('\t', " + ", ".join(f"coalesce(cast({e} as string), '-')" for e in expressions) + ")"
# Spark's own jars come with pyspark; of Maven's folder only what Delta adds is wanted.
jars = [j for j in glob.glob(os.environ["JARS"] + "/*.jar") if os.path.basename(j).startswith(("delta-", "unitycatalog"))]
conf = {
    "spark.jars": ",".join(jars),
    "spark.driver.extraClassPath": ":".join(jars),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR",
}
builder = SparkSession.builder.master("local[2]")
for key, value in conf.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
for version in versions:
    frame = spark.read.format("delta").option("versionAsOf", version).load(table)
    rows = sorted(row[0] for row in frame.selectExpr(line).collect())
    print(json.dumps({"version": version, "schema": json.loads(frame.schema.json()), "rows": rows}))
spark.stop()
