"""The table at the turn's end that a gate is told, against the game itself, and views of all that was public."""

import numpy as np
import pytest

from flinchenv.agents.flinch_turn import LAY_DOWN, TurnEnds, sides
from flinchenv.agents.load import load
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup, take_snapshot
from flinchenv.envs.vector import VectorGame
from flinchenv.flinch.moves import HAND, RESERVE, STOCK

FULL = {"obs_reserve": "full"}
OWN = (
    "turn",
    "hand_cards",
    "stock_left",
    "reserve_cards",
    "reserve_top",
    "stock_top",
)  # by seat, the own first
COMMON = ("ups", "hand")


def is_lay_down(action):
    return (action >= LAY_DOWN[0]) & (action < LAY_DOWN[1])


def played_on(setup, games, bot, actions):
    """What the acting seats of true games see when their turns are over, or a card is turned up that they do not know.

    Their first actions are given; and whether that card is the Stockpile's new top.
    """
    env, n = VectorGame(setup, len(games)), len(games)
    env.reset(seed=0)
    env.restore(take_snapshot(setup, games))
    seats = env.current_player.astype(np.int64)
    found, flipped, open_ = np.zeros((n, setup.layout.size), np.int8), np.zeros(n, bool), np.ones(n, bool)
    while open_.any():
        last = env.snapshot().games["hand_cards"][np.arange(n), seats] == 1
        env.step(actions)
        seen = np.stack([env.observe(p) for p in range(setup.num_players)], 1)[np.arange(n), seats]
        emptied = last & (actions > HAND) & (actions < RESERVE)
        over = is_lay_down(actions) | (actions == STOCK) | emptied | env.terminated
        found[open_ & over] = seen[open_ & over]
        flipped |= open_ & (actions == STOCK)
        open_ &= ~over
        asked = env.current_player.astype(np.int64)
        actions = bot.choose_in(env.snapshot().games, np.arange(n), asked, env.action_mask)
    return found, flipped


@pytest.mark.parametrize("players", [2, 3])
def test_the_ends_of_turns_are_those_of_the_game(players):
    setup = make_setup("flinch-v0", None, FULL | {"num_players": players})
    ends, bot, layout = TurnEnds(setup), load("rule:4", setup), setup.layout
    env = VectorGame(setup, 256)
    env.reset(seed=11)
    compared = {"kept": 0, "laid down": 0, "flipped": 0, "reserve": 0}
    for step in range(120):
        mask, seats = env.action_mask, env.current_player.astype(np.int64)
        games = env.snapshot().games
        action = bot.choose_in(games, np.arange(256), seats, mask)
        if step % 8 == 7:
            rows, kept, played = ends(env.observation.reshape(256, -1), mask)
            inside, outside = sides(mask[rows])
            assert (inside.any(1) & outside.any(1)).all()
            lay = bot.choose_in(games, rows, seats[rows], inside)
            plans = ~is_lay_down(action[rows])
            for table, first, some in ((kept, lay, np.ones(len(rows), bool)), (played, action[rows], plans)):
                wanted, flipped = played_on(setup, games[rows[some]], bot, first[some])
                for i, (told, true) in enumerate(zip(table[some], wanted)):
                    if told[layout["hand_cards"].entries[0]] == 0:  # the new cards are not known, nor what they change
                        continue
                    for name in COMMON + OWN:
                        entries = layout[name].entries
                        entries = entries[: len(entries) // players] if name in OWN else entries
                        if flipped[i] and name in ("turn", "stock_top"):
                            continue
                        assert (told[entries] == true[entries]).all(), (name, step, i)
                    if flipped[i]:
                        assert not told[layout["stock_top"].entries[:16]].any() and told[layout["turn"].entries[0]]
                    compared["kept" if table is kept else "flipped" if flipped[i] else "laid down"] += 1
                    compared["reserve"] += RESERVE <= first[some][i] < LAY_DOWN[0]
        env.step(action)
    assert min(compared.values()) > 50, compared


def test_a_turn_in_words():
    """The piles show 4; the hand is 5, 6, 9, 9; two Reserve Piles show 7 and 12, with a 8 beneath the 7."""
    setup = make_setup("flinch-v0", None, FULL)
    layout = setup.layout
    row = np.zeros((1, layout.size), np.int8)

    def put(name, *place, value=1):
        row[0, layout[name].entries.reshape(layout[name].shape)[place]] = value

    put("phase", 2)
    put("opened")
    put("turn", 0)
    put("asked", 0)
    put("ups", 4)
    for rank, count in ((5, 1), (6, 1), (9, 2)):
        put("hand", rank, value=count)
    put("hand_cards", 0, value=4)
    put("hand_cards", 1, value=5)
    for seat, top in ((0, 14), (1, 15)):
        put("stock_left", seat, value=8)
        put("stock_top", seat, top)
    for slot, cards in enumerate([(7, 8), (12,), (13,), (13,), (13,)]):
        put("reserve_cards", 0, slot, value=len(cards))
        put("reserve_top", 0, slot, cards[0])
        for depth, rank in enumerate(cards):
            put("reserve_order", 0, slot, depth, value=rank)
    mask = np.zeros((1, setup.num_actions), np.int8)
    mask[0, 5] = 1
    for rank in (5, 6, 9):
        mask[0, LAY_DOWN[0] + 5 * (rank - 1) : LAY_DOWN[0] + 5 * rank] = 1
    rows, kept, played = TurnEnds(setup)(row, mask)
    assert rows.tolist() == [0]
    told = {name: [end[0, layout[name].entries] for end in (kept, played)] for name in ("ups", "hand", "hand_cards")}
    assert np.flatnonzero(told["ups"][0]).tolist() == [4]
    assert told["hand_cards"][0].tolist() == [3, 5]
    # The whole run 5, 6, 7, 8, 9 is played, the 8 from beneath the 7; the other 9 is laid down in the empty place.
    assert np.flatnonzero(told["ups"][1]).tolist() == [9]
    assert told["hand_cards"][1].tolist() == [0, 5] and not told["hand"][1].any()
    assert played[0, layout["reserve_cards"].entries[:5]].tolist() == [1, 1, 1, 1, 1]
    assert np.flatnonzero(played[0, layout["reserve_top"].entries[:16]]).tolist() == [9]
    assert all(end[0, layout["turn"].entries].tolist() == [0, 1] for end in (kept, played))
    tops = make_setup("flinch-v0")
    small = np.zeros((1, tops.layout.size), np.int8)
    for field in tops.layout.fields:
        small[:, tops.layout[field.name].entries] = row[:, layout[field.name].entries]
    _, _, played = TurnEnds(tops)(small, mask)  # what lies beneath the 7 is not told: the run ends there
    assert np.flatnonzero(played[0, tops.layout["ups"].entries]).tolist() == [7]


@pytest.mark.parametrize("players", [2, 4])
def test_a_view_shows_what_another_option_would(players):
    shown, hidden = (
        make_setup("flinch-v0", None, {"obs_reserve": option, "num_players": players}) for option in ("full", "tops")
    )
    env, rng = VectorGame(shown, 16), np.random.default_rng(3)
    env.reset(seed=4)
    for step in range(200):
        if step % 20 == 19:
            games = env.snapshot().games
            for p in range(players):
                wanted = env.observe(p)
                for i in range(16):
                    view = SeatView(hidden, games[i : i + 1], p)
                    assert (view.observe(shown) == wanted[i]).all()
        env.step((rng.random(env.action_mask.shape) * env.action_mask).argmax(1))
