"""Reverb's own client, on the other side of a table: writes what TypeScript reads, and reads what TypeScript wrote.

Arguments: the port, what to do, and more for some of them. Prints JSON.
"""

import base64
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import reverb
import tensorflow as tf

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def shown(array):
    """An array in a form that both sides make alike."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        texts = [text if isinstance(text, bytes) else text.encode() for text in array.ravel().tolist()]
        data = [base64.b64encode(text).decode() for text in texts]
        return {"dtype": "string", "shape": list(array.shape), "data": data}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def read(client, table, count):
    """Items of a table as lists of columns."""
    samples = client.sample(table, int(count), emit_timesteps=False)
    return [{"priority": s.info.priority, "columns": [shown(column) for column in s.data]} for s in samples]


def every_dtype(step):
    """One value of each dtype, of shape [2, 3], different for each step."""
    random = np.random.default_rng(step)
    row = {}
    for name in DTYPES:
        numbers = random.integers(0, 100, (2, 3))
        row[name] = numbers.astype(name)
    row["string"] = np.array([[f"text {step}", "", "\u00e9\u4e2d"], ["a", "b" * 300, "c"]])
    return row


def write_dtypes(client, table):
    with client.writer(4, delta_encoded=True, chunk_length=3) as writer:
        for step in range(4):
            writer.append(every_dtype(step))
        writer.create_item(table, 4, 1.0)
    with client.trajectory_writer(4) as writer:
        for step in range(4):
            writer.append(every_dtype(step))
        history = writer.history
        writer.create_item(table, 2.0, {name: history[name][1:3] for name in history})
        writer.create_item(table, 3.0, {name: history[name][-1] for name in history})
    steps = [every_dtype(step) for step in range(4)]
    stack = lambda name, some: np.stack([np.asarray(step[name]) for step in some])
    names = sorted(steps[0])
    return [
        [shown(stack(name, steps)) for name in names],
        [shown(stack(name, steps[1:3])) for name in names],
        [shown(steps[3][name]) for name in names],
    ]


def structured(client, table, program):
    """Items that StructuredWriter makes by a program of patterns and steps."""
    structure = {"a": None, "b": None, "done": None}
    sw = reverb.structured_writer
    reference = sw.create_reference_step(structure)
    conditions = {
        "stepIndex": sw.Condition.step_index,
        "stepsSinceApplied": sw.Condition.steps_since_applied,
        "done": lambda: sw.Condition.data(structure)["done"],
    }

    def condition(rule):
        if rule["on"] == "isEndEpisode":
            return sw.Condition.is_end_episode()
        value = conditions[rule["on"]]()
        if rule["mod"]:
            value = value % rule["mod"]
        compare = {"eq": "__eq__", "ne": "__ne__", "ge": "__ge__", "gt": "__gt__", "le": "__le__", "lt": "__lt__"}
        return getattr(value, compare[rule["by"]])(rule["value"])

    def part(node):
        column = reference[node["column"]]
        if node["at"] is not None:
            return column[node["at"]]
        return column[node["start"] : node["stop"] or None : node["step"] if node["step"] > 1 else None]

    configs = []
    for config in program["configs"]:
        priority = None
        if config["td"] is not None:
            priority = sw.td_error(config["td"], structure, lambda step: step["b"])
        pattern = [part(node) for node in config["nodes"]]
        rules = [condition(rule) for rule in config["conditions"]]
        configs.append(sw.create_config(pattern, table, rules, priority))
    writer = client.structured_writer(configs)
    for call in program["calls"]:
        if "end" in call:
            writer.end_episode(clear_buffers=call["end"])
        else:
            step = {"a": np.int32(call["a"]), "done": np.bool_(call["done"])}
            if call["b"] is None:
                step["b"] = None
            else:
                step["b"] = np.float64(call["b"])
            writer.append(step, partial_step=False)
    writer.flush()
    count = client.server_info()[table].current_size
    return read(client, table, count) if count else []


def main():
    port, what, *rest = sys.argv[1:]
    client = reverb.Client(f"localhost:{port}")
    if what == "read":
        result = read(client, *rest)
    elif what == "write_dtypes":
        result = write_dtypes(client, *rest)
    elif what == "structured":
        result = structured(client, rest[0], json.loads(rest[1]))
    elif what == "many_structured":
        result = []
        for program in json.loads(rest[1]):
            result.append(structured(client, rest[0], program))
    print(json.dumps(result))


main()
