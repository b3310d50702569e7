"""Seeds of pairs' games played in this process, over several processes here, or over a Ray cluster.

The games are the same wherever they are played: see `games`. Ray and its nodes are the user's own: every node needs
flinchenv, and whatever modules the agents come from.
"""

import concurrent.futures
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
from typing import NamedTuple

from flinchenv.core.params import refuse

from .games import play_seeds

AHEAD = 2  # chunks a worker that wait for it


class Chunk(NamedTuple):
    """`count` seeds from `first` up of the pair of agents (a, b)."""

    pair: tuple
    first: int
    count: int


def play_chunks(setup, names, agents, chunks, seconds=0, workers=1, ray=None):
    """Yield (chunk, its `Games`) as they come.

    Args:
        setup: the game and its rules.
        names, agents: one each.
        chunks: a list of `Chunk`.
        seconds: as in `games.play`.
        workers: processes; 1 plays here.
        ray: the address of a Ray cluster, or None; its processors are the workers then.

    Raises:
        ValueError: an agent that cannot be sent to another process, or a Ray that is not there.
    """
    if ray is None and workers == 1:
        for chunk in chunks:
            yield chunk, play_chunk(setup, agents, chunk, seconds)
        return
    for name, agent in zip(names, agents):
        try:
            pickle.dumps(agent)
        except Exception as error:
            refuse("agents", name, f"agents that can be pickled, where other processes play ({error})")
    spread = _over_processes(workers) if ray is None else _over_ray(ray)
    yield from spread(setup, agents, chunks, seconds)


def play_chunk(setup, agents, chunk, seconds):
    """The `Games` of a chunk."""
    a, b = chunk.pair
    return play_seeds(setup, agents[a], agents[b], chunk.first, chunk.count, seconds)


# --- Processes --------------------------------------------------------------------------------------------------------


def _over_processes(workers):
    def spread(setup, agents, chunks, seconds):
        pool = concurrent.futures.ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), _open_worker, (setup, agents, seconds)
        )

        def wait(waiting):
            done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            return [(one, one.result()) for one in done]

        try:
            yield from _in_flight(chunks, lambda chunk: pool.submit(_play_here, chunk), wait, AHEAD * workers)
        finally:
            pool.shutdown(cancel_futures=True)

    return spread


_here = []  # what this worker was opened with


def _open_worker(*what):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for the worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _here[:] = what


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


def _play_here(chunk):
    setup, agents, seconds = _here
    return play_chunk(setup, agents, chunk, seconds)


# --- Ray --------------------------------------------------------------------------------------------------------------


def _over_ray(address):
    try:
        import ray
    except ImportError:
        refuse("ray", address, "None where Ray is not installed: pip install ray")

    def spread(setup, agents, chunks, seconds):
        mine = not ray.is_initialized()
        if mine:
            try:
                ray.init(address=address, log_to_driver=False)
            except Exception as error:
                refuse("ray", address, f"the address of a Ray cluster that answers ({error})")
        kept = ray.put((setup, agents, seconds))
        remote = ray.remote(_play_there)

        def wait(waiting):
            done, _ = ray.wait(waiting)
            return [(one, ray.get(one)) for one in done]

        try:
            limit = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            yield from _in_flight(chunks, lambda chunk: remote.remote(kept, chunk), wait, limit)
        finally:
            if mine:
                ray.shutdown()

    return spread


def _play_there(what, chunk):
    setup, agents, seconds = what
    return play_chunk(setup, agents, chunk, seconds)


def _in_flight(chunks, submit, wait, limit):
    """Yield (chunk, games) with at most `limit` chunks on their way; wait(list) -> [(one, its games), ...]."""
    left, waiting = iter(chunks), {}
    while True:
        for chunk in itertools.islice(left, limit - len(waiting)):
            waiting[submit(chunk)] = chunk
        if not waiting:
            return
        for one, games in wait(list(waiting)):
            yield waiting.pop(one), games
