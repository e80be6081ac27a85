"""What Spark says of expressions on the rows of a table, in the order of column `id`: one JSON line for each expression, a list of true,
false and null. Where an expression fails by the rules of ANSI, `{"lenient": ...}` is what Spark says without them.

usage: JARS=dir verdicts.py TABLE EXPRESSIONS_FILE
"""
import json, sys
from pyspark.sql import DataFrame
from session import open_session

table, expressions = sys.argv[1], json.load(open(sys.argv[2]))
spark = open_session()
read = spark.read.format("delta").load(table).orderBy("id")._jdf
# Over rows that are in memory Spark computes a projection while it plans: no job is run.
rows = DataFrame(spark._jsparkSession.createDataFrame(read.collectAsList(), read.schema()), spark)
ids = [row[0] for row in rows.select("id").collect()]


def verdict(expression, among):
    return [row[0] for row in among.selectExpr(f"({expression})").collect()]


def lenient(expression, id):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    told = verdict(expression, rows.where(f"id = {id}"))
    spark.conf.set("spark.sql.ansi.enabled", "true")
    return [{"lenient": told[0]}]


for expression in expressions:
    try:
        told = verdict(expression, rows)
    except Exception as failure:
        if type(failure).__name__ in ("AnalysisException", "ParseException"):
            raise
        told = []
        for id in ids:
            try:
                told += verdict(expression, rows.where(f"id = {id}"))
            except Exception:
                told += lenient(expression, id)
    print(json.dumps(told))
spark.stop()
