"""Learns to balance a pendulum with joint friction, by CMA-ES (Hansen 2016) on `bristle.gym.VectorEnv`.

    python examples/balance.py          some seconds on two cores

Every generation tries 32 policies, 16 episodes each, all at once: 512 copies of the machine, each with friction of
its own. A policy is effort = limit · tanh(w · (sin q, v, sign-like tanh(20 v), q)).
"""

import pathlib
import time

import numpy as np
import numpy.typing as npt

from bristle.gym import VectorEnv

SCENE = pathlib.Path(__file__).with_name("pendulum.ron")
POLICIES, EPISODES, STEPS, LIMIT = 32, 16, 150, 1.2

Floats = npt.NDArray[np.float64]


def environment(num_envs: int) -> VectorEnv:
    """Upright is q = 0; an episode is over when the pendulum has fallen."""
    return VectorEnv(
        SCENE,
        num_envs,
        dt=0.02,
        limit=LIMIT,
        reward=lambda q, v, action: np.cos(q[:, 0]) - 0.05 * v[:, 0] ** 2 - 0.01 * action[:, 0] ** 2,
        ends=lambda q, v: np.abs(q[:, 0]) > 1.0,
        noise=0.3,
        randomize={"hinge.coulomb": (0.02, 0.15), "hinge.stiction": (0.15, 0.2)},
        max_steps=STEPS,
    )


def features(observation: Floats) -> Floats:
    q, v = observation.T
    return np.stack([np.sin(q), v, np.tanh(20.0 * v), q], axis=1)


def returns(envs: VectorEnv, policies: Floats, episodes: int, seed: int) -> Floats:
    """Sum of rewards of each policy up to its fall, mean over its episodes."""
    weights = np.repeat(policies, episodes, axis=0)
    observation, _ = envs.reset(seed=seed)
    total, alive = np.zeros(len(weights)), np.ones(len(weights), dtype=bool)
    for _ in range(STEPS):
        action = LIMIT * np.tanh(np.sum(weights * features(observation), axis=1, keepdims=True))
        observation, reward, end, cut, _ = envs.step(action)
        total += reward * alive
        alive &= ~(end | cut)
    mean: Floats = total.reshape(len(policies), episodes).mean(axis=1)
    return mean


def learn(generations: int = 20, seed: int = 1, is_told: bool = True) -> Floats:
    """The mean policy after so many generations of CMA-ES, rank-μ update with cumulative step-size adaptation."""
    rng, envs = np.random.default_rng(seed), environment(POLICIES * EPISODES)
    n, mu = 4, POLICIES // 2
    weights = np.log(mu + 0.5) - np.log(np.arange(1, mu + 1))
    weights /= weights.sum()
    mass = 1.0 / np.sum(weights**2)
    c_sigma, c_mu = (mass + 2) / (n + mass + 5), min(1.0, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
    length = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))
    mean, sigma, covariance, path = np.zeros(n), 2.0, np.eye(n), np.zeros(n)
    for generation in range(generations):
        values, axes = np.linalg.eigh(covariance)
        root = axes * np.sqrt(values) @ axes.T
        steps = rng.normal(size=(POLICIES, n)) @ root
        scores = returns(envs, mean + sigma * steps, EPISODES, seed=generation)
        best = steps[np.argsort(-scores)[:mu]]
        move = weights @ best
        mean = mean + sigma * move
        whitened = axes / np.sqrt(values) @ axes.T @ move
        path = (1 - c_sigma) * path + np.sqrt(c_sigma * (2 - c_sigma) * mass) * whitened
        covariance = (1 - c_mu) * covariance + c_mu * (best.T * weights) @ best
        sigma *= np.exp(c_sigma / 2 * (np.linalg.norm(path) / length - 1))
        if is_told and generation % 5 == 4:
            best_return, mean_return = scores.max(), scores.mean()
            print(f"generation {generation + 1:3}: best return {best_return:6.1f}, mean {mean_return:6.1f} of {STEPS}")
    return mean


def balanced(policy: Floats, episodes: int = 200, seed: int = 999) -> float:
    """Share of new episodes in which the pendulum still stands at the end."""
    envs = environment(episodes)
    observation, _ = envs.reset(seed=seed)
    stands = np.ones(episodes, dtype=bool)
    for _ in range(STEPS):
        action = LIMIT * np.tanh(np.sum(policy * features(observation), axis=1, keepdims=True))
        observation, _, end, _, _ = envs.step(action)
        stands &= ~end
    return float(stands.mean())


if __name__ == "__main__":
    start = time.perf_counter()
    print(f"without a controller {balanced(np.zeros(4)):.0%} of the pendulums stand after {0.02 * STEPS:g} s")
    policy = learn()
    print(f"policy {np.round(policy, 2)}: {balanced(policy):.0%} stand; {time.perf_counter() - start:.1f} s")
