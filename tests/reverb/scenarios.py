"""What the real client does in each recorded scenario. Arguments: the scenario and the port.

Tables: `queue` gives each item once, in order; `fifo` and `other` give the first one again; `signed` has a signature; `heap` has priorities.
"""

import sys

import numpy as np
import reverb
import tensorflow as tf

name, port = sys.argv[1], int(sys.argv[2])
address = f"localhost:{port}"


def step(at):
    return [np.arange(3, dtype=np.float32) + at, np.int32(at), np.asarray(at % 2 == 0)]


SHAPES = (tf.TensorShape([3]), tf.TensorShape([]), tf.TensorShape([]))
DTYPES = (tf.float32, tf.int32, tf.bool)


def fill(client, table="queue", count=6):
    with client.writer(max_sequence_length=1) as writer:
        for at in range(count):
            writer.append(step(at))
            writer.create_item(table, 1, at + 1.0)


def insert():
    client = reverb.Client(address)
    client.insert(step(0), {"queue": 1.5})
    client.insert({"text": np.array([b"one", b"two"]), "wide": np.arange(6, dtype=np.int64).reshape(2, 3)}, {"fifo": 0.0, "other": 2.5})
    client.insert([np.float64(2.5), np.uint8(7), np.array([1 + 2j], np.complex64)], {"other": 1.0})
    print([each[0].info.key for each in client.sample("fifo", 2)])


def legacy_writer():
    client = reverb.Client(address)
    with client.writer(max_sequence_length=4, delta_encoded=True, chunk_length=2) as writer:
        for at in range(5):
            writer.append([np.arange(4, dtype=np.int32) * at, np.float32(at)])
            if at >= 2:
                writer.create_item("queue", 3, at)
        writer.flush()
        writer.append_sequence([np.ones((3, 4), np.int32), np.zeros(3, np.float32)])
        writer.create_item("queue", 4, 1.0)
    print([len(each) for each in client.sample("queue", 4)])


def trajectory_writer():
    client = reverb.Client(address)
    with client.trajectory_writer(num_keep_alive_refs=4) as writer:
        writer.configure(("image",), num_keep_alive_refs=4, max_chunk_length=2)
        for episode in range(2):
            for at in range(4):
                writer.append({"image": np.full((4, 4), at, np.uint8), "act": np.int32(at)}, partial_step=True)
                if at % 2 == 0:
                    writer.append({"reward": np.float32(at)})
                else:
                    writer.append({"reward": np.float32(-at), "extra": np.float64(at)})
                if at >= 2:
                    history = writer.history
                    writer.create_item("queue", at + 0.5, {
                        "stack": history["image"][-3:],
                        "last": history["act"][-1],
                        "rewards": history["reward"][-2:],
                        "picked": history["act"][[-3, -1]],
                    })
            writer.flush()
            writer.end_episode(clear_buffers=episode == 0)
    print([list(each.data) for each in client.sample("queue", 4, emit_timesteps=False)])


def structured_writer():
    client = reverb.Client(address)
    pattern = reverb.structured_writer.pattern_from_transform(
        {"a": None, "b": None}, lambda one: {"window": one["a"][-3:], "last": one["b"][-1], "every": one["a"][-3::2]}
    )
    config = reverb.structured_writer.create_config(
        pattern=pattern, table="queue", conditions=[reverb.structured_writer.Condition.step_index() >= 2]
    )
    writer = client.structured_writer([config])
    for episode in range(2):
        for at in range(5):
            writer.append({"a": np.float32([at, episode]), "b": np.int64(at)})
        writer.end_episode()
    writer.flush()
    print(sum(1 for _ in client.sample("queue", 6, emit_timesteps=False)))


def sample():
    client = reverb.Client(address)
    fill(client)
    print([each[0].info for each in client.sample("queue", 3)])
    print([each.info for each in client.sample("queue", 2, emit_timesteps=False)])


def timestep_dataset():
    client = reverb.Client(address)
    fill(client)
    dataset = reverb.TimestepDataset(
        address, "queue", DTYPES, SHAPES, max_in_flight_samples_per_worker=2, num_workers_per_iterator=1, rate_limiter_timeout_ms=300
    )
    print(sum(1 for _ in dataset))


