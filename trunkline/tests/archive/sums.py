"""Prints the sums of every Parquet file in a folder as JSON, as DuckDB computes them."""

import json
import sys

import duckdb

SUMS = """
    SELECT parse_filename(filename) AS file, COUNT(*), SUM(duration_seconds)::VARCHAR, SUM(charge)::VARCHAR,
           SUM(cost)::VARCHAR, typeof(SUM(charge)), COUNT(DISTINCT id), MIN(epoch_ms(started_at)),
           MAX(epoch_ms(started_at))
    FROM read_parquet(?, filename = true) GROUP BY file ORDER BY file
"""

for row in duckdb.execute(SUMS, [f"{sys.argv[1]}/*.parquet"]).fetchall():
    names = ["file", "calls", "seconds", "charge", "cost", "type", "ids", "first", "last"]
    print(json.dumps(dict(zip(names, row))))
