"""Reverb's own client, unmodified, for bench/reverb.ts: measures whichever server it is told.

Each line of the input is an order as JSON: `case`, `port`, `seconds` or what the case needs. Each answer is a line of JSON. An item is one
step of 140 bytes in five columns; images are of 84x84x4 bytes.
"""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import reverb
import tensorflow as tf

TABLE = "uniform"
IMAGES = "images"
FLUSH = 64
BATCH = 256

random = np.random.default_rng(7)
STEP = [
    random.random(15, dtype=np.float32),
    random.random(3, dtype=np.float32),
    np.float32(0.5),
    random.random(15, dtype=np.float32),
    np.float32(0.0),
]
IMAGE = [random.integers(0, 256, (84, 84, 4), dtype=np.uint8) for _ in range(64)]
SPECS = [((15,), tf.float32), ((3,), tf.float32), ((), tf.float32), ((15,), tf.float32), ((), tf.float32)]
IMAGE_SPECS = [((84, 84, 4), tf.uint8)]

clients = {}


def client_of(port):
    if port not in clients:
        clients[port] = reverb.Client(f"localhost:{port}")
        clients[port].server_info()
    return clients[port]


def repeat(call, seconds, least=3):
    """Calls again and again. Returns calls a second of the whole time, and the shortest and longest call in seconds."""
    shortest, longest, count = float("inf"), 0.0, 0
    begin = now = time.perf_counter()
    end = begin + seconds
    while now < end or count < least:
        call()
        after = time.perf_counter()
        shortest, longest = min(shortest, after - now), max(longest, after - now)
        now = after
        count += 1
    return {"rate": count / (now - begin), "shortest": shortest, "longest": longest, "count": count}


def wait_for(order):
    """Several writers begin together."""
    left = order.get("at", 0) - time.time()
    if left > 0:
        time.sleep(left)


def writer(order):
    with client_of(order["port"]).writer(max_sequence_length=1) as writer:

        def call():
            for _ in range(FLUSH):
                writer.append(STEP)
                writer.create_item(TABLE, 1, 1.0)

        wait_for(order)
        result = repeat(call, order["seconds"])
        begin = time.perf_counter()
        writer.flush()
        return items(result, time.perf_counter() - begin)


def items(result, rest):
    """The flush at the end belongs to the time."""
    seconds = result["count"] / result["rate"] + rest
    return {"rate": FLUSH * result["count"] / seconds}


def trajectory_writer(order):
    with client_of(order["port"]).trajectory_writer(num_keep_alive_refs=1) as writer:

        def call():
            for _ in range(FLUSH):
                writer.append(STEP)
                writer.create_item(TABLE, 1.0, [column[-1:] for column in writer.history])
            writer.flush()

        wait_for(order)
        return items(repeat(call, order["seconds"]), 0)


def structured_writer(order):
    pattern = reverb.structured_writer.pattern_from_transform(STEP, lambda step: [column[-1:] for column in step])
    config = reverb.structured_writer.create_config(pattern=pattern, table=TABLE, conditions=[])
    writer = client_of(order["port"]).structured_writer([config])

    def call():
        for _ in range(FLUSH):
            writer.append(STEP)
        writer.flush()

    wait_for(order)
    return items(repeat(call, order["seconds"]), 0)


def insert(order):
    client = client_of(order["port"])
    wait_for(order)
    return repeat(lambda: client.insert(STEP, {TABLE: 1.0}), order["seconds"])


def sample(order):
    client = client_of(order["port"])
    count = order.get("count", BATCH)
    return repeat(lambda: sum(1 for _ in client.sample(order.get("table", TABLE), count)), order["seconds"])


def dataset(order):
    kinds = {"timestep": reverb.TimestepDataset, "trajectory": reverb.TrajectoryDataset}
    is_timestep = order["kind"] == "timestep"
    table = order.get("table", TABLE)
    specs = IMAGE_SPECS if table == IMAGES else SPECS
    source = kinds[order["kind"]](
        f"localhost:{order['port']}",
        table,
        dtypes=tuple(kind for _, kind in specs),
        shapes=tuple(tf.TensorShape(shape if is_timestep else (1, *shape)) for shape, _ in specs),
        max_in_flight_samples_per_worker=2 * BATCH,
        num_workers_per_iterator=1,
    )
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = False
    iterator = iter(source.batch(BATCH).with_options(options))
    next(iterator)
    # A steady rate: what was fetched ahead between the windows must not count.
    return repeat(lambda: next(iterator), order["seconds"])


def images_in(order):
    with client_of(order["port"]).writer(max_sequence_length=1) as writer:
        at = 0

        def call():
            nonlocal at
            for _ in range(FLUSH):
                writer.append([IMAGE[at % len(IMAGE)]])
                writer.create_item(IMAGES, 1, 1.0)
                at += 1

        result = repeat(call, order["seconds"])
        begin = time.perf_counter()
        writer.flush()
        return {"rate": items(result, time.perf_counter() - begin)["rate"] * IMAGE[0].nbytes}


def images_out(order):
    result = sample({**order, "table": IMAGES})
    return {"rate": BATCH * IMAGE[0].nbytes / result["shortest"]}


def mutate(order):
    client = client_of(order["port"])
    keys = list({each[0].info.key for each in client.sample(TABLE, 4 * order["keys"])})
    if len(keys) < order["keys"]:
        raise RuntimeError("too few items for so many keys")
    updates = {key: 1.5 for key in keys[: order["keys"]]}
    return repeat(lambda: client.mutate_priorities(TABLE, updates), order["seconds"])


def server_info(order):
    return repeat(lambda: client_of(order["port"]).server_info(), order["seconds"])


def worst(order):
    """The longest of each kind of call, beside others' load."""
    client = client_of(order["port"])
    keys = {each[0].info.key: 2.0 for each in client.sample(TABLE, 32)}
    calls = {
        "insert": lambda: client.insert(STEP, {TABLE: 1.0}),
        "sample": lambda: next(iter(client.sample(TABLE, 1))),
        "mutate": lambda: client.mutate_priorities(TABLE, keys),
    }
    wait_for(order)
    longest = dict.fromkeys(calls, 0.0)
    end = time.perf_counter() + order["seconds"]
    while time.perf_counter() < end:
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            longest[name] = max(longest[name], time.perf_counter() - begin)
    return longest


def fill(order):
    """Writes as many items, of one step each, by the writer that is recommended."""
    with client_of(order["port"]).trajectory_writer(num_keep_alive_refs=1) as writer:
        for at in range(order["count"]):
            writer.append(STEP)
            writer.create_item(TABLE, 1.0, [column[-1:] for column in writer.history])
            if at % FLUSH == FLUSH - 1:
                writer.flush()
        writer.flush()
    return {"size": client_of(order["port"]).server_info()[TABLE].current_size}


def reset(order):
    client_of(order["port"]).reset(order["table"])
    return {}


CASES = [
    *(writer, trajectory_writer, structured_writer, insert, sample, dataset),
    *(images_in, images_out, mutate, server_info, worst, fill, reset),
]


def main():
    cases = {case.__name__: case for case in CASES}
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = cases[order["case"]](order)
        except Exception as error:
            answer = {"error": f"{order}: {type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    os._exit(0)


main()
