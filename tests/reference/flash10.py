"""Flash 10, played slowly and by the book.

This is the twin that the fast game is compared with. It was written from rules/flash10.md alone and
shares no code with the package. A card is an int, or "T" for a Thunder; a row is a list of cards,
left to right; moves are words ("place 3", "draw", "stop", "wait"). Ids in docstrings (T9, TA16 and
so on) are those of the rules file; "3.3" is its section on the tick model and "3.3 order 4" a
numbered point of its binding order of things. Seats count from 0, slots too.

All chance comes from the injected `chance` object, in the order in which the methods ask for it.
"""

import copy
from collections import Counter

THUNDER = "T"

OPTIONS = {
    "row_shape": ("ascending", "mountain"),
    "stop_with_thunder": (False, True),
    "episode": ("match", "round"),
    "speed_noise": (False, True),
    "priority": ("fair", "fastest", "seat_rotating"),
    "pace": ("draw_and_place", "auto_draw"),
    "reward": ("margin", "points", "win"),
    "flash_scope": ("visible", "prefix"),
    "floor_zero": (False, True),
    "last_card_stop": (False, True),
    "stop_resolution": ("first", "all_valid"),
    "false_stop": ("allowed", "masked"),
    "idle": ("limited", "forbidden", "free"),
    "tie": ("shared", "extra_round"),
    "peak_score": ("left_prefix", "both_sides"),
    "obs_opponents": ("full", "counts", "none"),
    "obs_seen": (False, True),
}


