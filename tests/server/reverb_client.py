"""Calls everything that Reverb's Python client has, and all that went wrong on its own server. Argument: the port.

Tables: `u` uniform, `p` prioritized, `q` a queue of 3, `best` keeps the 2 largest priorities, `signed` has the signature of a
step and `whole` that of a trajectory, `once` gives each item once. Each check is an assertion; each that passed prints a line.
"""

import sys
import threading

import numpy as np
import reverb
import tensorflow as tf

port = int(sys.argv[1])
address = f"localhost:{port}"
client = reverb.Client(address)


def says(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), str(error)
        return
    raise AssertionError(f"nothing was raised; {words} was wanted")


def check(call):
    call()
    print(call.__name__, flush=True)
    for table in client.server_info():
        client.reset(table)


def row(at):
    return [np.full(4, at, np.float32), np.int32(at)]


def fill(table, count, priority=lambda at: 1.0):
    with client.writer(max_sequence_length=1) as writer:
        for at in range(count):
            writer.append(row(at))
            writer.create_item(table, 1, priority(at))


@check
def insert_and_sample():
    client.insert(row(7), {"u": 1.0, "p": 2.5})
    ((timestep,),) = client.sample("p", 1)
    assert timestep.info.priority == 2.5 and timestep.info.probability == 1.0 and timestep.info.table_size == 1
    assert timestep.info.times_sampled == 1
    np.testing.assert_array_equal(timestep.data[0], np.full(4, 7, np.float32))
    assert timestep.data[1] == 7 and timestep.data[1].dtype == np.int32


@check
def every_dtype():
    values = [np.array([0, 1], kind) for kind in (
        np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128)]
    values.append(np.array([b"bytes", "t\u00e4xt".encode()]))
    client.insert(values, {"u": 1.0})
    ((timestep,),) = client.sample("u", 1)
    for sent, came in zip(values, timestep.data):
        np.testing.assert_array_equal(np.asarray(sent), np.asarray(came))


@check
def legacy_writer_with_deltas():
    with client.writer(max_sequence_length=5, delta_encoded=True, chunk_length=2) as writer:
        for at in range(20):
            writer.append([np.arange(4, dtype=np.int64) * at, np.int32(at)])
            if at >= 4:
                writer.create_item("q" if at < 6 else "u", 5, 1.0)
        writer.append_sequence([np.ones((3, 4), np.int64), np.zeros(3, np.int32)])
        writer.create_item("u", 4, 1.0)
    assert client.server_info()["u"].current_size == 15
    for sample in client.sample("q", 2, emit_timesteps=False):
        first = int(sample.data[1][0])
        np.testing.assert_array_equal(sample.data[1], np.arange(first, first + 5))
        np.testing.assert_array_equal(sample.data[0][3], np.arange(4) * (first + 3))


@check
def trajectory_writer_with_slices():
    with client.trajectory_writer(num_keep_alive_refs=4) as writer:
        for at in range(10):
            writer.append({"a": np.full((2, 2), at, np.uint8), "b": np.int64(at)}, partial_step=True)
            writer.append({"c": np.float32(at)})
            if at >= 3:
                history = writer.history
                writer.create_item("once", float(at), {"stack": history["a"][-3:], "last": history["b"][-1], "some": history["c"][[-4, -2]]})
        writer.flush()
        writer.end_episode()
    assert client.server_info()["once"].num_episodes == 1
    samples = list(client.sample("once", 7, emit_timesteps=False))
    for at, sample in zip(range(3, 10), samples):
        last, some, stack = sample.data
        assert last == at and last.shape == ()
        np.testing.assert_array_equal(some, [at - 3, at - 1])
        np.testing.assert_array_equal(stack[:, 0, 0], [at - 2, at - 1, at])


