"""What the actor and the learner in Python share: CartPole, the network and the settings. All of it is numpy.

The TypeScript side has the same: `CartPole` of `@exrp/replay/envs`, and `examples/_q_network.ts`. All weights of a network are one vector, layer by
layer, so that either language can act with what the other has learned.
"""

import json
import pathlib

import numpy as np

SETTINGS = json.loads((pathlib.Path(__file__).parent / "settings.json").read_text())

STATE_SIZE = 4
LAYERS = [(STATE_SIZE, 64), (64, 64), (64, 2)]
STATE_SCALE = np.float32([1 / 2.4, 1 / 2, 1 / 0.21, 1 / 2])


def scheduled(name, update):
    """A number of the settings that moves linearly with the updates."""
    setting = SETTINGS[name]
    return setting["first"] + (setting["last"] - setting["first"]) * min(1, update / setting["updates"])


class CartPoles:
    """CartPole-v1, as many as you like at once, with the numbers of Gymnasium's. States are float32 `[count, 4]`."""

    def __init__(self, count, random):
        self.random = random
        self.state = np.zeros((count, STATE_SIZE))
        self.steps = np.zeros(count, int)
        self.reset(slice(None))

    def reset(self, which):
        """Begins new episodes in the environments that `which` selects."""
        self.state[which] = self.random.uniform(-0.05, 0.05, self.state[which].shape)
        self.steps[which] = 0

    def observe(self):
        return self.state.astype(np.float32)

    def step(self, actions):
        """Takes a step in each. Returns which episodes terminated, and which were cut off; each reward is 1."""
        position, velocity, angle, spin = self.state.T
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (np.where(actions == 1, 10.0, -10.0) + 0.05 * spin**2 * sine) / 1.1
        angular = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        acceleration = push - 0.05 * angular * cosine / 1.1
        self.state = self.state + 0.02 * np.stack([velocity, acceleration, spin, angular], axis=1)
        self.steps += 1
        terminated = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 12 * np.pi / 180)
        return terminated, ~terminated & (self.steps == 500)


def layers_of(vector):
    """The kernel and bias of each layer, as views of one vector."""
    layers, offset = [], 0
    for inputs, outputs in LAYERS:
        kernel = vector[offset : offset + inputs * outputs].reshape(inputs, outputs)
        offset += inputs * outputs
        layers.append((kernel, vector[offset : offset + outputs]))
        offset += outputs
    return layers


def activations(layers, state):
    """The inputs of each layer and the output of the last: Q(state, ·) is the last one, `[count, 2]`."""
    values = [state * STATE_SCALE]
    for index, (kernel, bias) in enumerate(layers):
        x = values[-1] @ kernel + bias
        values.append(np.maximum(x, 0) if index + 1 < len(layers) else x)
    return values


def q_values(layers, state):
    return activations(layers, state)[-1]
