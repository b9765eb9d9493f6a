"""Reads what the library wrote, and writes what it reads: with numpy, h5py, pyarrow, minari and tfrecord.

    python interchange.py read FOLDER     prints JSON of all that is in our files
    python interchange.py write FOLDER    writes files for us, and prints JSON of all that is in them
"""

import json
import pathlib
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import tfrecord


def plain(values):
    return np.asarray(values).ravel().tolist()


def from_flat(get):
    """Episodes in arrays with D4RL's names."""
    ends = np.asarray(get("terminals"), bool) | np.asarray(get("timeouts"), bool)
    starts = [0, *(np.flatnonzero(ends) + 1).tolist()]
    episodes = []
    for begin, end in zip(starts, starts[1:]):
        episodes.append({
            "state": plain(get("observations")[begin:end]),
            "final": plain(get("next_observations")[end - 1]),
            "action": plain(get("actions")[begin:end]),
            "reward": plain(get("rewards")[begin:end]),
            "terminated": bool(get("terminals")[end - 1]),
            "tag": int(get("tags")[begin]),
        })
    return episodes


def from_table(table):
    """Episodes in rows as RLDS has them."""
    episodes = []
    for row in table.to_pylist():
        if row["is_first"]:
            episodes.append({"state": [], "action": [], "reward": [], "tag": row["tag"]})
        episode = episodes[-1]
        if row["is_last"]:
            episode["final"] = plain(row["observation"])
            episode["terminated"] = row["is_terminal"]
        else:
            episode["state"] += plain(row["observation"])
            episode["action"] += plain(row["action"])
            episode["reward"].append(row["reward"])
    return episodes


def from_tfrecord(path):
    """Episodes as RLDS has them."""
    episodes = []
    for each in tfrecord.tfrecord_loader(str(path), None):
        steps = {name.removeprefix("steps/"): np.atleast_1d(each[name]) for name in each}
        count = len(steps["is_last"])
        assert steps["is_first"].tolist() == [1] + [0] * (count - 1)
        assert steps["is_last"].tolist() == [0] * (count - 1) + [1]
        observations = steps["observation"].reshape(count, -1)
        episodes.append({
            "state": plain(observations[:-1]),
            "final": plain(observations[-1]),
            "action": plain(steps["action"].reshape(count, -1)[:-1]),
            "reward": plain(steps["reward"][:-1]),
            "terminated": bool(steps["is_terminal"][-1]),
            "tag": int(steps["tag"][0]),
        })
    return episodes


def from_minari(folder):
    from minari import MinariDataset

    dataset = MinariDataset(folder)
    assert dataset.total_steps == sum(len(each.rewards) for each in dataset.iterate_episodes())
    episodes = []
    with h5py.File(folder / "main_data.hdf5") as file:
        for each in dataset.iterate_episodes():
            assert dataset.observation_space.contains(each.observations[0])
            assert dataset.action_space.contains(each.actions[0])
            attrs = file[f"episode_{each.id}"].attrs
            episodes.append({
                "state": plain(each.observations[:-1]),
                "final": plain(each.observations[-1]),
                "action": plain(each.actions),
                "reward": plain(each.rewards),
                "terminated": bool(each.terminations[-1]),
                "tag": int(attrs.get("tag", 0)),
            })
            assert bool(each.truncations[-1]) != episodes[-1]["terminated"]
    return episodes