@check
def structured_writer_with_conditions():
    pattern = reverb.structured_writer.pattern_from_transform({"a": None, "b": None}, lambda one: {"x": one["a"][-2:], "y": one["b"][-1]})
    config = reverb.structured_writer.create_config(
        pattern=pattern, table="once", conditions=[reverb.structured_writer.Condition.step_index() >= 1])
    writer = client.structured_writer([config])
    for _ in range(3):
        for at in range(4):
            writer.append({"a": np.float32([at]), "b": np.int64(at)})
        writer.end_episode()
    writer.flush(timeout_ms=120_000)
    assert client.server_info()["once"].current_size == 9
    for at, sample in zip([1, 2, 3] * 3, client.sample("once", 9, emit_timesteps=False)):
        assert sample.data[1] == at
        np.testing.assert_array_equal(sample.data[0][:, 0], [at - 1, at])
    del writer


@check
def sampling_many_at_once():
    fill("u", 300)
    seen = [sample[0].info.key for sample in client.sample("u", 500)]
    assert len(set(seen)) > 150
    assert client.server_info()["u"].num_unique_samples == len(set(seen))


@check
def datasets():
    fill("u", 300)
    types, shapes = (tf.float32, tf.int32), (tf.TensorShape([4]), tf.TensorShape([]))
    dataset = reverb.TimestepDataset(address, "u", types, shapes, max_in_flight_samples_per_worker=64, num_workers_per_iterator=2)
    for sample in dataset.batch(256).take(4):
        data = [np.asarray(each) for each in sample.data]
        assert data[0].shape == (256, 4) and (data[0][:, 0] == data[1]).all()
        assert (np.asarray(sample.info.probability) == 1 / 300).all()
    shapes = (tf.TensorShape([None, 4]), tf.TensorShape([None]))
    dataset = reverb.TrajectoryDataset(address, "u", types, shapes, max_in_flight_samples_per_worker=8, max_samples=20)
    assert sum(1 for _ in dataset) == 20


@check
def datasets_of_a_signature():
    for made, table in ((reverb.TimestepDataset, "signed"), (reverb.TrajectoryDataset, "whole")):
        for at in range(3):
            client.insert((np.float32([at, at]), np.int32(at)), {table: 1.0})
        dataset = made.from_table_signature(address, table, 8, rate_limiter_timeout_ms=200)
        data = [int(np.asarray(sample.data[1]).reshape(())) for sample in dataset.take(5)]
        assert set(data) <= {0, 1, 2}
    (sample,) = client.sample("whole", 1, emit_timesteps=False, unpack_as_table_signature=True)
    assert isinstance(sample.data, tuple) and sample.data[0].shape == (1, 2)
    assert client.server_info()["whole"].signature[1].dtype == tf.int32


@check
def a_writer_checks_the_signature():
    def wrong():
        with client.trajectory_writer(num_keep_alive_refs=1) as writer:
            writer.append((np.float64([1, 1]), np.int32(1)))
            writer.create_item("whole", 1.0, tuple(column[-1:] for column in writer.history))
            writer.flush()
    says(ValueError, "signature", wrong)


@check
def dataset_ends_after_the_timeout():
    fill("once", 5)
    dataset = reverb.TimestepDataset(
        address, "once", (tf.float32, tf.int32), (tf.TensorShape([4]), tf.TensorShape([])), max_in_flight_samples_per_worker=2, rate_limiter_timeout_ms=100)
    assert sum(1 for _ in dataset) == 5


@check
def in_graph_client():
    inside = reverb.TFClient(address)
    inside.insert([tf.constant([1.0, 2.0]), tf.constant(3)], tf.constant(["p"]), tf.constant([2.0], tf.float64))
    drawn = inside.sample("p", [tf.float32, tf.int32])
    assert drawn.data[1] == 3
    inside.update_priorities("p", tf.reshape(drawn.info.key, [1]), tf.constant([9.0], tf.float64))
    assert inside.sample("p", [tf.float32, tf.int32]).info.priority == 9.0


@check
def priorities_and_deletes():
    fill("p", 3, lambda at: [1.0, 2.0, 5.0][at])
    infos = {}
    for (timestep,) in client.sample("p", 500):
        infos[timestep.info.key] = timestep.info
    assert sorted(round(info.probability, 6) for info in infos.values()) == [0.125, 0.25, 0.625]
    low, middle, high = sorted(infos, key=lambda key: infos[key].priority)
    client.mutate_priorities("p", updates={low: 8.0, 99: 1.0}, deletes=[high, 98])
    drawn = {timestep.info.key: timestep.info for (timestep,) in client.sample("p", 200)}
    assert set(drawn) == {low, middle} and round(drawn[low].probability, 6) == 0.8


