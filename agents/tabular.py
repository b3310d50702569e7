"""A policy as a table: probabilities for every information state of a small game.

What `experiments/solve.py` finds and `experiments/exploitability.py` averages; a pair of files like any checkpoint's
keeps it.
"""

import numpy as np

from flinchenv.core.params import refuse

from .agent import ProbabilisticAgent, check_mask
from .checkpoint import TABLE
from .network import check_match


class TabularAgent(ProbabilisticAgent):
    """Looks up the seat's information state.

    Args:
        setup: the game and rules to play; they must be the card's.
        tensors: {"keys": uint8 (I, K), information states byte by byte, "probs": float32 (I, A), for each of them}.
        card: what `make_card` or `load_checkpoint` returned.
        name: how tables call it.

    Raises:
        ValueError: another game, version, layout or rule than the card's, or a row that is no distribution.
    """

    needs_view = True

    def __init__(self, setup, tensors, card, name=TABLE):
        check_match(setup, card)
        self.setup, self.card, self.name = setup, card, name
        self._rows = {key.tobytes(): row for row, key in enumerate(tensors["keys"])}
        if len(self._rows) != len(tensors["keys"]):
            refuse("checkpoint's keys", f"{len(tensors['keys'])} with {len(self._rows)} different", "each once")
        self._probs = tensors["probs"]
        odd = (self._probs < 0).any(1) | (np.abs(self._probs.sum(1, dtype=float) - 1) > 1e-5)
        if odd.any():
            row = int(odd.argmax())
            refuse("checkpoint's probs", self._probs[row].tolist(), f"at least 0 and adding up to 1, in row {row} too")

    def probs(self, observation, action_mask, view=None):
        """The table's; see `Agent.probs`.

        Raises:
            ValueError: no view, an information state that the table lacks, or one with other legal actions.
        """
        check_mask(action_mask)
        if view is None:
            refuse("view", None, "one SeatView a row: the table is asked by information states")
        rows = [self._rows.get(seat_view.information_state()) for seat_view in view]
        if None in rows:
            refuse("view", f"an information state (row {rows.index(None)}) that is not in the table", "one that is")
        probs = self._probs[rows].astype(float)
        if (probs[np.asarray(action_mask) == 0] > 0).any():
            refuse("action_mask", "a mask without an action that the table takes", "that of the information state")
        return probs / probs.sum(1, keepdims=True)


def make_table(keys, owner, actions, probs, num_actions):
    """The tensors of a `TabularAgent`.

    Args:
        keys: I different information states, bytes of one length.
        owner, actions, probs: (S,), an index into `keys`, an action id and its probability; pairs not listed are 0.
        num_actions: A.
    """
    table = np.zeros((len(keys), num_actions), np.float32)
    table[owner, actions] = probs
    return {"keys": np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), "probs": table}
