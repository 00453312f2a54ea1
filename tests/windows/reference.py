#!/usr/bin/env python3
"""The fifteen features of tests/windows by pandas' rolling windows, over events in the order of time.

    reference.py EVENTS.ndjson > features.csv

Every label is taken as known seven days after its event, and a terminal's windows end seven days before the event that
asks, so a label is always known when it is asked for. Needs pandas (tests/models/venv).
"""

import sys

import pandas

DAYS, DELAY = (1, 7, 30), 7


def rolling(events, key, value, days):
    """Count and sum of the key's values in the last days up to each event, events of its own second that stand before it
    among them."""
    own = events.sort_values(key, kind="stable")
    window = own.set_index("TX_DATETIME").groupby(key)[value].rolling(f"{days}D")
    # By key, then by event: back into the order of the events.
    return [pandas.Series(found.to_numpy(), own.index).sort_index() for found in (window.count(), window.sum())]


def of_customers(events):
    """Count and mean amount of a customer's transactions in the last days, this one among them."""
    out = {}
    for days in DAYS:
        count, total = rolling(events, "CUSTOMER_ID", "TX_AMOUNT", days)
        out[f"CUSTOMER_ID_NB_TX_{days}DAY_WINDOW"] = count
        out[f"CUSTOMER_ID_AVG_AMOUNT_{days}DAY_WINDOW"] = total / count
    return pandas.DataFrame(out)


def of_terminals(events):
    """Count of a terminal's transactions and the share of fraud in them, in the days before the last seven."""
    out = {}
    recent_count, recent_fraud = rolling(events, "TERMINAL_ID", "TX_FRAUD", DELAY)
    for days in DAYS:
        whole_count, whole_fraud = rolling(events, "TERMINAL_ID", "TX_FRAUD", days + DELAY)
        count = (whole_count - recent_count).round()
        fraud = (whole_fraud - recent_fraud).round()
        out[f"TERMINAL_ID_NB_TX_{days}DAY_WINDOW"] = count
        out[f"TERMINAL_ID_RISK_{days}DAY_WINDOW"] = (fraud / count).where(count > 0, 0.0)
    return pandas.DataFrame(out)


def main(path):
    events = pandas.read_json(path, lines=True, dtype=False, precise_float=True)
    time = events["TX_DATETIME"] = pandas.to_datetime(events["TX_DATETIME"])
    flags = pandas.DataFrame(
        {
            "TRANSACTION_ID": events["TRANSACTION_ID"],
            "TX_AMOUNT": events["TX_AMOUNT"],
            "TX_DURING_WEEKEND": (time.dt.day_of_week >= 5).astype(int),
            "TX_DURING_NIGHT": (time.dt.hour < 7).astype(int),
        }
    )
    rows = pandas.concat([flags, of_customers(events), of_terminals(events)], axis=1)
    rows.to_csv(sys.stdout, index=False)


if __name__ == "__main__":
    main(sys.argv[1])