@check
def the_best_are_kept():
    fill("best", 3, lambda at: [5.0, 6.0, 1.0][at])
    assert client.server_info()["best"].current_size == 2
    ((timestep,),) = client.sample("best", 1)
    assert timestep.info.priority == 6.0 and timestep.info.probability == 1.0


@check
def reset_and_info():
    fill("u", 4)
    list(client.sample("u", 2))
    info = client.server_info(timeout=120)["u"]
    assert (info.current_size, info.num_episodes, info.max_size) == (4, 1, 1000)
    assert info.rate_limiter_info.insert_stats.completed == 4 and info.rate_limiter_info.sample_stats.completed == 2
    client.reset("u")
    assert client.server_info()["u"].current_size == 0


@check
def a_checkpoint():
    assert client.checkpoint() == "/checkpoints/1"


@check
def unknown_tables():
    words = "Priority table nobody was not found"
    says(RuntimeError, words, lambda: list(client.sample("nobody", 1)))
    says(RuntimeError, words, lambda: client.mutate_priorities("nobody", {1: 1.0}))
    says(RuntimeError, words, lambda: client.reset("nobody"))
    says(ValueError, "Unable to find signatures for table", lambda: client.insert(row(1), {"nobody": 1.0}))


def other_clients_go_on():
    other = reverb.Client(address)
    other.insert(row(2), {"p": 3.0})
    ((timestep,),) = other.sample("p", 1)
    assert timestep.info.priority == 3.0 and timestep.info.probability == 1.0


@check
def a_negative_priority_harms_nobody():
    says(RuntimeError, "Error when confirming", lambda: client.insert(row(1), {"p": -1.0}))

    def newer():
        with client.trajectory_writer(num_keep_alive_refs=1) as writer:
            writer.append(row(1))
            writer.create_item("p", -1.0, [column[-1:] for column in writer.history])
            writer.flush(timeout_ms=120_000)
    says(Exception, "priority", newer)
    assert client.server_info()["p"].current_size == 0
    other_clients_go_on()


@check
def an_infinite_priority_harms_nobody():
    says(RuntimeError, "Error when confirming", lambda: client.insert(row(1), {"p": float("inf")}))
    other_clients_go_on()


@check
def a_bad_update_changes_nothing():
    client.insert(row(1), {"p": 3.0})
    ((timestep,),) = client.sample("p", 1)
    key = timestep.info.key
    for bad in (-1.0, float("inf"), float("nan")):
        says(Exception, "", lambda: client.mutate_priorities("p", {key: bad}))
    ((timestep,),) = client.sample("p", 1)
    assert (timestep.info.priority, timestep.info.probability) == (3.0, 1.0)


@check
def a_full_queue_holds_its_writer():
    done = threading.Event()

    def write():
        mine = reverb.Client(address)
        with mine.writer(max_sequence_length=1) as writer:
            for at in range(30):
                writer.append(row(at))
                writer.create_item("q", 1, 1.0)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(0.5)
    assert client.server_info()["q"].current_size == 3
    came = [int(sample[0].data[1]) for sample in client.sample("q", 30)]
    assert came == list(range(30)), came
    thread.join(120)
    assert done.is_set()


@check
def a_sample_waits_for_an_insert():
    found = []
    thread = threading.Thread(target=lambda: found.extend(client.sample("u", 1)))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    reverb.Client(address).insert(row(5), {"u": 1.0})
    thread.join(120)
    assert found[0][0].data[1] == 5


@check
def images():
    picture = np.random.default_rng(1).integers(0, 255, (84, 84, 4), np.uint8)
    with client.trajectory_writer(num_keep_alive_refs=4) as writer:
        for at in range(40):
            writer.append([picture + np.uint8(at)])
            if at >= 3:
                writer.create_item("once", 1.0, [writer.history[0][-4:]])
        writer.flush()
    for at, sample in enumerate(client.sample("once", 37, emit_timesteps=False)):
        np.testing.assert_array_equal(sample.data[0][0], picture + np.uint8(at))


print("end", flush=True)
