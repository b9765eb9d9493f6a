"""Writes rlax_values.ts: what rlax computes from fixed inputs, for the tests of returns/.

    pip install rlax==0.1.9 jax==0.10.2 && python rlax_values.py > rlax_values.ts

rlax works on one sequence at a time, in double here; rows shorter than the batch's length are cut before and
padded with zeros after. A row that terminated has discount 0 at its last step, one that was truncated 0.9.
"""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import rlax

jax.config.update("jax_enable_x64", True)

BATCH, LENGTH = 4, 6
SEQ_LEN = [6, 4, 1, 3]
TERMINATED = [False, True, False, True]
GAMMA = 0.9

random = np.random.default_rng(2016)


def draw(low, high, *more):
    """Inputs of two decimals, so that they can be written down as they are."""
    return np.round(random.uniform(low, high, (BATCH, LENGTH, *more)), 2)


reward = draw(-1, 2)
first_value = draw(-2, 2)
# The value after each step is the value at the next one, but for the last step of a row.
bootstrap = np.round(random.uniform(-2, 2, BATCH), 2)
value = np.zeros((BATCH, LENGTH))
next_value = np.zeros((BATCH, LENGTH))
discount = np.zeros((BATCH, LENGTH))
for b, n in enumerate(SEQ_LEN):
    value[b, :n] = first_value[b, :n]
    next_value[b, :n] = [*value[b, 1:n], bootstrap[b]]
    discount[b, :n] = GAMMA
    if TERMINATED[b]:
        discount[b, n - 1] = 0
    reward[b, n:] = 0
log_prob_behaviour = draw(-3, -0.1)
log_prob_target = draw(-3, -0.1)

# Three actions, for Retrace: Q under the target policy, which is given by its probabilities.
q = draw(-2, 2, 3)
q_next_last = np.round(random.uniform(-2, 2, (BATCH, 3)), 2)
policy = random.dirichlet(np.ones(3), (BATCH, LENGTH))
policy_last = random.dirichlet(np.ones(3), BATCH)
action = random.integers(0, 3, (BATCH, LENGTH))
action_last = random.integers(0, 3, BATCH)
behaviour = np.round(random.uniform(0.1, 0.9, (BATCH, LENGTH)), 2)
q_taken = np.take_along_axis(q, action[..., None], -1)[..., 0]
target_taken = np.take_along_axis(policy, action[..., None], -1)[..., 0]
next_expected_q = np.zeros((BATCH, LENGTH))
for b, n in enumerate(SEQ_LEN):
    expected = (policy[b] * q[b]).sum(-1)
    last = expected[n] if n < LENGTH else (policy_last[b] * q_next_last[b]).sum()
    next_expected_q[b, :n] = [*expected[1:n], last]


def rows(function):
    """function(b, n) of each row, padded."""
    out = np.zeros((BATCH, LENGTH))
    for b, n in enumerate(SEQ_LEN):
        out[b, :n] = function(b, n)
    return out


def gae(lambda_):
    return rows(lambda b, n: rlax.truncated_generalized_advantage_estimation(
        jnp.array(reward[b, :n]), jnp.array(discount[b, :n]), lambda_,
        jnp.array([*value[b, :n], next_value[b, n - 1]])))


def lambda_return(lambda_):
    return rows(lambda b, n: rlax.lambda_returns(
        jnp.array(reward[b, :n]), jnp.array(discount[b, :n]), jnp.array(next_value[b, :n]), lambda_))


def n_step(steps):
    # rlax needs no more steps than the row has: more of them change nothing.
    return rows(lambda b, n: rlax.n_step_bootstrapped_returns(
        jnp.array(reward[b, :n]), jnp.array(discount[b, :n]), jnp.array(next_value[b, :n]), min(steps, n)))