def from_lerobot(folder):
    """Episodes by their places in the table of episodes. It also compares the metadata with the rows."""
    info = json.loads((folder / "meta/info.json").read_text())
    rows = pyarrow.parquet.read_table(folder / "data/chunk-000/file-000.parquet")
    # LeRobot asks for the columns by name, and casts lists to lists of a size.
    assert rows.column_names == list(info["features"])
    for name, feature in info["features"].items():
        kind = pa.bool_() if feature["dtype"] == "bool" else pa.type_for_alias(feature["dtype"])
        for size in reversed(feature["shape"] if feature["shape"] != [1] else []):
            kind = pa.list_(kind, size)
        assert rows[name].cast(kind).null_count == 0
    assert rows["index"].to_pylist() == list(range(len(rows))) and info["total_frames"] == len(rows)
    np.testing.assert_allclose(rows["timestamp"], np.array(rows["frame_index"]) / info["fps"], rtol=1e-6)

    stats = json.loads((folder / "meta/stats.json").read_text())
    for name, of in stats.items():
        values = np.array(rows[name].to_pylist(), np.float64).reshape(len(rows), -1)
        assert of["min"] == plain(values.min(0)) and of["max"] == plain(values.max(0)) and of["count"] == [len(rows)]
        np.testing.assert_allclose(of["mean"], values.mean(0), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(of["std"], values.std(0), rtol=1e-9, atol=1e-9)

    table = pyarrow.parquet.read_table(folder / "meta/tasks.parquet")
    # pandas makes the texts its index, by this note.
    assert table.schema.pandas_metadata["index_columns"] == ["task"]
    tasks = dict(zip(table["task_index"].to_pylist(), table["task"].to_pylist()))
    episodes = []
    found = pyarrow.parquet.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert len(found) == info["total_episodes"]
    for number, each in enumerate(found):
        part = rows.slice(each["dataset_from_index"], each["length"])
        assert each["dataset_to_index"] == each["dataset_from_index"] + each["length"]
        assert set(part["episode_index"].to_pylist()) == {number} == {each["episode_index"]}
        rewards = np.array(part["next.reward"], np.float64)
        np.testing.assert_allclose(each["stats/next.reward/q10"], [np.quantile(rewards, 0.1)], rtol=1e-9, atol=1e-9)
        assert each["tasks"] == [tasks[part["task_index"][0].as_py()]]
        ends = [part["next.done"].to_pylist(), part["next.truncated"].to_pylist()]
        assert not any(any(end[:-1]) for end in ends) and ends[0][-1] != ends[1][-1]
        episodes.append({
            "state": plain(part["observation.state"].to_pylist()),
            "final": part["next_observation.state"].to_pylist()[-1],
            "action": plain(part["action"].to_pylist()),
            "reward": part["next.reward"].to_pylist(),
            "terminated": ends[0][-1],
            "tag": int(each["tasks"][0].removeprefix("tag ")),
        })
    return episodes


def read(folder):
    found = {}
    with h5py.File(folder / "d4rl.hdf5") as file:
        found["d4rl"] = from_flat(lambda name: file[name][()])
        assert file["observations"].dtype == np.float32, file["observations"].dtype
    with np.load(folder / "steps.npz") as file:
        found["npz"] = from_flat(lambda name: file[name])
        assert file["terminals"].dtype == bool
        assert file["infos/logProb"].dtype == np.float64
    found["parquet"] = from_table(pyarrow.parquet.read_table(folder / "steps.parquet"))
    found["arrow"] = from_table(pyarrow.feather.read_table(folder / "steps.arrow"))
    found["tfrecord"] = from_tfrecord(folder / "steps.tfrecord")
    found["minari"] = from_minari(folder / "minari")
    found["lerobot"] = from_lerobot(folder / "lerobot")
    print(json.dumps(found))


def make(seed):
    """Episodes with observations of two parts, and what is in them."""
    random = np.random.default_rng(seed)
    episodes = []
    for number in range(5):
        count = int(random.integers(1, 30))
        episodes.append({
            "image": random.integers(0, 256, (count + 1, 3, 4)).astype(np.uint8),
            "speed": random.integers(-800, 800, (count + 1, 2)) / 8,  # float32 has them, too
            "action": random.integers(0, 5, count),
            "reward": random.integers(-800, 800, count) / 8,
            "terminated": number % 2 == 0,
        })
    return episodes


def write_minari(folder, episodes):
    import gymnasium
    from minari import MinariDataset
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    folder.mkdir()
    space = gymnasium.spaces.Dict({
        "image": gymnasium.spaces.Box(0, 255, (3, 4), np.uint8),
        "speed": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64),
    })
    storage = MinariStorage.new(
        folder, observation_space=space, action_space=gymnasium.spaces.Discrete(5)
    )
    storage.update_episodes([
        EpisodeBuffer(
            observations={"image": each["image"], "speed": each["speed"]},
            actions=each["action"],
            rewards=list(each["reward"]),
            terminations=[False] * (len(each["reward"]) - 1) + [each["terminated"]],
            truncations=[False] * (len(each["reward"]) - 1) + [not each["terminated"]],
            infos={"energy": np.arange(len(each["reward"]) + 1, dtype=np.float32)},
        )
        for each in episodes
    ])


