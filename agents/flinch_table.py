"""What the agents of Flinch share: the record as a seat sees it."""

import numpy as np

from flinchenv.core.kernel import kernel
from flinchenv.core.params import kernel_params
from flinchenv.core.spec import RUNNING
from flinchenv.flinch.cards import EMPTY, HAND_BYTE, NONE, RANKS, RESERVE_BYTE, STOCK_BYTE, STOCK_LANE
from flinchenv.flinch.center import find_playable
from flinchenv.flinch.rules import MAX_RESERVES

from .policy import PolicyAgent, field_reader

BY_RANK = 1 << np.arange(RANKS)


class FlinchAgent(PolicyAgent):
    """The agent of a policy of Flinch."""

    def records(self, observation, view):
        """See `PolicyAgent.records`."""
        return records(self.setup, observation)


@kernel
def find_all_playable(games, rules):
    """Note in each record which ranks fit the centre."""
    for i in range(len(games)):
        find_playable(games[i], rules[0])


def shown_words(field):
    """The words of `shown`, uint64 (N, P, 3), out of the observations' fields."""
    reserves, stocks = field("reserve_top") @ BY_RANK, field("stock_top") @ BY_RANK
    lanes, counts = np.zeros((2, *stocks.shape, 8), np.int64)
    lanes[..., :MAX_RESERVES], lanes[..., STOCK_LANE] = reserves, stocks
    counts[..., STOCK_BYTE], counts[..., HAND_BYTE] = field("stock_left"), field("hand_cards")
    counts[..., RESERVE_BYTE : RESERVE_BYTE + MAX_RESERVES] = field("reserve_cards")
    return np.concatenate([lanes.astype("<u2").view("<u8"), counts.astype(np.uint8).view("<u8")], -1)


def records(setup, observation):
    """GAME records (N,) that hold what int8 (N, D) observations show, seats counted from the observer, else 0."""
    rules, n = setup.rules, setup.num_players
    field = field_reader(setup, observation)

    def rank_of(name, nothing):
        shown = field(name)
        return np.where(shown.any(-1), shown.argmax(-1), nothing)

    games = setup.new_games(len(observation))
    games["end_reason"] = RUNNING
    games["phase"] = field("phase").argmax(1)
    games["turn"] = field("turn").argmax(1)
    games["opened"] = field("opened")
    games["forced"] = field("forced")
    games["ending"] = field("window_at_end")
    games["left"] = 100 * field("stack_hundreds") + field("stack_rest")
    games["removed_piles"] = field("removed")
    if rules.center == "eights":
        games["eights"] = field("eights")
    else:
        games["ups"] = field("ups")
        games["up_tops"] = (games["ups"] > 0) @ BY_RANK
    if rules.center == "both_ends":
        games["downs"] = field("downs")
        games["down_tops"] = (games["downs"] > 0) @ BY_RANK
    games["hand"][:, 0] = field("hand")
    games["hand_set"][:, 0] = (games["hand"][:, 0] > 0) @ BY_RANK
    games["hand_cards"][:, :n] = field("hand_cards")
    games["stock_left"][:, :n] = field("stock_left")
    games["stock_rank"][:, :n] = rank_of("stock_top", EMPTY)
    games["top"][:, :n] = rank_of("reserve_top", EMPTY)
    games["pile_cards"][:, :n] = field("reserve_cards")
    games["shown"][:, :n] = shown_words(field)
    games["due"] = NONE
    if rules.can_expose:
        games["exposed"][:, :n] = field("exposed")
        games["due"][:, :n] = rank_of("due", NONE)
    find_all_playable(games, kernel_params(setup.rules))
    return games
