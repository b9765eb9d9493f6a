"""Prints, as JSON, what a server says of its tables and all their items: each is sampled, and then deleted.

Argument: the port. Items come in the order in which the samplers choose them: [key, priority, times sampled, size of the table, columns]. A
column is [dtype, shape, bytes in hexadecimal]; texts are lists of those.
"""

import json
import sys

import numpy as np
import reverb

client = reverb.Client(f"localhost:{sys.argv[1]}")


def column(array):
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return ["string", array.shape, [bytes(each).hex() for each in array.reshape(-1)]]
    return [array.dtype.name, array.shape, array.tobytes().hex()]


def drained(table):
    items = []
    while client.server_info()[table].current_size > 0:
        (sample,) = client.sample(table, 1, emit_timesteps=False)
        info = sample.info
        items.append(
            [str(info.key), info.priority, info.times_sampled, info.table_size, [column(each) for each in sample.data]]
        )
        client.mutate_priorities(table, deletes=[info.key])
    return items


tables = client.server_info()
fields = (
    "sampler_options", "remover_options", "max_size", "max_times_sampled", "rate_limiter_info", "signature", "current_size",
    "num_episodes", "num_deleted_episodes", "num_unique_samples",
)
infos = {name: {field: str(getattr(info, field)) for field in fields} for name, info in sorted(tables.items())}
json.dump({"infos": infos, "items": {name: drained(name) for name in sorted(tables)}}, sys.stdout)
