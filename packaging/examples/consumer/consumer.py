#!/usr/bin/env python3
"""Verdicts from a Kafka topic into PostgreSQL, each once: consumer.py BROKERS TOPIC GROUP MEMBER "CONNECTION STRING"

One transaction writes a batch of verdicts under their unique key, and what follows from those that are new. After it the
offsets are committed. Whatever is killed in between, the batch comes again, and the key cuts off what is there already.
"""
import signal, sys, time
import psycopg2
from confluent_kafka import Consumer, TopicPartition

BATCH_RECORDS_MAX, RETRY_SECONDS = 500, 0.2
# Sorted, so that two of these never wait for each other's rows crosswise.
WRITE = """
    WITH fresh AS (
        INSERT INTO verdicts (source, id, key, decision, score, sequence, decided, verdict)
        SELECT v->>'source', v->>'id', v->>'key', v->>'decision', (v->>'score')::numeric, (v->>'sequence')::bigint,
               (v->>'decided')::timestamptz, v
        FROM unnest(%s) AS line, CAST(line AS jsonb) AS v ORDER BY 1, 2
        ON CONFLICT (source, id) DO NOTHING RETURNING key, score
    ), added AS (
        INSERT INTO balances AS b (key, verdicts, score)
        SELECT coalesce(key, ''), count(*), coalesce(sum(score), 0) FROM fresh GROUP BY 1 ORDER BY 1
        ON CONFLICT (key) DO UPDATE SET verdicts = b.verdicts + excluded.verdicts, score = b.score + excluded.score
    ) SELECT count(*) FROM fresh"""
REJECT = "INSERT INTO rejected VALUES (sha256(%s), %s, %s, %s) ON CONFLICT DO NOTHING"

brokers, topic, group, member, database = sys.argv[1:]
connection, running = None, True


def write(batch):
    """All of them in one transaction, or none. How many were new."""
    with connection, connection.cursor() as cursor:
        cursor.execute(WRITE, ([(record.value() or b"").decode() for record in batch],))
        return cursor.fetchone()[0]


def reject(record, reason):
    value, place = record.value() or b"", f"{record.topic()}/{record.partition()}@{record.offset()}"
    with connection, connection.cursor() as cursor:
        cursor.execute(REJECT, (value, value, place, str(reason)))


def take(batch):
    """Tries until the batch is in, however often the database goes away. How many were new."""
    global connection
    while True:
        try:
            connection = connection or psycopg2.connect(database, connect_timeout=10, tcp_user_timeout=30000)
            try:
                return write(batch)
            except (psycopg2.DataError, psycopg2.IntegrityError, ValueError) as reason:
                if len(batch) > 1:  # one of them: the others are to flow on
                    return sum(take([record]) for record in batch)
                reject(batch[0], reason)
                return 0
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:  # away, restarting, full, a deadlock
            print(f"database: {error}".strip(), file=sys.stderr, flush=True)
            connection = None  # COMMIT may have gone through unseen: then the next try finds nothing new
            time.sleep(RETRY_SECONDS)


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer({
    "bootstrap.servers": brokers, "group.id": group,
    "group.instance.id": member,  # back after a kill it has its partitions at once, not after the session's time-out
    "auto.offset.reset": "earliest",  # what came before the first start counts
    "enable.auto.commit": False, "enable.auto.offset.store": False,  # offsets follow the database, never the clock
    "isolation.level": "read_uncommitted",  # repeats are cut off here: nothing is to be waited for
    "reconnect.backoff.max.ms": 1000,
})
consumer.subscribe([topic])
while running:
    first = consumer.poll(1.0)
    batch = [first] + consumer.consume(BATCH_RECORDS_MAX - 1, 0) if first else []
    for failed in filter(None, (record.error() for record in batch)):
        if failed.fatal():
            sys.exit(f"kafka: {failed}")  # start it again: it goes on where it was
    batch = [record for record in batch if not record.error()]
    if batch:
        new = take(batch)
        # Named one by one: otherwise the client commits whatever it has handed over by the time it gets round to it, the
        # next batch too, which is not written yet. Lost on the way, a commit costs repeats, which are cut off.
        ends = {(record.topic(), record.partition()): record.offset() + 1 for record in batch}
        consumer.commit(offsets=[TopicPartition(*place, end) for place, end in ends.items()], asynchronous=True)
        print(f"{new} new, {len(batch) - new} known", flush=True)
consumer.close()
