/**
 * How a cart moves that carries a pole: Florian, "Correct equations for the dynamics of the cart-pole system" (2005), without friction.
 *
 * @module
 */

const POLE_MASS = 0.1; // kg
const TOTAL_MASS = 1 + POLE_MASS; // kg, with the cart
const POLE_HALF_LENGTH = 0.5; // m

/** Position in m, velocity in m/s, angle in rad, and angular velocity in rad/s. */
export type Motion = readonly [position: number, velocity: number, angle: number, spin: number];

/** How fast each number of a motion changes under a force in N, where gravity is so many m/s². */
export function changeOf(
  [, velocity, angle, spin]: Motion,
  force: number,
  gravity: number,
): Motion {
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const poleMoment = POLE_MASS * POLE_HALF_LENGTH;
  const push = (force + poleMoment * spin ** 2 * sine) / TOTAL_MASS;
  const spinChange = (gravity * sine - cosine * push) /
    (POLE_HALF_LENGTH * (4 / 3 - (POLE_MASS * cosine ** 2) / TOTAL_MASS));
  return [velocity, push - (poleMoment * spinChange * cosine) / TOTAL_MASS, spin, spinChange];
}

/** The motion after `time` s of a steady change. */
export function motionAfter(motion: Motion, change: Motion, time: number): Motion {
  return [
    motion[0] + time * change[0],
    motion[1] + time * change[1],
    motion[2] + time * change[2],
    motion[3] + time * change[3],
  ];
}
