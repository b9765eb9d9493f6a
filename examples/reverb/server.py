"""Reverb's own server with the tables of `tables.json`, so that you can compare the two.

    .cache/peers/reverb/bin/python examples/reverb/server.py --port=8000

Ctrl-C ends it. Port 0 takes a free one.
"""

import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import reverb
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=8000)
arguments = parser.parse_args()

replay = reverb.Table(
    name="replay",
    sampler=reverb.selectors.Prioritized(0.6),
    remover=reverb.selectors.Fifo(),
    max_size=10_000,
    rate_limiter=reverb.rate_limiters.SampleToInsertRatio(
        samples_per_insert=128, min_size_to_sample=1000, error_buffer=25_600
    ),
    signature={
        "action": tf.TensorSpec([], tf.int32),
        "discount": tf.TensorSpec([3], tf.float32),
        "next_state": tf.TensorSpec([4], tf.float32),
        "reward": tf.TensorSpec([3], tf.float32),
        "state": tf.TensorSpec([4], tf.float32),
    },
)
variables = reverb.Table(
    name="variables",
    sampler=reverb.selectors.Fifo(),
    remover=reverb.selectors.Fifo(),
    max_size=1,
    rate_limiter=reverb.rate_limiters.MinSize(1),
)
server = reverb.Server([replay, variables], port=arguments.port or None)
print(f"serving replay, variables on port {server.port}", flush=True)
server.wait()
