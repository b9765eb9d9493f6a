"""An actor in Python: it plays CartPole and writes what happens to the server, by Reverb's own client.

    .cache/peers/reverb/bin/python examples/reverb/actor.py --address=localhost:8000

`main.ts` starts it. By hand it runs until you press Ctrl-C. `actor.ts` does the same, line by line.
"""

import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import reverb

from agent import SETTINGS, CartPoles, layers_of, q_values

N = SETTINGS["returnSteps"]


def add_step(writer, state, action, reward, discount):
    """Appends a step. The item is the transition from the step N steps ago to this one."""
    writer.append({
        "state": state,
        "action": np.int32(action),
        "reward": np.float32(reward),
        "discount": np.float32(discount),
    })
    if writer.episode_steps <= N:
        return
    history = writer.history
    writer.create_item("replay", priority=1.0, trajectory={
        "state": history["state"][-N - 1],
        "action": history["action"][-N - 1],
        "reward": history["reward"][-N - 1:-1],
        "discount": history["discount"][-N - 1:-1],
        "next_state": history["state"][-1],
    })
    # The table's rate limiter holds the actor back here, when the learner can't keep up.
    writer.flush(block_until_num_items=20)


def act(address, seed):
    client = reverb.Client(address)
    random = np.random.default_rng(seed)
    environment = CartPoles(1, random)
    step = 0
    with client.trajectory_writer(num_keep_alive_refs=N + 1) as writer:
        while True:
            # The newest weights. The first sample waits until the learner has put some there.
            if step % SETTINGS["refreshEvery"] == 0:
                (sample,) = client.sample("variables", 1, emit_timesteps=False)
                epsilon, weights = (column[0] for column in sample.data)
                layers = layers_of(weights)
            state = environment.observe()
            best = np.argmax(q_values(layers, state)[0])
            action = random.integers(2) if random.random() < epsilon else best
            (terminated,), (truncated,) = environment.step(np.array([action]))
            step += 1
            add_step(writer, state[0], action, 1, 0 if terminated else SETTINGS["discount"])
            if terminated or truncated:
                # The last steps of the episode have fewer than N steps after them. Steps that change nothing stand for what is missing.
                for _ in range(N):
                    add_step(writer, environment.observe()[0], 0, 0, 1)
                writer.end_episode()
                environment.reset(slice(None))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="localhost:8000")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        act(arguments.address, arguments.seed)
    except KeyboardInterrupt:
        pass
