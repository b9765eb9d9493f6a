"""Records frames of Atari games, for bench/packing/measure.cpp.

A frame is what agents learn from: the larger of the last two screens of four, grey, reduced to 84 x 84 by areas. Actions stick with a
probability of 0.25. There are four policies:

- random: each action as likely as the others.
- sticky: a random action for 1 to 40 steps.
- search: tries several continuations in a copy of the emulator, and takes four steps of the best one. It lives longer and gets further than
  the random policy, as a trained one does.
- rally: moves the paddle to where the ball is, which it reads from the console's memory. It is for Pong and Breakout only.

  python frames.py --policy=search --count=1000 --out=FILE [--games=pong,qbert] [--native]

With --native, a frame is the whole screen in colours: 210 x 160 x 3 bytes. The file has all frames of the first game, then those of the second, and so on. The games' returns go to stderr.
"""

import argparse
import sys

import numpy as np
from ale_py import Action, ALEInterface, LoggerMode, roms

GAMES = "alien,asterix,beam_rider,breakout,enduro,ms_pacman,pong,qbert,riverraid,seaquest,space_invaders,freeway"
SKIP = 4
SIDE = 84


def area_weights(large, small):
    """The share of each large pixel in each small one."""
    weights = np.zeros((small, large), np.float32)
    scale = large / small
    for to in range(small):
        first, last = to * scale, (to + 1) * scale
        for at in range(int(first), min(large, int(np.ceil(last)))):
            weights[to, at] = (min(last, at + 1) - max(first, at)) / scale
    return weights


class Game:
    def __init__(self, name, seed, native):
        self.name = name
        self.native = native
        self.ale = ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", 0.25)
        self.ale.loadROM(roms.get_rom_path(name))
        self.actions = self.ale.getMinimalActionSet()
        height, width = self.ale.getScreenDims()
        self.down = area_weights(height, SIDE)
        self.across = area_weights(width, SIDE).T

    def step(self, action):
        """The reward of four screens, without looking at them."""
        return sum(self.ale.act(action) for _ in range(SKIP))

    def screen(self):
        return self.ale.getScreenRGB() if self.native else self.ale.getScreenGrayscale()

    def seen_step(self, action):
        reward = 0
        for k in range(SKIP):
            reward += self.ale.act(action)
            if k == SKIP - 2:
                before = self.screen()
        screen = np.maximum(before, self.screen())
        if self.native:
            return reward, screen[:210]
        frame = np.rint(self.down @ screen.astype(np.float32) @ self.across).astype(np.uint8)
        return reward, frame


def random_policy(game, rng):
    while True:
        yield game.actions[rng.integers(len(game.actions))]


def sticky_policy(game, rng):
    while True:
        action = game.actions[rng.integers(len(game.actions))]
        for _ in range(rng.integers(1, 41)):
            yield action


def search_policy(game, rng, plans=12, depth=14, taken=4):
    while True:
        start = game.ale.cloneState()
        lives = game.ale.lives()
        best, best_value = None, -np.inf
        for _ in range(plans):
            # Actions hold for some steps, so that a plan gets somewhere.
            plan = []
            while len(plan) < depth:
                plan += [game.actions[rng.integers(len(game.actions))]] * int(rng.integers(1, 6))
            value = 0.0
            for at, action in enumerate(plan[:depth]):
                value += game.step(action) * 0.98**at
                if game.ale.game_over() or game.ale.lives() < lives:
                    value -= 1000 * 0.98**at
                    break
            game.ale.restoreState(start)
            if value > best_value:
                best, best_value = plan, value
        yield from best[:taken]


def rally_policy(game, rng):
    """Follows the ball: where it is, and where the paddle is, stands in the console's memory."""
    last = 0
    while True:
        ram = game.ale.getRAM()
        if game.name == "pong":
            gap = int(ram[54]) - int(ram[51]) - 12
            yield Action.NOOP if abs(gap) < 4 else Action.LEFT if gap > 0 else Action.RIGHT
        else:
            ball, in_play = int(ram[99]), 0 < int(ram[101]) < 200
            speed = ball - last if abs(ball - last) < 40 else 0
            last = ball
            gap = ball + speed - int(ram[72]) - 8
            yield Action.FIRE if not in_play else Action.NOOP if abs(gap) < 4 else Action.RIGHT if gap > 0 else Action.LEFT


POLICIES = {"random": random_policy, "sticky": sticky_policy, "search": search_policy, "rally": rally_policy}


def record(name, policy, count, seed, native):
    game = Game(name, seed, native)
    rng = np.random.default_rng(seed)
    frames = np.zeros((count, 210, 160, 3) if native else (count, SIDE, SIDE), np.uint8)
    actions = POLICIES[policy](game, rng)
    returns, total = [], 0
    for at in range(count):
        if game.ale.game_over():
            game.ale.reset_game()
            returns.append(total)
            total = 0
            actions = POLICIES[policy](game, rng)
        reward, frame = game.seen_step(next(actions))
        frames[at, : len(frame)] = frame
        total += reward
    print(f"{name} {policy}: returns {returns} and {total} so far", file=sys.stderr, flush=True)
    return frames


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", choices=POLICIES, default="random")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--games", default=GAMES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    ALEInterface.setLoggerMode(LoggerMode.Error)
    with open(options.out, "wb") as file:
        for name in options.games.split(","):
            file.write(record(name, options.policy, options.count, options.seed, options.native).tobytes())


if __name__ == "__main__":
    main()
