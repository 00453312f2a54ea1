#!/usr/bin/env python3
"""Reads OpenMetrics text on stdin with the parser of the Prometheus project's client; prints the families as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = text_string_to_metric_families(sys.stdin.read())
shown = [
    {
        "name": family.name,
        "type": family.type,
        "unit": family.unit,
        "help": family.documentation,
        "samples": [
            {"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in family.samples
        ],
    }
    for family in families
]
json.dump(shown, sys.stdout)
