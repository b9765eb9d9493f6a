"""A learner in Python: double DQN with a network in numpy, on batches that Reverb's own client samples from the server.

    .cache/peers/reverb/bin/python examples/reverb/learner.py --address=localhost:8000

`main.ts` starts it. It prints a line of JSON for each evaluation, and one at the end. TensorFlow is here only because Reverb's client needs it.
`learner.ts` does the same, line by line.
"""

import argparse
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import reverb

from agent import LAYERS, SETTINGS, CartPoles, activations, layers_of, q_values, scheduled


class Learner:
    """A Q-network, its target network, and Adam. `update` is one step of double DQN (van Hasselt et al. 2016, eq. 4)."""

    def __init__(self, random):
        parts = []
        for inputs, outputs in LAYERS:
            bound = inputs**-0.5
            parts.append(random.uniform(-bound, bound, (inputs + 1) * outputs))
        self.weights = np.concatenate(parts).astype(np.float32)
        self.target = self.weights.copy()
        self.mean = np.zeros_like(self.weights)
        self.square = np.zeros_like(self.weights)
        self.updates = 0

    def update(self, state, action, reward, discount, next_state, importance):
        """Learns from a batch, once. Returns the loss and the TD errors `[count]` from before the update."""
        rows = np.arange(len(action))
        online = layers_of(self.weights)
        next_action = np.argmax(q_values(online, next_state), axis=1)
        goal = reward + discount * q_values(layers_of(self.target), next_state)[rows, next_action]
        values = activations(online, state)
        error = values[-1][rows, action] - goal
        size = np.abs(error)
        loss = np.mean(importance * np.where(size < 1, 0.5 * size**2, size - 0.5))

        # Backwards through the layers. The slope of the Huber loss is the error, within ±1.
        slope = np.zeros_like(values[-1])
        slope[rows, action] = importance * np.clip(error, -1, 1) / len(action)
        gradient = np.empty_like(self.weights)
        slopes = layers_of(gradient)
        for index in reversed(range(len(LAYERS))):
            kernel, bias = slopes[index]
            kernel[:] = values[index].T @ slope
            bias[:] = slope.sum(axis=0)
            slope = (slope @ online[index][0].T) * (values[index] > 0)

        # Adam (Kingma and Ba 2015, algorithm 1) of the gradient, which is clipped by its norm.
        self.updates += 1
        gradient *= min(1, 10 / (np.linalg.norm(gradient) + 1e-6))
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient**2 - self.square)
        rate = scheduled("learningRate", self.updates)
        rate *= (1 - 0.999**self.updates) ** 0.5 / (1 - 0.9**self.updates)
        self.weights -= np.float32(rate) * self.mean / (np.sqrt(self.square) + 1e-8)
        self.target += SETTINGS["targetRate"] * (self.weights - self.target)
        return loss, error


def play(weights, count, random):
    """Plays greedy episodes, all at once. Returns their returns."""
    layers = layers_of(weights)
    environments = CartPoles(count, random)
    returns = np.zeros(count, int)
    playing = np.ones(count, bool)
    while playing.any():
        terminated, truncated = environments.step(np.argmax(q_values(layers, environments.observe()), axis=1))
        returns += playing
        playing &= ~terminated & ~truncated
    return returns


def discounted(reward, discount):
    """The n-step return of rewards and discounts `[count, n]`, and the discount of the value after them."""
    total, factor = np.zeros(len(reward), np.float32), np.ones(len(reward), np.float32)
    for k in range(reward.shape[1]):
        total += factor * reward[:, k]
        factor *= discount[:, k]
    return total, factor


def say(**line):
    print(json.dumps(line), flush=True)


def learn(address, seed, steps_max):
    client = reverb.Client(address)
    random = np.random.default_rng(seed)
    learner = Learner(random)
    # What an earlier learner left on the server is of no use.
    client.reset("replay")
    client.reset("variables")

    def publish():
        epsilon = np.float32(scheduled("exploration", learner.updates))
        client.insert({"epsilon": epsilon, "weights": learner.weights}, {"variables": 1.0})

    def inserted():
        return client.server_info()["replay"].rate_limiter_info.insert_stats.completed

    publish()
    first = inserted()
    batch_size = SETTINGS["batchSize"]
    dataset = reverb.TrajectoryDataset.from_table_signature(
        address, "replay", max_in_flight_samples_per_worker=2 * batch_size
    )
    best, kept, good, step = -1.0, learner.weights, 0, 0
    for info, data in dataset.batch(batch_size).as_numpy_iterator():
        # Importance weights make up for the fact that some transitions come more often than others.
        importance = (info.table_size * info.probability) ** -scheduled("beta", learner.updates)
        loss, error = learner.update(
            data["state"], data["action"], *discounted(data["reward"], data["discount"]), data["next_state"],
            (importance / importance.max()).astype(np.float32),
        )
        priorities = np.abs(error) + 0.01
        client.mutate_priorities("replay", updates=dict(zip(info.key.tolist(), priorities.tolist())))
        if learner.updates % SETTINGS["publishEvery"] == 0:
            publish()
        if learner.updates % SETTINGS["evaluation"]["every"] == 0:
            mean = float(play(learner.weights, SETTINGS["evaluation"]["episodes"], random).mean())
            if mean >= best:
                best, kept = mean, learner.weights.copy()
            step = inserted() - first
            say(update=learner.updates, step=step, loss=float(loss), **{"return": mean})
            good = good + 1 if mean >= SETTINGS["solved"]["return"] else 0
            if good == SETTINGS["solved"]["times"] or step >= steps_max:
                break
    # The best policy plays new episodes, which had no part in any choice.
    fresh = play(kept, 20, random)
    say(end=True, solved=good == SETTINGS["solved"]["times"], mean=float(fresh.mean()), worst=int(fresh.min()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="localhost:8000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60_000)
    arguments = parser.parse_args()
    learn(arguments.address, arguments.seed, arguments.steps)
