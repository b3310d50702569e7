"""How far a long command is: a bar on a terminal, plain lines elsewhere; both on stderr."""

import sys
import time

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Steps done, steps a second, time left.

    Args:
        total: steps of the whole run.
        done: steps that an earlier session has made.
        show: False prints nothing.
    """

    def __init__(self, total, done=0, show=True):
        self.total, self.first, self.done = total, done, done
        self.show, self.started, self.last_line = show, time.monotonic(), time.monotonic()
        bar = show and sys.stderr.isatty()
        self.bar = tqdm(total=total, initial=done, unit="step", unit_scale=True) if bar else None

    def update(self, done, words="", line=False):
        """Tell that `done` steps are made; without a terminal a line appears every ten seconds, or if `line`."""
        if self.bar is not None:
            self.bar.update(done - self.done)
            if words:
                self.bar.set_postfix_str(words)
        self.done = done
        due = line or time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES
        if self.show and self.bar is None and due:
            self.last_line = time.monotonic()
            print(f"{self.line()}{'; ' + words if words else ''}", file=sys.stderr, flush=True)

    def rate(self):
        """Steps a second of this session."""
        return (self.done - self.first) / max(time.monotonic() - self.started, 1e-9)

    def line(self):
        """One line of text."""
        share = 100 * self.done / self.total
        text = f"step {self.done:,} of {self.total:,} ({share:.0f} %)"
        if self.done == self.first:
            return text
        left = round(max(self.total - self.done, 0) / self.rate())
        return f"{text}, {self.rate():,.0f} steps/s, {left // 60}:{left % 60:02d} left"

    def close(self):
        """End the bar."""
        if self.bar is not None:
            self.bar.close()
