"""Threads over blocks of rows; kernels run without the interpreter lock and never touch each other's rows."""

import concurrent.futures
import itertools

import numpy as np

from ..core.params import whole

MAX_THREADS = 256


class RowBlocks:
    """N rows cut into one block a thread.

    Args:
        num_rows: N.
        threads: 1..256.
    """

    def __init__(self, num_rows, threads):
        self.threads = whole("threads", threads, 1, MAX_THREADS)
        self.num_rows = num_rows
        edges = np.linspace(0, num_rows, min(self.threads, num_rows) + 1).astype(int).tolist()
        self._blocks = list(itertools.pairwise(edges))
        self._pool = concurrent.futures.ThreadPoolExecutor(len(self._blocks)) if len(self._blocks) > 1 else None

    def __reduce__(self):
        return RowBlocks, (self.num_rows, self.threads)

    def run(self, call):
        """`call(start, stop)` over all rows; returns when every block is done."""
        if self._pool is None:
            call(*self._blocks[0])
            return
        waiting = [self._pool.submit(call, *block) for block in self._blocks[1:]]
        call(*self._blocks[0])
        for future in waiting:
            future.result()

    def close(self):
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