def vtrace(lambda_, rho_max):
    def row(b, n):
        ratio = np.exp(log_prob_target[b, :n] - log_prob_behaviour[b, :n])
        return rlax.vtrace_td_error_and_advantage(
            jnp.array(value[b, :n]), jnp.array(next_value[b, :n]), jnp.array(reward[b, :n]),
            jnp.array(discount[b, :n]), jnp.array(ratio), lambda_, rho_max, rho_max)

    return rows(lambda b, n: value[b, :n] + row(b, n).errors), rows(lambda b, n: row(b, n).pg_advantage)


def retrace(lambda_):
    def row(b, n):
        def shifted(array, last):
            return jnp.array([*array[b, 1:n], last[b] if n == LENGTH else array[b, n]])

        error = rlax.retrace(
            jnp.array(q[b, :n]), shifted(q, q_next_last),
            jnp.array(action[b, :n]), shifted(action, action_last),
            jnp.array(reward[b, :n]), jnp.array(discount[b, :n]),
            shifted(policy, policy_last), shifted(behaviour, np.full(BATCH, 0.5)), lambda_, eps=0.0)
        return error + q_taken[b, :n]

    return rows(row)


def number(x):
    """The shortest text that reads back as the same double."""
    return np.format_float_positional(float(x) + 0.0, unique=True, trim="-")


def write(name, array, text):
    lines = [", ".join(f"{number(x)}" for x in row) for row in np.atleast_2d(array)]
    print(f"\n/** {text} */\nexport const {name}: readonly number[] = [")
    for line in lines:
        print(f"  {line},")
    print("];")


print(f'''// deno-fmt-ignore-file -- a row of the batch is a line
/**
 * What rlax {version("rlax")} (jax {version("jax")}, double precision) computes from fixed inputs. Written by `rlax_values.py`.
 *
 * `[batch, length]` is [{BATCH}, {LENGTH}]; rows 1 and 3 terminate, 0 and 2 are cut off.
 *
 * @module
 */''')
write("seqLen", SEQ_LEN, "`[batch]`")
write("reward", reward, "`[batch, length]`")
write("discount", discount, "`[batch, length]`: gamma 0.9")
write("value", value, "`[batch, length]`")
write("nextValue", next_value, "`[batch, length]`")
write("logProbBehaviour", log_prob_behaviour, "`[batch, length]`")
write("logProbTarget", log_prob_target, "`[batch, length]`")
write("gae95", gae(0.95), "`truncated_generalized_advantage_estimation`, lambda 0.95")
write("gae0", gae(0.0), "`truncated_generalized_advantage_estimation`, lambda 0")
write("gae1", gae(1.0), "`truncated_generalized_advantage_estimation`, lambda 1")
write("lambdaReturn80", lambda_return(0.8), "`lambda_returns`, lambda 0.8")
write("lambdaReturn1", lambda_return(1.0), "`lambda_returns`, lambda 1")
write("nStep1", n_step(1), "`n_step_bootstrapped_returns`, n 1")
write("nStep3", n_step(3), "`n_step_bootstrapped_returns`, n 3")
write("nStep9", n_step(9), "`n_step_bootstrapped_returns`, n as many as there are")
for name, lambda_, rho_max in [("", 1.0, 1.0), ("Lambda80", 0.8, 1.0), ("Rho2", 1.0, 2.0)]:
    target, advantage = vtrace(lambda_, rho_max)
    call = f"`vtrace_td_error_and_advantage`, lambda {lambda_}, both rho thresholds {rho_max}"
    write(f"vtrace{name}Target", target, f"{call}: errors + values")
    write(f"vtrace{name}Advantage", advantage, f"{call}: pg_advantage")
write("q", q_taken, "`[batch, length]`: Q of the actions taken")
write("nextExpectedQ", next_expected_q, "`[batch, length]`: Q expected under the target policy, in the next states")
write("retraceLogProbBehaviour", np.log(behaviour), "`[batch, length]`")
write("retraceLogProbTarget", np.log(target_taken), "`[batch, length]`")
write("retrace1", retrace(1.0), "`retrace`, lambda 1: errors + Q")
write("retrace70", retrace(0.7), "`retrace`, lambda 0.7: errors + Q")
