"""A warm start for a MaskablePPO: learn from the games of a bot what it plays and what that brings."""

import numpy as np
import torch
from torch.nn.functional import mse_loss

from .progress import Progress

HORIZON = 128  # decisions a row that are played before they are learnt from


def imitate(model, env, teacher, steps, batch_size, progress):
    """Fit the model's policy to a teacher's choices (cross-entropy) and its value to what they earned (squared error).

    The learning rate falls linearly to zero. The teacher plays the learner's seat of `env`.

    Args:
        model: a MaskablePPO; its own optimiser is used, and its rollouts' streams are left alone.
        env: a SeatVecEnv, seeded.
        teacher: an agent that plays by the observation alone.
        steps: the teacher's decisions, rounded up to whole rounds of `HORIZON` decisions a row.
        batch_size: decisions a minibatch.
        progress: whether to show how far it is.
    """
    policy, optimizer = model.policy, model.policy.optimizer
    rounds = -(-steps // (HORIZON * env.num_envs))
    shown = Progress(rounds * HORIZON * env.num_envs, 0, progress)
    rate = model.lr_schedule(1.0)
    rng = np.random.default_rng(model.seed)
    observation = env.reset()
    policy.set_training_mode(True)
    for number in range(rounds):
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - number / rounds)
        observation, games = _play(env, teacher, observation, rng)
        for rows in np.array_split(rng.permutation(len(games[0])), max(1, len(games[0]) // batch_size)):
            observations, actions, masks, returns, known = (torch.from_numpy(part[rows]) for part in games)
            values, log_prob, _ = policy.evaluate_actions(observations, actions, masks)
            loss = -log_prob.mean() + model.vf_coef * mse_loss(values[known, 0], returns[known])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            optimizer.step()
        shown.update((number + 1) * HORIZON * env.num_envs)
    shown.close()


def _play(env, teacher, observation, rng):
    """`HORIZON` decisions in each row; the next observation, and arrays over all of them.

    Observations, actions, masks, what was earned from each decision to the end of its game, and whether that is known:
    the games that are still running at the end have brought nothing yet.
    """
    rows = []
    for _ in range(HORIZON):
        mask = env.action_masks()
        actions = teacher.act(observation, mask.astype(np.int8), rng)
        after, rewards, over, _ = env.step(actions)
        rows.append((observation, actions, mask, rewards, over))
        observation = after
    observations, actions, masks, rewards, over = (np.stack(part) for part in zip(*rows))
    returns = np.zeros_like(rewards)
    known = np.zeros_like(over)
    earned, ends = np.zeros(env.num_envs, np.float32), np.zeros(env.num_envs, bool)
    for t in range(HORIZON - 1, -1, -1):
        earned = np.where(over[t], 0, earned) + rewards[t]
        ends |= over[t]
        returns[t], known[t] = earned, ends
    return observation, [part.reshape(-1, *part.shape[2:]) for part in (observations, actions, masks, returns, known)]
