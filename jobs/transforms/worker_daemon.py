"""The process that Spark's Python workers are forked from: it loads once what each of them would load for itself.

Spark starts it in place of `pyspark.daemon` (`spark.python.daemon.module`), which loads nothing before it forks: a
library may start threads as it is loaded, and a fork has none of them. What is loaded here starts none in the
environment that every Spark program gets (`kappa.core.spark_environment`, docs/decisions/0096).
"""

from __future__ import annotations

import gc

import pandas  # noqa: F401 - what Spark's serializers for Arrow load at a worker's first task
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401 - what a worker runs
from pyspark import daemon

from jobs.transforms import decode, fates, fold, windows  # noqa: F401 - what the tasks of our jobs run

if __name__ == "__main__":
    gc.collect()
    # Collections in the workers pass over it, which would copy each page that they mark.
    gc.freeze()
    daemon.manager()
