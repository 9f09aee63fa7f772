"""Reads a run (`chronoscope report 12 --format json -o run.json`) into a pandas frame.

A row is a series; each parameter and each statistic has a column:

    import pandas
    from frame import rows
    frame = pandas.DataFrame(rows("run.json"))
    switches = frame[(frame.experiment == "switch") & frame.proven]
    print(switches.pivot_table(index="target", columns="pair", values="p50"))
"""

import json

STATISTICS = ["count", "min", "p50", "p90", "p99", "p999", "p9999", "max", "mean", "sigma"]


def rows(path):
    """Returns a dictionary for each series of each case."""
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    return [
        {
            "experiment": case["experiment"],
            "target": case["target"],
            **case["parameters"],
            "series": series["name"],
            "role": series["role"],
            "unit": series["unit"],
            **{name: series[name] for name in STATISTICS},
            "proven": case["verdict"]["status"] in ("pass", "limit-missed", "regression", "mixed"),
            "verdict": case["verdict"]["status"],
        }
        for case in run["cases"]
        for series in case["series"]
    ]