class Flash10:
    """One game of Flash 10, a match or a single round, from the first deal to the end."""

    def __init__(self, rules, chance):
        """T4, T5: deal the first round and go on to the first tick in which somebody is asked."""
        refuse_bad_rules(rules)
        self.rules = rules
        self.chance = chance
        self.points = [0 for _ in self._seats()]
        self.rounds = 0
        self.round_scores = []  # of the last finished round
        self.last_callers = {}  # of the last finished round
        self.last_round_end = ""  # of the last finished round: "stop", "exhausted", "max_ticks"
        self.phase = "run"
        self.over = False
        self.end_reason = ""
        self.winners = []
        self.tick = 0
        self._ticks_of_finished_rounds = 0
        self._goal_was_reached = False
        self._unpaid = [0.0 for _ in self._seats()]
        self._deal()
        self._go_on()

    # -- the deal ---------------------------------------------------------------------------------

    def _deal(self):
        """T4, T5, T14: shuffle all cards, lay a row before each seat, the rest is the middle.

        TA1: Thunders stay in the middle. TA13: the own check knows a row that may be stopped at the
        deal. 3.3 order 2: only "seat_rotating" draws a first seat. 3.3 order 5: a seat is first
        ready at tick t_flip. Decisions: with noise and idle "free" a longer t_flip is cut.
        """
        self.chance.new_round()
        self.middle = full_deck(self.rules)
        slots = range(self.rules.row_len)
        self.rows = [[self._take_from_middle() for _ in slots] for _ in self._seats()]
        self.held = [None for _ in self._seats()]
        self.own_check = [may_be_stopped(self.rules, row) for row in self.rows]
        self.callers = {}
        self.phase = "run"
        self.tick = 0
        self._first_seat = 0
        if self.rules.priority == "seat_rotating":
            self._first_seat = self.chance.first_seat(self.rules.num_players)
        self.ready_at = [self._flip_time(seat) for seat in self._seats()]
        self._idle_ticks = 0
        self._round_end = ""
        self._last_card_taker = None
        self._face_up = [card for row in self.rows for card in row]  # ever, in this round
        self._asked = []
        self._chosen = {}

    def _take_from_middle(self):
        """T6: any card of the middle, as good as the next one of a shuffled pile (3.3)."""
        card = self.chance.card()
        assert self.middle[card] > 0, f"{card!r} is not in the middle"
        self.middle[card] -= 1
        if self.middle[card] == 0:
            del self.middle[card]
        return card

    def _flip_time(self, seat):
        """3.3 Speeds: turning the cards takes t_flip; noise beyond max_ticks is of no use."""
        flip = self._duration("t_flip", seat)
        if self.rules.speed_noise and self._idle() == "free":
            longest = max(self.rules.max_ticks, mean_time(self.rules, "t_flip", seat))
            return min(flip, longest)
        return flip

    # -- who is asked, and what may be done -------------------------------------------------------

    def asked(self):
        """3.3 order 1, 7: the seats still to choose in the running tick, in ascending order."""
        return [seat for seat in self._asked if seat not in self._chosen]

    def legal(self, seat):
        """3.3 Actions. Choices of the running tick change nothing here (3.3 order 1).

        A seat that is not asked in this tick is left the one word "wait". TA11, 3.3 order 6, 7: a
        holder must place. TA10, TA12: STOP and WAIT of an empty hand.
        """
        if self.over:
            return set()
        if seat not in self._asked:
            return {"wait"}
        if self.held[seat] is not None:
            return {f"place {slot}" for slot in range(self.rules.row_len)}
        words = set()
        if self._cards_left() > 0:
            words.add("draw")
        if self._false_stop() == "allowed" or self.own_check[seat]:
            words.add("stop")
        if self._idle() != "forbidden" or self.own_check[seat]:
            words.add("wait")
        return words

    def choose(self, seat, word):
        """3.3 order 1: nothing shows before the last asked seat has chosen."""
        if seat not in self.asked()[:1]:
            raise ValueError(f"seat {seat} is not asked next")
        if word not in self.legal(seat):
            raise ValueError(f"seat {seat} may not {word!r}")
        self._chosen[seat] = word
        if self.asked():
            return
        if self.phase == "run":
            self._resolve_tick()
        else:
            self._resolve_final_place()
        self._go_on()

    # -- from tick to tick ------------------------------------------------------------------------

    def _go_on(self):
        """3.3 Fast core: play on until somebody is asked or the game is over."""
        while not self.over and not self._asked:
            if self._round_end and self.phase == "run":
                self._open_final_place()
            elif self._round_end:
                self._score()
                self._test_the_end()
                self._pay()
                if not self.over:
                    self._ticks_of_finished_rounds += self.tick
                    self._deal()
            else:
                self._open_next_tick()

    def _open_next_tick(self):
        """The next tick with a ready seat; TA12: if there is none up to max_ticks, the round ends.

        Decisions, **pace**: a tick of "auto_draw" in which nobody is asked is played at once.
        """
        next_tick = min(self.ready_at)
        assert next_tick > self.tick
        if self._idle() == "free" and next_tick > self.rules.max_ticks:
            self.tick = self.rules.max_ticks
            self._round_end = "max_ticks"
            return
        self.tick = next_tick
        self._asked = [seat for seat in self._ready() if not self._draws_unasked(seat)]
        if not self._asked:
            self._resolve_tick()

    def _draws_unasked(self, seat):
        """Decisions, **pace** "auto_draw": an empty hand whose row may not be stopped draws."""
        if self.rules.pace != "auto_draw" or self.held[seat] is not None:
            return False
        return not may_be_stopped(self.rules, self.rows[seat])

    def _resolve_tick(self):
        """3.3 order 3-6: play the choices of all ready seats in the order of priority."""
        words = {seat: self._chosen.get(seat, "draw") for seat in self._ready()}
        self._asked = []
        self._chosen = {}
        self._count_idle_ticks(words)
        for seat in self._order(words):
            self._act(seat, words[seat])
        # 3.3 order 2; a round that has ended draws a new first seat anyway.
        contenders = [seat for seat, word in words.items() if word in ("draw", "stop")]
        if len(contenders) >= 2:
            self._first_seat = (self._first_seat + 1) % self.rules.num_players
        if not self._round_end and self._idle() == "free" and self.tick >= self.rules.max_ticks:
            self._round_end = "max_ticks"

    def _count_idle_ticks(self, words):
        """TA12, 3.3 order 6: the tick that is one too many turns one WAIT into a DRAW."""
        if self._idle() == "free":
            return
        if any(word != "wait" for word in words.values()):
            self._idle_ticks = 0
            return
        self._idle_ticks += 1
        if self._idle_ticks > self.rules.max_idle_ticks:
            seat = self.chance.waiting_seat(sorted(words))
            assert seat in words
            words[seat] = "draw"
            self._idle_ticks = 0

    def _order(self, words):
        """3.3 order 1, 2: who comes first.

        Where the round cannot end the order is of no weight: placements, then draws, so that chance is
        asked in a known order.
        """
        seats = sorted(words)
        draws = list(words.values()).count("draw")
        may_end = "stop" in words.values() or draws >= self._cards_left()
        if not may_end:
            return sorted(seats, key=lambda seat: words[seat] == "draw")
        if self.rules.priority == "seat_rotating":
            players = self.rules.num_players
            return sorted(seats, key=lambda seat: (seat - self._first_seat) % players)
        order = list(self.chance.order(seats))
        assert sorted(order) == seats
        if self.rules.priority == "fastest":
            order.sort(key=self._draw_and_place_time)
        return order

    def _draw_and_place_time(self, seat):
        """3.3 order 2, "fastest": the smaller sum of the mean t_draw and t_place comes first."""
        return mean_time(self.rules, "t_draw", seat) + mean_time(self.rules, "t_place", seat)

    # -- one seat acts ----------------------------------------------------------------------------

    def _act(self, seat, word):
        """3.3 order 3: after the end of the round no DRAW and no PLACE of the tick happens."""
        if word == "wait":
            self.ready_at[seat] = self.tick + 1
        elif word == "stop":
            self._stop(seat)
        elif self._round_end:
            return
        elif word == "draw":
            self._draw(seat)
        else:
            self._place(seat, slot_of(word))

    def _stop(self, seat):
        """T8, T13, T17, TA8, TA9, 3.3 order 4: call Stop; the referee judges the real row.

        Later Stops of the tick count only under "all_valid", and none after the last card.
        """
        later = bool(self._round_end)
        if later and (self._round_end != "stop" or self.rules.stop_resolution == "first"):
            return
        self._round_end = "stop"
        self.callers[seat] = may_be_stopped(self.rules, self.rows[seat])

    def _draw(self, seat):
        """T6, 3.3 order 5: the card is held from this tick on. T10: the last one ends the round."""
        self.held[seat] = self._take_from_middle()
        self.ready_at[seat] = self.tick + self._duration("t_draw", seat)
        if self._cards_left() == 0:
            self._round_end = "exhausted"
            self._last_card_taker = seat

    def _place(self, seat, slot):
        """T6, T7, T13: cover any card with the held one. 3.3 order 5: t_check when in order now.

        3.3, **p_misread**: the own check is wrong with this probability after each PLACE.
        """
        could_stop = may_be_stopped(self.rules, self.rows[seat])
        self._lay(seat, slot)
        can_stop = may_be_stopped(self.rules, self.rows[seat])
        self.own_check[seat] = can_stop
        if self.rules.p_misread > 0 and self.chance.misread():
            self.own_check[seat] = not can_stop
        busy = self._duration("t_place", seat)
        if can_stop and not could_stop:
            busy += self._duration("t_check", seat) - 1
        self.ready_at[seat] = self.tick + busy

    def _lay(self, seat, slot):
        """T2, TA20: the covered card is out; the new one lies face up."""
        card = self.held[seat]
        self.held[seat] = None
        self.rows[seat][slot] = card
        self._face_up.append(card)

    # -- the end of a round -----------------------------------------------------------------------

    def _open_final_place(self):
        """T8, TA7, 3.3 order 7: one more tick for all holders, skipped if there is none."""
        self.phase = "final_place"
        holders = [seat for seat in self._seats() if self.held[seat] is not None]
        if holders:
            self.tick += 1
            self._asked = holders

    def _resolve_final_place(self):
        """T8, 3.3 order 7: all held cards are laid; no chance and no duration matters here."""
        words = self._chosen
        self._asked = []
        self._chosen = {}
        for seat in sorted(words):
            self._lay(seat, slot_of(words[seat]))
            self.own_check[seat] = may_be_stopped(self.rules, self.rows[seat])

    def _score(self):
        """T9, T11, T12, T13, TA5, TA6, TA9, 3.3 order 8: the points of the round."""
        self.round_scores = [self._round_score(seat) for seat in self._seats()]
        for seat in self._seats():
            self.points[seat] += self.round_scores[seat]
        self.last_callers = dict(self.callers)
        self.last_round_end = self._round_end
        self.rounds += 1

    def _round_score(self, seat):
        """3.3 order 8: the row, +2 for a valid Stop or TA6, exactly 0 for a false one (TA9)."""
        row = self.rows[seat]
        called = self.callers.get(seat)
        if called is False:
            return 0
        score = score_row(self.rules, row)
        if called:
            score += 2
        took_the_last = self.rules.last_card_stop and seat == self._last_card_taker
        if took_the_last and may_be_stopped(self.rules, row):
            score += 2
        if self.rules.floor_zero:
            score = max(0, score)
        return score

    # -- the end of the game ----------------------------------------------------------------------

    def _test_the_end(self):
        """T3, T15, TA15: a single round ends by itself; a match at target_score or max_rounds.

        TA15, "extra_round": after somebody has reached the target rounds go on until one seat alone
        leads; at max_rounds a shared lead stays shared.
        """
        most = max(self.points)
        leaders = [seat for seat in self._seats() if self.points[seat] == most]
        if most >= self.rules.target_score:
            self._goal_was_reached = True
        lead_decides = self.rules.tie == "shared" or len(leaders) == 1
        if self.rules.episode == "round":
            self.end_reason = self._round_end
        elif self._goal_was_reached and lead_decides:
            self.end_reason = "goal"
        elif self.rounds >= self.rules.max_rounds:
            self.end_reason = "max_rounds"
        else:
            return
        self.over = True
        self.phase = "over"
        self.winners = leaders

    # -- rewards ----------------------------------------------------------------------------------

    def _pay(self):
        """Decisions, **reward**: paid to all seats in the step that scores the round."""
        scores = self.round_scores
        seats = len(scores)
        for seat in self._seats():
            if self.rules.reward == "points" or (self.rules.reward == "margin" and seats == 1):
                paid = float(scores[seat])
            elif self.rules.reward == "margin":
                others = [scores[other] for other in self._seats() if other != seat]
                paid = scores[seat] - sum(others) / len(others)
            elif not self.over:
                paid = 0.0
            elif seat in self.winners:
                paid = (seats / len(self.winners) - 1) / (seats - 1)
            else:
                paid = -1 / (seats - 1)
            self._unpaid[seat] += paid

    def take_rewards(self):
        """The rewards paid since the last call, one a seat."""
        paid = self._unpaid
        self._unpaid = [0.0 for _ in self._seats()]
        return paid

    # -- what a seat sees -------------------------------------------------------------------------

    def seen_by(self, seat):
        """3.3 Observation: the facts this seat may see, with absolute seats.

        Hidden: the cards of the middle, the others' held cards and pending choices, and with noise
        their remaining ticks, which are future chance.
        """
        remaining = [self._remaining(other) for other in self._seats()]
        numbers, thunders = None, None
        if self.rules.obs_seen:
            numbers, thunders = self._ever_seen_by(seat)
        return {
            "phase": self.phase,
            "row": list(self.rows[seat]),
            "own_check": self.own_check[seat],
            "held": self.held[seat],
            "own_remaining": remaining[seat],
            "remaining": None if self.rules.speed_noise else remaining,
            "cooling": [ticks > 0 for ticks in remaining],
            "holding": [card is not None for card in self.held],
            "middle": self._cards_left(),
            "points": list(self.points),
            "tick": self.tick,
            "rounds": self.rounds,
            "opponents": self._rows_as_shown(),
            "seen": numbers,
            "seen_thunders": thunders,
        }

    def _rows_as_shown(self):
        """3.3, **obs_opponents**: all rows, or (prefix length, Flash, Thunders) a seat, or None."""
        if self.rules.obs_opponents == "full":
            return [list(row) for row in self.rows]
        if self.rules.obs_opponents == "counts":
            return [
                (
                    len(counted_cards(self.rules, row)),
                    len([card for card in row if is_flash(card)]),
                    row.count(THUNDER),
                )
                for row in self.rows
            ]
        return None

    def _ever_seen_by(self, seat):
        """3.3, **obs_seen**, TA20: all number cards, and how many Thunders, a seat ever saw."""
        cards = list(self._face_up)
        if self.held[seat] is not None:
            cards.append(self.held[seat])
        return sorted(numbers_of(cards)), cards.count(THUNDER)

    @property
    def length(self):
        """Decisions: a game's length counts the ticks of all rounds, FINAL_PLACE ticks included."""
        return self._ticks_of_finished_rounds + self.tick

    def copy(self):
        """An independent game at the same point, chance included; only the rules are shared."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if name != "rules":
                setattr(twin, name, copy.deepcopy(value))
        return twin

    # -- small words ------------------------------------------------------------------------------

    def _seats(self):
        return range(self.rules.num_players)

    def _ready(self):
        return [seat for seat in self._seats() if self.ready_at[seat] <= self.tick]

    def _remaining(self, seat):
        return max(0, self.ready_at[seat] - self.tick)

    def _cards_left(self):
        return sum(self.middle.values())

    def _duration(self, name, seat):
        """3.3 Speeds: the mean, or with noise a chance duration around it."""
        mean = mean_time(self.rules, name, seat)
        if self.rules.speed_noise:
            return self.chance.duration(mean)
        return mean

    def _idle(self):
        """Decisions, **pace**: "auto_draw" acts as idle "forbidden" whatever its value."""
        return "forbidden" if self.rules.pace == "auto_draw" else self.rules.idle

    def _false_stop(self):
        """Decisions, **pace**: "auto_draw" acts as false_stop "masked" whatever its value."""
        return "masked" if self.rules.pace == "auto_draw" else self.rules.false_stop


def full_deck(rules):
    """T1: the number cards 0..numbers-1 and the Thunders."""
    deck = Counter(range(rules.numbers))
    if rules.thunders:
        deck[THUNDER] = rules.thunders
    return deck


def is_flash(card):
    """T12: all multiples of 5, 0 among them (arithmetic check)."""
    return card != THUNDER and card % 5 == 0


def numbers_of(cards):
    """T13: the cards without the Thunders, which never interrupt a row."""
    return [card for card in cards if card != THUNDER]


def slot_of(word):
    """The slot of a "place" word."""
    return int(word.split()[1])


def rising_start(cards):
    """T9, T13, TA14: the numbers from the start on while they strictly ascend."""
    run = []
    for card in numbers_of(cards):
        if run and card <= run[-1]:
            break
        run.append(card)
    return run


def in_order(rules, row):
    """T2, T16, TA14: all numbers ascend, or up to the peak and then down.

    TA17: a Thunder at the peak is ignored, so that nothing binds the two sides together.
    """
    if rules.row_shape == "ascending":
        return rising_start(row) == numbers_of(row)
    peak = len(row) // 2
    up = row[: peak + 1]
    down = row[peak:][::-1]
    return rising_start(up) == numbers_of(up) and rising_start(down) == numbers_of(down)


def may_be_stopped(rules, row):
    """3.3 "May be stopped", T13, T17: in order and, unless stop_with_thunder, without a Thunder."""
    if THUNDER in row and not rules.stop_with_thunder:
        return False
    return in_order(rules, row)


def counted_cards(rules, row):
    """T9, T16, TA16, TA17: the number cards of the row that are worth a point each."""
    if rules.row_shape == "ascending":
        return rising_start(row)
    peak = len(row) // 2
    up = row[: peak + 1]
    left_run = rising_start(up)
    if rules.peak_score == "both_sides":
        # From the right end inwards to the slot after the peak; the peak counts once, on the left.
        return left_run + rising_start(row[peak + 1 :][::-1])
    counted = list(left_run)
    if left_run != numbers_of(up):
        return counted
    above = row[peak]  # what the next number must stay below
    for card in numbers_of(row[peak + 1 :]):
        if above != THUNDER and card >= above:
            break
        counted.append(card)
        above = card
    return counted


def score_row(rules, row):
    """T9, T12, T13, TA3, TA4: counted cards + Flash - Thunders, without the +2 of a Stop."""
    counted = counted_cards(rules, row)
    flash_among = row if rules.flash_scope == "visible" else counted
    flash = len([card for card in flash_among if is_flash(card)])
    return len(counted) + flash - row.count(THUNDER)


def mean_time(rules, name, seat):
    """Decisions, Time: one int for all seats, or a tuple of which seat p takes entry p."""
    value = getattr(rules, name)
    return value[seat] if isinstance(value, tuple) else value


def refuse_bad_rules(rules):
    """Decisions: what is refused at construction."""
    for name, allowed in OPTIONS.items():
        if getattr(rules, name) not in allowed:
            raise ValueError(f"{name} is one of {allowed}")
    ranges = {
        "num_players": (1, 5),
        "numbers": (10, 100),
        "thunders": (0, 20),
        "row_len": (3, 10),
        "target_score": (1, 1000),
        "max_rounds": (1, 1000),
    }
    for name, (lowest, highest) in ranges.items():
        if getattr(rules, name) not in range(lowest, highest + 1):
            raise ValueError(f"{name} is {lowest}..{highest}")
    if rules.row_shape == "mountain" and rules.row_len % 2 == 0:
        raise ValueError("a mountain needs an odd row_len (T16)")
    if rules.numbers + rules.thunders - rules.num_players * rules.row_len < 1:
        raise ValueError("no card is left for the middle (TA18)")
    for name in ("t_flip", "t_draw", "t_place", "t_check"):
        value = getattr(rules, name)
        entries = value if isinstance(value, tuple) else (value,)
        if isinstance(value, tuple) and len(value) not in range(2, 6):
            raise ValueError(f"{name} is an int or a tuple of 2 to 5")
        if isinstance(value, tuple) and len(value) < rules.num_players:
            raise ValueError(f"{name} has fewer entries than there are seats")
        if any(entry not in range(1, 1001) for entry in entries):
            raise ValueError(f"{name} is 1..1000")
    if rules.max_idle_ticks < 0 or rules.max_ticks < 1:
        raise ValueError("max_idle_ticks and max_ticks are not negative, max_ticks not 0 (TA12)")
    if not 0 <= rules.p_misread <= 0.5:
        raise ValueError("p_misread is 0..0.5 (3.3)")
    if rules.pace == "auto_draw" and rules.p_misread > 0:
        raise ValueError("auto_draw knows no misreading (Decisions, pace)")
    if rules.reward == "win" and rules.num_players == 1:
        raise ValueError("one seat alone cannot play for the win (Decisions, reward)")