def flat(episodes):
    def joined(name, part):
        return np.concatenate([each[name][part] for each in episodes])

    steps, following = slice(None, -1), slice(1, None)
    last = [np.arange(len(each["reward"])) == len(each["reward"]) - 1 for each in episodes]
    return {
        "observations/image": joined("image", steps),
        "observations/speed": joined("speed", steps),
        "next_observations/image": joined("image", following),
        "next_observations/speed": joined("speed", following),
        "actions": np.concatenate([each["action"] for each in episodes]),
        "rewards": np.concatenate([each["reward"] for each in episodes]),
        "terminals": np.concatenate([
            mask & each["terminated"] for mask, each in zip(last, episodes)
        ]),
        "timeouts": np.concatenate([
            mask & (not each["terminated"]) for mask, each in zip(last, episodes)
        ]),
    }


def table(episodes):
    """Rows with other names than ours, nested lists, and lists of any size."""
    arrays = flat(episodes)
    return pa.table({
        "obs.image": pa.array([row.tolist() for row in arrays["observations/image"]],
                              pa.list_(pa.list_(pa.uint8()))),
        "obs.speed": pa.array(list(arrays["observations/speed"]), pa.list_(pa.float64(), 2)),
        "new_obs.image": pa.array([row.tolist() for row in arrays["next_observations/image"]],
                                  pa.list_(pa.list_(pa.uint8()))),
        "new_obs.speed": pa.array(list(arrays["next_observations/speed"]), pa.list_(pa.float64(), 2)),
        "action": pa.array(arrays["actions"], pa.int64()),
        "reward": pa.array(arrays["rewards"], pa.float64()),
        "terminated": pa.array(arrays["terminals"]),
        "truncated": pa.array(arrays["timeouts"]),
        "note": pa.array(["text"] * len(arrays["rewards"])),
    })


def write_tfrecord(folder, episodes):
    """RLDS, once as examples and once as sequences."""
    whole = tfrecord.TFRecordWriter(str(folder / "steps.tfrecord"))
    lists = tfrecord.TFRecordWriter(str(folder / "lists.tfrecord"))
    for each in episodes:
        count = len(each["reward"]) + 1
        last = [0] * (count - 1)
        steps = {
            "observation/image": (each["image"].reshape(count, -1).astype(int), "int"),
            "observation/speed": (each["speed"], "float"),
            "action": (np.append(each["action"], 0), "int"),
            "reward": (np.append(each["reward"], 0.0), "float"),
            "is_first": (np.array([1, *last]), "int"),
            "is_last": (np.array([*last, 1]), "int"),
            "is_terminal": (np.array([*last, int(each["terminated"])]), "int"),
        }
        whole.write({
            f"steps/{name}": (values.ravel().tolist(), kind) for name, (values, kind) in steps.items()
        })
        lists.write({}, {name: (values.tolist(), kind) for name, (values, kind) in steps.items()})
    whole.close()
    lists.close()


