"""A real Reverb server for tests: prints its port as JSON, and ends when its input does.

Argument: one JSON object. `tables`: each has `name`, `sampler`, `remover`, `max_size`, `rateLimiter`, and perhaps `max_times_sampled` and
`signature`. `checkpoint`: the folder of its checkpoints. `port`: its port, or a free one. Afterwards each line of the input is a question:
`{"can_sample": [table, count]}` or `{"can_insert": [table, count]}` gets a line with true or false.
"""

import collections
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import reverb
import tensorflow as tf


def selector(rule):
    kind = rule["kind"]
    if kind == "prioritized":
        return reverb.selectors.Prioritized(rule.get("exponent", 1.0))
    return {
        "uniform": reverb.selectors.Uniform,
        "fifo": reverb.selectors.Fifo,
        "lifo": reverb.selectors.Lifo,
        "min_heap": reverb.selectors.MinHeap,
        "max_heap": reverb.selectors.MaxHeap,
    }[kind]()


def limiter(rule):
    kind = rule["kind"]
    limiters = reverb.rate_limiters
    if kind == "min_size":
        return limiters.MinSize(rule["min_size"])
    if kind == "queue":
        return limiters.Queue(rule["size"])
    if kind == "stack":
        return limiters.Stack(rule["size"])
    ratio, size, error = rule["samples_per_insert"], rule["min_size"], rule["error_buffer"]
    # The class that takes any band.
    return limiters.RateLimiter(ratio, size, *error) if isinstance(error, list) else limiters.SampleToInsertRatio(ratio, size, error)


def signature(nest):
    if nest is None:
        return None
    if isinstance(nest, list):
        return tuple(signature(each) for each in nest)
    if "dtype" in nest:
        return tf.TensorSpec(nest["shape"], getattr(tf, nest["dtype"]), nest.get("name"))
    if isinstance(nest.get("namedTuple"), str):
        names = [name for name, _ in nest["fields"]]
        return collections.namedtuple(nest["namedTuple"], names)(*[signature(each) for _, each in nest["fields"]])
    return {name: signature(each) for name, each in nest.items()}


def main():
    options = json.loads(sys.argv[1])
    tables = [
        reverb.Table(
            name=each["name"],
            sampler=selector(each["sampler"]),
            remover=selector(each["remover"]),
            max_size=each["max_size"],
            rate_limiter=limiter(each["rateLimiter"]),
            max_times_sampled=each.get("max_times_sampled", 0),
            signature=signature(each.get("signature")),
        )
        for each in options["tables"]
    ]
    checkpointer = reverb.platform.checkpointers_lib.DefaultCheckpointer(options["checkpoint"])
    server = reverb.Server(tables, port=options.get("port"), checkpointer=checkpointer)
    print(json.dumps({"port": server.port}), flush=True)
    named = {table.name: table for table in tables}
    for line in sys.stdin:
        ((method, (name, count)),) = json.loads(line).items()
        print(json.dumps(getattr(named[name], method)(count)), flush=True)
    # A server with calls that wait does not stop by itself.
    os._exit(0)


main()