def trajectory_dataset():
    client = reverb.Client(address)
    with client.trajectory_writer(num_keep_alive_refs=3) as writer:
        for at in range(6):
            writer.append(step(at))
            if at >= 2:
                writer.create_item("queue", 1.0, [column[-3:] for column in writer.history])
        writer.flush()
    dataset = reverb.TrajectoryDataset(
        address, "queue", DTYPES, tuple(shape.__class__([3]).concatenate(shape) for shape in SHAPES),
        max_in_flight_samples_per_worker=3, num_workers_per_iterator=1, rate_limiter_timeout_ms=300,
    )
    print(sum(1 for _ in dataset))


def from_table_signature():
    client = reverb.Client(address)
    for at in range(3):
        client.insert((np.float32([at, at]), np.int32(at)), {"signed": 1.0})
    dataset = reverb.TimestepDataset.from_table_signature(address, "signed", 2, rate_limiter_timeout_ms=300)
    print(sum(1 for _ in dataset))
    client.insert((np.float32([7, 7]), np.int32(7)), {"signed": 1.0})
    print([each.data for each in client.sample("signed", 1, emit_timesteps=False, unpack_as_table_signature=True)])


def tf_client():
    client = reverb.TFClient(address)
    client.insert([tf.constant([1.0, 2.0]), tf.constant(3)], tf.constant(["heap"]), tf.constant([2.0], tf.float64))
    client.insert([tf.constant([3.0, 4.0]), tf.constant(4)], tf.constant(["heap"]), tf.constant([1.0], tf.float64))
    drawn = client.sample("heap", [tf.float32, tf.int32])
    client.update_priorities("heap", tf.reshape(drawn.info.key, [1]), tf.constant([9.0], tf.float64))
    print(client.sample("heap", [tf.float32, tf.int32]).info)


def mutate():
    client = reverb.Client(address)
    fill(client, "heap", 3)
    key = next(iter(client.sample("heap", 1)))[0].info.key
    client.mutate_priorities("heap", {key: 0.25})
    second = next(iter(client.sample("heap", 1)))[0].info.key
    client.mutate_priorities("heap", deletes=[second], updates={12345: 1.0})
    print(next(iter(client.sample("heap", 1)))[0].info)


def reset():
    client = reverb.Client(address)
    fill(client, "fifo", 3)
    client.reset("fifo")
    print(client.server_info()["fifo"].current_size)


def server_info():
    client = reverb.Client(address)
    fill(client, "fifo", 2)
    list(client.sample("fifo", 3))
    print(client.server_info(timeout=120))


def checkpoint():
    client = reverb.Client(address)
    fill(client, "fifo", 2)
    print(client.checkpoint())


def timeout():
    dataset = reverb.TimestepDataset(
        address, "queue", DTYPES, SHAPES, max_in_flight_samples_per_worker=2, rate_limiter_timeout_ms=50
    )
    print(sum(1 for _ in dataset))
    print(sum(1 for _ in dataset))


def cancels():
    client = reverb.Client(address)
    fill(client, "fifo", 3)
    dataset = reverb.TimestepDataset(address, "fifo", DTYPES, SHAPES, max_in_flight_samples_per_worker=4)
    for _ in dataset.take(3):
        pass
    writer = client.trajectory_writer(num_keep_alive_refs=2)
    writer.append(step(0))
    writer.create_item("other", 1.0, [column[-1:] for column in writer.history])
    writer.flush()
    writer.append(step(1))
    writer.close()
    print(next(iter(client.sample("fifo", 5)))[0].info.key)


def unknown_table():
    client = reverb.Client(address)
    for call in (
        lambda: list(client.sample("nothing", 1)),
        lambda: client.mutate_priorities("nothing", {1: 1.0}),
        lambda: client.reset("nothing"),
    ):
        try:
            call()
        except Exception as error:
            print(type(error).__name__, error)


globals()[name]()
sys.stdout.flush()
