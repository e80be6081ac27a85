"""The Spark of the referees: local, with Delta's jars from the folder that JARS names, in UTC."""
import glob, os
from pyspark.sql import SparkSession


def open_session():
    # Spark's own jars come with pyspark; of Maven's folder only what Delta adds is wanted.
    jars = [j for j in glob.glob(os.environ["JARS"] + "/*.jar") if os.path.basename(j).startswith(("delta-", "unitycatalog"))]
    conf = {
        "spark.jars": ",".join(jars),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Else an empty folder would come into the working one.
        "spark.sql.warehouse.dir": os.environ["JARS"] + "/warehouse",
        "spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2", "spark.databricks.delta.snapshotPartitions": "2", "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