def write(folder):
    episodes = make(1)
    write_tfrecord(folder, episodes)
    write_minari(folder / "minari", episodes)
    with h5py.File(folder / "d4rl.hdf5", "w") as file:
        for name, values in flat(episodes).items():
            file.create_dataset(name, data=values, compression="gzip")
        file.create_dataset("metadata/algorithm", data="random")
    np.savez(folder / "steps.npz", **flat(episodes))
    np.savez_compressed(folder / "packed.npz", **flat(episodes))
    with h5py.File(folder / "lzf.hdf5", "w") as file:
        for name, values in flat(episodes).items():
            file.create_dataset(name, data=np.repeat(values, 50, 0), compression="lzf")
    rows = table(episodes)
    pyarrow.parquet.write_table(rows, folder / "lz4.parquet", compression="lz4")
    pyarrow.feather.write_feather(rows, folder / "lz4.arrow", compression="lz4")
    for codec in ("snappy", "zstd", "gzip", "none"):
        pyarrow.parquet.write_table(
            rows, folder / f"{codec}.parquet", compression=codec, row_group_size=17
        )
    pyarrow.parquet.write_table(
        rows, folder / "plain.parquet", compression="none", use_dictionary=False, data_page_version="2.0"
    )
    pyarrow.parquet.write_table(
        rows, folder / "pages.parquet", compression="brotli", data_page_size=64, data_page_version="2.0"
    )
    pyarrow.parquet.write_table(
        rows, folder / "delta.parquet", use_dictionary=False, column_encoding={
            "action": "DELTA_BINARY_PACKED", "reward": "BYTE_STREAM_SPLIT", "terminated": "RLE",
        }
    )
    # Pages of one value.
    pyarrow.parquet.write_table(
        rows, folder / "ones.parquet", use_dictionary=False, row_group_size=1, column_encoding={"action": "DELTA_BINARY_PACKED"}
    )
    # Steps that are nearly all equal, as those of an environment and a policy without chance are.
    steps = 200_000
    zeros = np.zeros(steps)
    equal = pa.table({
        "observation": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4 * steps, np.float32)), 4),
        "action": pa.array(zeros.astype(np.int32)),
        "reward": pa.array(zeros),
        "terminated": pa.array(np.arange(steps) == steps - 1),
    })
    pyarrow.parquet.write_table(equal, folder / "equal.parquet", compression="zstd")
    # Lists with places of 64 bits, as polars writes them.
    large = pa.table({
        name: column.cast(pa.large_list(pa.float64())) if name.endswith(".speed") else
        column.cast(pa.large_list(pa.large_list(pa.uint8()))) if name.endswith(".image") else column
        for name, column in zip(rows.column_names, rows.columns)
    })
    with pa.ipc.new_file(folder / "large.arrow", large.schema) as writer:
        writer.write_table(large, max_chunksize=13)
    with pa.ipc.new_file(folder / "steps.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=13)
    with pa.ipc.new_stream(folder / "stream.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=13)
    # Types that are left out come first, so the buffers of the others are found only by whoever counts theirs.
    count = len(rows)
    texts = pa.array([str(k) for k in range(count)])
    kinds = {
        "null": pa.nulls(count),
        "struct": pa.array([{"a": k, "b": str(k)} for k in range(count)]),
        "union": pa.UnionArray.from_dense(
            pa.array([0] * count, pa.int8()), pa.array(range(count), pa.int32()), [texts, texts]
        ),
        "ends": pa.RunEndEncodedArray.from_arrays(pa.array([count], pa.int32()), pa.array([1.0])),
        "views": pa.array(["text that is too long to be inlined"] * count, pa.string_view()),
        "listviews": pa.array([[1]] * count, pa.list_view(pa.int32())),
        "words": texts.dictionary_encode(),
        "large": pa.array([["a"]] * count, pa.large_list(pa.large_string())),
        "map": pa.array([[("a", k)] for k in range(count)], pa.map_(pa.string(), pa.int32())),
        "decimal": pa.array(range(count), pa.decimal128(10, 2)),
    }
    for name in rows.column_names:
        kinds[name] = rows[name]
    kinds = pa.table(kinds)
    with pa.ipc.new_file(folder / "kinds.arrow", kinds.schema) as writer:
        writer.write_table(kinds, max_chunksize=13)
    print(json.dumps([
        {
            "states": {"state.image": plain(each["image"][:-1]), "state.speed": plain(each["speed"][:-1])},
            "finalStates": {"state.image": plain(each["image"][-1]), "state.speed": plain(each["speed"][-1])},
            "action": plain(each["action"]),
            "reward": plain(each["reward"]),
            "ending": "terminated" if each["terminated"] else "truncated",
        }
        for each in episodes
    ]))


command, folder = sys.argv[1:]
{"read": read, "write": write}[command](pathlib.Path(folder))
