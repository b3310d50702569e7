"""Flinch, played slowly and by the book.

This is the twin that the fast game is compared with. It was written from rules/flinch.md alone and
shares no code with the package. A card is its rank, an int, or "W" for a wild; seats and slots count
from 0; the last card of a stock or a reserve pile is its top. Moves are words:

    "stock", "hand 7", "hand wild", "reserve 3", "partner stock", "partner reserve 3", each of these (the
    wild apart) with " down" behind it in F41; "discard 7 to 3", "discard wild to 3", "end turn";
    "no call", "call stock", "call 1"; in the NAME phase "hand 7" or "hand 7 down" is the rank of a wild.

Ids in docstrings (F25, FA13 and so on) are those of the rules file; "1.3 windows" is the paragraph of
that name in its section 1.3. `# reading:` marks a place where the text leaves room.

All chance comes from the injected `chance` object, in the order in which the methods ask for it.
"""

WILD = "W"

OPTIONS = {
    "packs": ("auto", 1, 2),
    "center": ("up", "both_ends", "eights"),
    "starter_duty": ("all_starters", "ones_only"),
    "eights_removal": ("both_ends", "on_15"),
    "partnership": (False, True),
    "opening": ("official", "sequential", "encyclopedia"),
    "first_laydown": ("spread", "free"),
    "duty_mode": ("enforced", "challenge", "honour"),
    "stock_duty": ("always", "turn_start", "none"),
    "refill": ("turn_start", "immediate"),
    "recycle": ("lazy", "eager", "immediate"),
    "deadlock": ("draw", "fewest_stock", "reshuffle_reserves"),
    "blocked": ("jump", "wait", "off"),
    "challenge_window": ("turn_end", "every_action"),
    "call_kinds": ("both", "stock_only"),
    "call_priority": ("left", "random"),
    "penalty_card": ("top", "hidden_random", "bottom"),
    "empty_by_penalty_wins": (True, False),
    "mask_false_stock_calls": (False, True),
    "reveal_on_false_call": (False, True),
    "illegal_move": ("mask", "exposure"),
    "offturn_exposure_discard": (True, False),
    "obs_reserve": ("tops", "full"),
    "auto_forced": (False, True),
    "reward": ("win", "stock_margin"),
}

RANGES = {
    "num_players": (2, 8),
    "num_ranks": (3, 15),
    "series_per_pack": (1, 20),
    "n_wild": (0, 27),
    "stock_size": (1, 20),
    "hand_size": (1, 5),
    "reserve_piles": (1, 5),
    "p_expose": (0.0, 1.0),
    "shaping": (0.0, 10.0),
    "shaping_gamma": (0.0, 1.0),
    "max_turns": (1, 1_000_000),
    "max_plays_per_turn": (10, 10_000),
}


class Pile:
    """F18, F41, F42: a Play Pile in the centre, ranks low..high without a gap.

    An ascending pile has low 1, a descending one high R, one of F42 the middle rank between its ends.
    """

    def __init__(self, rank, card):
        """A starter, or a wild that counts as one (FA20), begins the pile."""
        self.low = rank
        self.high = rank
        self.cards = [card]

    def __repr__(self):
        """For failing tests."""
        return f"Pile({self.low}..{self.high}: {self.cards})"


class Source:
    """Where a card is played from: a kind ("stock", "hand", "reserve"), its owner, and a slot or a card."""

    def __init__(self, kind, owner, which=None):
        """Kind "hand": `which` is the card; kind "reserve": the slot; kind "stock": None."""
        self.kind = kind
        self.owner = owner
        self.which = which


class Flinch:
    """One game of Flinch, from the deal to the end."""

    def __init__(self, rules, chance):
        """F8-F11, FA36: shuffle, deal, and ask seat 0, at the dealer's left (F19)."""
        refuse_bad_rules(rules)
        self.rules = rules
        self.chance = chance
        self.phase = "open"
        self.end_reason = ""
        self.truncated = False
        self.winners = []
        self.length = 0
        self.turns = 0
        self.opened = False
        self.piles = []
        self.stack = []
        self.removed = []
        self.reserves = [[[] for _ in range(rules.reserve_piles)] for _ in self._seats()]
        self.exposed = [[] for _ in self._seats()]
        self.known = [[] for _ in self._seats()]
        self.due = [None for _ in self._seats()]
        self.starter_free = [False for _ in self._seats()]
        self.holds_starter = [False for _ in self._seats()]
        self.announced = None
        self._polling = []  # seats still to be asked in the running window
        self._wild_source = None  # NAME: where the wild lies
        self._laying = []  # LAYDOWN: seats still to place, the first is asked
        self._has_laid_down = [False for _ in self._seats()]
        self._passes = 0  # FA5 (a): opening passes in a row
        self._quiet_turns = 0  # F40: finished turns in a row without a centre play
        self._deal()
        self._unpaid = [0.0 for _ in self._seats()]
        self._last_phi = [self._phi(seat) for seat in self._seats()]
        self._begin_turn(0)

    # -- the deal ---------------------------------------------------------------------------------

    def _deal(self):
        """F9, F10, F11: all Stockpiles seat by seat, bottom card first, then all hands."""
        self._shuffle_in(full_deck(self.rules))
        self.stocks = [[self._draw() for _ in range(self.rules.stock_size)] for _ in self._seats()]
        self.stock_known = [[False for _ in stock] for stock in self.stocks]
        self.hands = [in_order(self._draw() for _ in range(self.rules.hand_size)) for _ in self._seats()]

    def _shuffle_in(self, cards):
        """F32, FA12: these cards go into the Stack, all of which is shuffled."""
        cards = in_order(cards)
        self.chance.shuffle_in(list(cards))
        self.stack += cards

    def _draw(self):
        """The next card of the Stack, which chance knows."""
        card = self.chance.draw()
        self.stack.remove(card)
        return card

    # -- who is asked, and what may be done -------------------------------------------------------

    def asked(self):
        """1.3: exactly one seat acts until the game is over."""
        if self.over:
            return []
        if self.phase == "challenge":
            return [self._polling[0]]
        return [self.turn]

    def legal(self, seat):
        """1.3 Phases: the moves of the asked seat; none for any other seat."""
        if seat not in self.asked():
            return set()
        if self.phase == "open":
            return self._legal_in_opening(seat)
        if self.phase == "laydown":
            return self._legal_in_laydown(seat)
        if self.phase == "name":
            return self._legal_names()
        if self.phase == "challenge":
            return self._legal_calls()
        return self._legal_in_play(seat)

    def _legal_in_opening(self, seat):
        """FA5, FA8b: the starter that is due, else the pass. F40: a forced seat may not pass."""
        if self.rules.opening == "encyclopedia":
            due, free = self._reveal_plays(seat)
        else:
            due, free = self._opening_plays(seat)
        if due:
            return due
        return free if self.forced else free | {"end turn"}

    def _opening_plays(self, seat):
        """FA8b: own stock, partner's stock, hand; only starters. FA28: a top rank that is not due is free."""
        sources = self._stock_sources(seat), self._partner_stock_sources(seat), self._hand_sources(seat)
        for group in sources:
            due = self._words_of(source for source in group if self._is_due(self._card(source)))
            if due:
                return due, set()
        free = [source for group in sources for source in group if self._is_starter(self._card(source))]
        return set(), self._words_of(free)

    def _reveal_plays(self, seat):
        """FA5 (c), F22: only the own stock top, if it is a starter. FA28: a top rank that is not due is free."""
        starters = [source for source in self._stock_sources(seat) if self._is_starter(self._card(source))]
        words = self._words_of(starters)
        if any(self._is_due(self._card(source)) for source in starters):
            return words, set()
        return set(), words

    def _legal_in_laydown(self, seat):
        """FA6: any hand card on any non-empty slot or the lowest empty one; F13 does not apply."""
        slots = [slot for slot, pile in enumerate(self.reserves[seat]) if pile]
        slots += self._lowest_empty_slot(seat)
        return {f"discard {name_of(card)} to {slot}" for card in self.hands[seat] for slot in slots}

    def _legal_names(self):
        """1.3, FA20: the ranks as which a number card could be played."""
        words = set()
        for rank in self._ranks():
            if self._fits(rank, down=False):
                words.add(f"hand {rank}")
            if self._fits(rank, down=True):
                words.add(f"hand {rank} down")
        return words

    def _legal_calls(self):
        """1.3 windows: 97, 98, 99, less what the options remove."""
        words = {"no call"}
        may_call_stock = self.rules.stock_duty != "none"
        if self.rules.mask_false_stock_calls and not self._stock_guilt():
            may_call_stock = False
        if may_call_stock:
            words.add("call stock")
        if self.rules.call_kinds == "both":
            words.add("call 1")
        return words

    def _legal_in_play(self, seat):
        """1.3 Enforced mask in PLAY; challenge and honour: all plays at once. FA16: forced is plays only."""
        if self.due[seat] is not None:
            words = self._words(Source("hand", seat, self.due[seat]))
            if words:
                return words
            if not self.forced:
                # FA18: discards, the exposed card too, or 96 only.
                return self._discards(seat) if self.rules.offturn_exposure_discard else {"end turn"}
        if self.rules.duty_mode == "enforced":
            words, is_free = self._enforced_plays(seat)
        else:
            words, is_free = self._centre_plays(seat), True
        if is_free and not self.forced:
            words = words | self._ways_to_end(seat) | self._exposing_words(seat)
        return words

    def _enforced_plays(self, seat):
        """F25, F26, F27, F44, FA10: stock, partner's stock, starters; if none of them is due, everything."""
        stock = self._words_of(self._stock_sources(seat))
        partner_stock = self._words_of(self._partner_stock_sources(seat))
        if self._stock_duty_holds() and (stock or partner_stock):
            return stock or partner_stock, False
        starters = self._words_of(s for s in self._hand_sources(seat) if self._is_due(self._card(s)))
        if starters:
            return starters, False
        return self._centre_plays(seat), True

    def _stock_duty_holds(self):
        """FA9: always; or only while no non-stock action was taken this turn; or never."""
        if self.rules.stock_duty == "turn_start":
            return not self._left_the_stock
        return self.rules.stock_duty == "always"

    def _ways_to_end(self, seat):
        """F12, F30, FA14: a discard, or 96 with an empty hand. FA15: neither with starters only."""
        return self._discards(seat) if self.hands[seat] else {"end turn"}

    def _discards(self, seat):
        """F12, F13, F16: any card but a (duty) starter, to the lowest empty slot if there is one."""
        slots = self._lowest_empty_slot(seat) or range(self.rules.reserve_piles)
        cards = [card for card in self.hands[seat] if not self._is_due(card)]
        return {f"discard {name_of(card)} to {slot}" for card in cards for slot in slots}

    def _exposing_words(self, seat):
        """F38, FA35: a hand card that none of its ids can play, under its up id."""
        if self.rules.illegal_move == "mask":
            return set()
        return {f"hand {card}" for card in self.hands[seat] if self._is_stuck(card)}

    def _lowest_empty_slot(self, seat):
        """1.3 Key reduction: of the empty slots only the lowest; a list of it, or of nothing."""
        return [slot for slot, pile in enumerate(self.reserves[seat]) if not pile][:1]

    # -- sources and their words ------------------------------------------------------------------

    def _stock_sources(self, seat):
        """F25: the own stock top, if there is one."""
        return [Source("stock", seat)] if self.stocks[seat] else []

    def _partner_stock_sources(self, seat):
        """F44, F45: the partner's stock top."""
        partner = self._partner(seat)
        return [] if partner is None else self._stock_sources(partner)

    def _hand_sources(self, seat):
        """The hand, each rank once."""
        return [Source("hand", seat, card) for card in in_order(set(self.hands[seat]))]

    def _reserve_sources(self, seat):
        """F14, F44: the own reserve tops and the partner's."""
        owners = [seat] if self._partner(seat) is None else [seat, self._partner(seat)]
        return [Source("reserve", p, slot) for p in owners for slot, pile in enumerate(self.reserves[p]) if pile]

    def _centre_plays(self, seat):
        """Every play to the centre, duties ignored."""
        sources = self._stock_sources(seat) + self._partner_stock_sources(seat)
        return self._words_of(sources + self._hand_sources(seat) + self._reserve_sources(seat))

    def _card(self, source):
        """The card that lies there."""
        if source.kind == "stock":
            return self.stocks[source.owner][-1]
        if source.kind == "reserve":
            return self.reserves[source.owner][source.which][-1]
        return source.which

    def _words_of(self, sources):
        """The words that play from any of these sources."""
        return {word for source in sources for word in self._words(source)}

    def _words(self, source):
        """1.3 Actions: the up id and the down id, where legal; FA20: a wild has the up id, not in OPEN."""
        card = self._card(source)
        word = self._word_of_source(source)
        if card == WILD:
            return set() if self.phase == "open" else {word}
        words = set()
        if self._fits(card, down=False):
            words.add(word)
        if self._fits(card, down=True):
            words.add(f"{word} down")
        return words

    def _word_of_source(self, source):
        """1.3 Actions: the partner's piles have ids of their own."""
        word = source.kind if source.which is None else f"{source.kind} {name_of(source.which)}"
        return word if source.owner == self.turn else f"partner {word}"

    def _source_of(self, seat, move):
        """The source that a word names."""
        words = move.split()
        owner = seat
        if words[0] == "partner":
            owner = self._partner(seat)
            words = words[1:]
        if words[0] == "stock":
            return Source("stock", owner)
        if words[0] == "reserve":
            return Source("reserve", owner, int(words[1]))
        return Source("hand", owner, card_of(words[1]))

    # -- the centre -------------------------------------------------------------------------------

    def _starts_a_pile(self, rank, down):
        """F18, FA4, F41, F42: a 1 upward; in F41 the top rank downward too; in F42 the middle rank."""
        if self.rules.center == "eights":
            return not down and rank == middle_rank(self.rules)
        if down:
            return self.rules.center == "both_ends" and rank == self.rules.num_ranks
        return rank == 1

    def _piles_for(self, rank, down):
        """F18, F41, FA29, F42: the started piles that take this rank, the binding choice first.

        FA31: in F42 the pile whose other end is most advanced; otherwise the one started first.
        """
        if self.rules.center == "eights":
            if down:
                return []
            if rank > middle_rank(self.rules):
                return sorted((pile for pile in self.piles if pile.high == rank - 1), key=lambda pile: pile.low)
            return sorted((pile for pile in self.piles if pile.low == rank + 1), key=lambda pile: -pile.high)
        if down:
            return [pile for pile in self.piles if pile.high == self.rules.num_ranks and pile.low == rank + 1]
        return [pile for pile in self.piles if pile.low == 1 and pile.high == rank - 1]

    def _fits(self, rank, down):
        """Whether this rank can be played in this direction."""
        return self._starts_a_pile(rank, down) or bool(self._piles_for(rank, down))

    def _is_playable(self, card):
        """FA13, FA20: duties and phase ignored; a wild always is, as a starter at least."""
        return card == WILD or not self._is_stuck(card)

    def _is_stuck(self, card):
        """FA35: a number card that neither id can play."""
        return card != WILD and not self._fits(card, down=False) and not self._fits(card, down=True)

    def _is_starter(self, card):
        """Head of the rules: a card that may open a Play Pile; a wild never is one."""
        if card == WILD:
            return False
        return self._starts_a_pile(card, down=False) or self._starts_a_pile(card, down=True)

    def _is_due(self, card):
        """FA28: a duty starter: any starter, under ones_only a 1 only."""
        if self.rules.starter_duty == "ones_only":
            return card == 1
        return self._is_starter(card)

    def _lay_in_centre(self, card, rank, down):
        """F18, F41, F42: extend a pile or start one; take a finished pile away."""
        if self._starts_a_pile(rank, down):
            pile = Pile(rank, card)
            self.piles.append(pile)
            # reading: a pile that a wild starts opens the centre as well.
            self.opened = True
        else:
            pile = self._piles_for(rank, down)[0]
            pile.low = min(pile.low, rank)
            pile.high = max(pile.high, rank)
            pile.cards.append(card)
        if self._is_finished(pile):
            self.piles.remove(pile)
            self.removed += pile.cards
            if self.rules.recycle == "immediate":
                self._recycle()
            self._recycle_eagerly()

    def _is_finished(self, pile):
        """FA3: all ranks lie there. FA30, "on_15": the top rank takes the pile away as it is."""
        if self.rules.center == "eights" and self.rules.eights_removal == "on_15":
            return pile.high == self.rules.num_ranks
        return pile.low == 1 and pile.high == self.rules.num_ranks

    # -- a seat acts ------------------------------------------------------------------------------

    def play(self, seat, move):
        """One move; 1.3 auto_forced: then all single legal moves, of any seat, in a row."""
        assert seat in self.asked(), f"seat {seat} is not asked"
        assert move in self.legal(seat), f"seat {seat} may not {move!r}"
        self._act(seat, move)
        while self.rules.auto_forced and not self.over:
            seat = self.asked()[0]
            moves = self.legal(seat)
            if len(moves) > 1:
                break
            self._act(seat, *moves)

    def _act(self, seat, move):
        """Play one move and pay for it."""
        self.length += 1
        if self.phase == "challenge":
            self._answer(seat, move)
        elif self.phase == "laydown":
            self._place(seat, move)
        else:
            # reading: every action of the turn-holder counts, the announced end of the turn too; cards
            # placed in a lay-down do not.
            self.plays_this_turn += 1
            if self.phase == "name":
                self._play_to_centre(seat, self._wild_source, *rank_and_direction(move))
            elif self.phase == "open" and move == "end turn":
                self._pass(seat)
            elif self._ends_turn(move):
                self._announce_end(seat, move)
            else:
                self._play_from(seat, move)
        self._pay(seat)

    def _ends_turn(self, move):
        """F30, FA14, F38: a discard, 96, or a hand card that cannot be played."""
        return move == "end turn" or move.startswith("discard") or self._is_exposing(move)

    def _is_exposing(self, move):
        """F38, FA35: the up id of a hand card that none of its ids can play."""
        return move.startswith("hand") and self._is_stuck(card_of(move.split()[1]))

    def _play_from(self, seat, move):
        """F25-F28, F44: play a card to the centre. 1.3: a wild must be named first."""
        source = self._source_of(seat, move)
        card = self._card(source)
        plays_due_card = source.kind == "hand" and card == self.due[seat]
        self._note_stock_guilt(seat, source, plays_due_card)
        is_starter_play = source.kind == "hand" and self._is_due(card)
        # reading: to play the F39 card first is no offence, neither for call 98 nor for call 99.
        # reading: a partner's stock play is a stock play for call 99 too.
        self._in_order = source.kind == "stock" or is_starter_play or plays_due_card
        self._is_f39_pass = False
        self.due[seat] = None
        if source.kind != "stock":
            self._left_the_stock = True
        if card == WILD:
            self._wild_source = source
            self.phase = "name"
            self._test_plays_cap()
        else:
            self._play_to_centre(seat, source, card, move.endswith(" down"))

    def _play_to_centre(self, seat, source, rank, down):
        """The card moves; then the win test, the cap, the window and the refill, in this order."""
        in_opening = self.phase == "open"
        card = self._take(source)
        if source.kind == "hand" and self._is_due(card):
            self.holds_starter[seat] = False
        self._wild_source = None
        if not in_opening or self.rules.opening != "encyclopedia":
            self.phase = "play"  # FA5 (a), (b): the ordinary first turn has begun
        self._lay_in_centre(card, rank, down)
        self._played_to_centre = True
        # reading: a wild is played when it is named. An F39 card whose pass was overridden binds again now.
        self.forced = False  # FA16: until one card is played
        if source.kind == "stock" and self._side_stock(seat) == 0:
            self._end("goal", [self._side(seat)])  # F48, F45
            return
        self._test_plays_cap()
        if self.over:
            return
        windows = self.rules.duty_mode == "challenge" and self.rules.challenge_window == "every_action"
        if windows and not in_opening:
            self._open_window(None)
        else:
            self._refill(seat)  # F29, FA11

    def _take(self, source):
        """Take the card from where it lies."""
        if source.kind == "stock":
            self._passed_over.discard(source.owner)
            self.stock_known[source.owner].pop()
            return self.stocks[source.owner].pop()
        if source.kind == "reserve":
            return self.reserves[source.owner][source.which].pop()
        self._take_from_hand(source.owner, source.which)
        return source.which

    def _take_from_hand(self, seat, card):
        """A known card of the rank leaves first, an exposed one before one that was merely shown."""
        self.hands[seat].remove(card)
        if card in self.exposed[seat]:
            self.exposed[seat].remove(card)
        if card in self.known[seat]:
            self.known[seat].remove(card)
        if card == self.due[seat]:
            self.due[seat] = None

    def _test_plays_cap(self):
        """1.3 End: max_plays_per_turn, after an action that ends neither the turn nor the game."""
        if self.plays_this_turn >= self.rules.max_plays_per_turn:
            self._truncate("max_plays_per_turn")

    # -- drawing ----------------------------------------------------------------------------------

    def _refill(self, seat):
        """F29, FA11, FA12: an empty hand draws hand_size cards, or as many as the Stack has."""
        if self.hands[seat]:
            return
        if not self.stack and self.removed:
            self._recycle()
        drawn = [self._draw() for _ in range(min(self.rules.hand_size, len(self.stack)))]
        self.hands[seat] = in_order(drawn)
        if drawn:
            self.starter_free[seat] = False
        self._recycle_eagerly()

    def _recycle(self):
        """F32, FA12: the removed cards become the Stack, or are shuffled into it."""
        cards = self.removed
        self.removed = []
        self._shuffle_in(cards)

    def _recycle_eagerly(self):
        """FA12 "eager": whenever the Stack is empty and a removed pile exists."""
        if self.rules.recycle == "eager" and not self.stack and self.removed:
            self._recycle()

    # -- the opening ------------------------------------------------------------------------------

    def _pass(self, seat):
        """FA5: an opening pass. (b): the own lay-down and redraw follow before the turn ends."""
        if self.rules.opening != "encyclopedia":
            self.starter_free[seat] = True
        self._passes += 1
        if self.rules.opening == "sequential":
            self._start_laydown([seat])
        else:
            self._finish_turn()

    def _start_laydown(self, seats):
        """F23, FA6: these seats lay down their hands, one after the other."""
        self.phase = "laydown"
        self._laying = [seat for seat in seats if self.hands[seat]]
        self._go_on_laying()

    def _go_on_laying(self):
        """FA6: spread a first hand at once, ask the next seat that has a choice, or redraw."""
        while self._laying:
            seat = self._laying[0]
            if self.hands[seat] and not self._spreads(seat):
                # reading: in LAYDOWN the placing seat counts as the turn-holder.
                self.turn = seat
                return
            for slot, card in enumerate(list(self.hands[seat])):
                self._take_from_hand(seat, card)
                self.reserves[seat][slot].append(card)
            self._has_laid_down[seat] = True
            self._laying.pop(0)
        self.phase = "open"
        if self.rules.opening == "sequential":
            self._refill(self.turn)
            self._finish_turn()
        else:
            self._redraw()
            self._open_again()

    def _spreads(self, seat):
        """FA6: only a seat's first lay-down, and only if there are slots enough."""
        # reading: first in the game, even if the reserves were reshuffled since (FA13).
        enough = self.rules.reserve_piles >= self.rules.hand_size
        return self.rules.first_laydown == "spread" and enough and not self._has_laid_down[seat]

    def _place(self, seat, move):
        """FA6: one card of a lay-down, visible at once."""
        card, slot = card_and_slot(move)
        self._take_from_hand(seat, card)
        self.reserves[seat][slot].append(card)
        if not self.hands[seat]:
            self._go_on_laying()

    def _redraw(self):
        """FA6: new hands in seat order.

        # reading: as everywhere, only an empty hand draws (FA13 in OPEN may find others).
        """
        for seat in self._seats():
            self._refill(seat)

    def _open_again(self):
        """FA7: seat 0 again. FA8: if nobody could redraw, FA13 is tested and ordinary turns start."""
        self._passes = 0
        if not any(self.hands):
            reshuffled = self._test_dead()
            if self.over:
                return
            if not reshuffled:
                self.phase = "play"
        self._begin_turn(0)

    def _go_on_opening(self, reshuffled):
        """FA5, FA8, FA13: who comes next after a turn that ended in OPEN."""
        last = self.rules.num_players - 1
        if reshuffled:
            self._passes = 0
            self._begin_turn(0)
        elif self.rules.opening == "encyclopedia":
            if self.turn == last:
                self.phase = "play"
            self._begin_turn(0 if self.turn == last else self.turn + 1)
        elif self.rules.opening == "sequential" and not any(self.hands):
            # reading: FA8 sends sequential play to seat 0 too.
            self.phase = "play"
            self._begin_turn(0)
        elif self.rules.opening == "official" and self._passes == self.rules.num_players:
            # reading: FA13 and max_turns were tested after the last pass, before the lay-down; F40 is not
            # tested here, because the lay-down comes before the next turn.
            self._start_laydown(self._seats())
        else:
            self._pass_the_turn()

    # -- the end of a turn ------------------------------------------------------------------------

    def _announce_end(self, seat, move):
        """1.3 windows: in challenge mode an end of turn is announced, and applied after the window."""
        self._is_f39_pass = self.due[seat] is not None and not self.forced
        self.due[seat] = None
        self._in_order = False
        if not self._is_f39_pass:
            self._note_stock_guilt(seat, None, plays_due_card=False)
        if self._is_exposing(move):  # the card is shown at once, whatever is called
            self._expose(seat, card_of(move.split()[1]))
        if self.rules.duty_mode == "challenge":
            self._open_window(move)
        else:
            self._apply_end(seat, move)

    def _apply_end(self, seat, move):
        """F30, FA14, F38, F39: discard, expose or nothing; facts, refill (FA11), exposures (FA35)."""
        is_discard = move.startswith("discard")
        if is_discard:
            card, slot = card_and_slot(move)
            self._take_from_hand(seat, card)
            self.reserves[seat][slot].append(card)
        if self.rules.duty_mode == "enforced" and not self._is_f39_pass:
            self.starter_free[seat] = True
        if is_discard and self.rules.refill == "immediate":
            self._refill(seat)
        self._expose_by_accident(seat)
        self._finish_turn()

    def _expose(self, seat, card):
        """F38: flag a card of this rank, a second one if one is flagged already and there is one."""
        # reading: a card that is flagged already may be exposed again; it flags nothing new.
        if self.exposed[seat].count(card) < self.hands[seat].count(card):
            self.exposed[seat] = in_order([*self.exposed[seat], card])
        if self.known[seat].count(card) < self.exposed[seat].count(card):
            self.known[seat] = in_order([*self.known[seat], card])

    def _expose_by_accident(self, turn_holder):
        """F39, FA35: every other seat, clockwise, with p_expose; none while one is outstanding."""
        if self.rules.p_expose <= 0:
            return
        for seat in self._clockwise_after(turn_holder):
            if self.hands[seat] and self.due[seat] is None and self.chance.exposes(seat):
                card = self.chance.exposed_card(list(self.hands[seat]))
                # reading: as with F38 a second card of the rank is flagged if one is flagged already.
                self._expose(seat, card)
                self.due[seat] = card

    def _finish_turn(self):
        """FA13, then max_turns, then FA16 and the next turn."""
        self.turns += 1
        self._quiet_turns = 0 if self._played_to_centre else self._quiet_turns + 1
        # reading: the duty of F39 ends with the seat's turn, however the turn ends.
        self.due[self.turn] = None
        self.forced = False
        reshuffled = self._test_dead()
        if self.over:
            return
        if self.turns >= self.rules.max_turns:
            self._truncate("max_turns")
        elif self.phase == "open":
            self._go_on_opening(reshuffled)
        else:
            self._pass_the_turn()

    def _pass_the_turn(self):
        """F40, FA16: to the left; or to the designated seat ("jump"), or it is forced in turn ("wait")."""
        following = (self.turn + 1) % self.rules.num_players
        designated = self._designated()
        if designated is not None and self.rules.blocked == "jump":
            self._quiet_turns = 0
            self._begin_turn(designated, forced=True)
        else:
            self._begin_turn(following, forced=following == designated)

    def _designated(self):
        """F40, FA16, FA17: the first seat from seat 0 with a legal play, if the game is blocked."""
        if self.rules.blocked == "off" or self.phase == "open" or self.stack or self.removed:
            return None
        if self._quiet_turns < self.rules.num_players:
            return None
        for seat in self._seats():
            if self._may_play(seat):
                return seat
        return None

    def _may_play(self, seat):
        """FA16: whether a seat has any legal centre play.

        # reading: F40 is tested after opening passes too, with what may be played in OPEN (FA8b).
        """
        if self.phase == "open":
            return any(self._opening_plays(seat))
        return bool(self._centre_plays(seat))

    def _begin_turn(self, seat, forced=False):
        """FA22 win test, then the refill (F29, FA11)."""
        self.turn = seat
        self.forced = forced
        self.plays_this_turn = 0
        self._played_to_centre = False
        self._left_the_stock = False
        self._passed_over = set()  # owners of stocks of which the present top was passed over
        self._in_order = False
        self._is_f39_pass = False
        if self._side_stock(seat) == 0:
            self._end("goal", [self._side(seat)])
            return
        self._refill(seat)

    # -- call windows -----------------------------------------------------------------------------

    def _note_stock_guilt(self, seat, source, plays_due_card):
        """1.3 Stock guilt: another action while a stock card is playable; own before partner's (F44)."""
        if plays_due_card or not self._stock_duty_holds():
            return
        played = source.owner if source is not None and source.kind == "stock" else None
        if played == seat:
            return
        # reading: a card played past both playable stocks marks both; the opening play counts too: under
        # ones_only a top rank from hand past a top rank on the stock is an offence.
        for stock in self._stock_sources(seat) + self._partner_stock_sources(seat):
            if stock.owner != played and self._words(stock):
                self._passed_over.add(stock.owner)

    def _stock_guilt(self):
        """1.3 Stock guilt: the passed-over card is still the top. The F39 pass is no offence."""
        return bool(self._passed_over) and not self._is_f39_pass

    def _one_guilt(self):
        """1.3 1 guilt: a starter in hand, and the action was neither a stock nor a starter play."""
        return self._hand_was_tested() and any(self._is_due(card) for card in self.hands[self.turn])

    def _hand_was_tested(self):
        """1.3 1 guilt: whether a starter in hand would be an offence in this window."""
        return not self._is_f39_pass and not self._in_order

    def _open_window(self, announced):
        """1.3 windows, FA26: opponents only, nearest left first or in a random order."""
        self.announced = announced
        self.phase = "challenge"
        opponents = [seat for seat in self._clockwise_after(self.turn) if self._side(seat) != self._side(self.turn)]
        if self.rules.call_priority == "random":
            order = list(self.chance.polling_order(list(opponents)))
            assert sorted(order) == sorted(opponents)
            opponents = order
        self._polling = opponents

    def _answer(self, seat, move):
        """1.3 windows, FA26: the first caller decides; nobody after it is asked."""
        if move == "no call":
            self._polling.pop(0)
            if not self._polling:
                self._close_window()
            return
        if move == "call stock":
            correct = self._stock_guilt()
        else:
            correct = self._one_guilt()
            self._learn_from_call(correct)
        if correct:
            self._penalty(seat, self.turn)
        else:
            self._penalty(self.turn, seat)
        if self.over:
            return
        if correct:
            self._polling = []
            # reading: an F38 exposure that was only announced is treated as not shown, too.
            self.announced = None  # F36: no discard, the card is treated as not shown
            self.phase = "play"
            self._finish_turn()
        else:
            self._close_window()  # FA27: the turn goes on

    def _learn_from_call(self, correct):
        """1.3 Public hand facts, FA24: what a 1-call tells about the challenged hand."""
        if correct:
            self.holds_starter[self.turn] = True
            return
        # reading: a wrong 1-call proves the hand free of starters only where holding one would have made
        # it a correct call: not after a stock, starter or F39 play, and not at the F39 pass.
        if self._hand_was_tested():
            self.starter_free[self.turn] = True
        if self.rules.reveal_on_false_call:
            self.known[self.turn] = list(self.hands[self.turn])

    def _close_window(self):
        """1.3 windows: apply the announced end; inside a turn (every_action) go on with the refill."""
        self._polling = []
        self.phase = "play"
        announced = self.announced
        self.announced = None
        if announced is None:
            self._refill(self.turn)
        else:
            self._apply_end(self.turn, announced)

    def _penalty(self, giver, taker):
        """F34, F35, FA21, FA22: a card of the giver's stock goes under the taker's."""
        giver = self._penalty_pile(giver)
        taker = self._penalty_pile(taker)
        stock, known = self.stocks[giver], self.stock_known[giver]
        if not stock:
            return  # FA22: nothing moves
        top = len(stock) - 1
        place = {"top": top, "bottom": 0}.get(self.rules.penalty_card)
        hidden = place is None and top > 0
        if place is None:
            place = self.chance.face_down(top) if hidden else top
        is_public = place == top or (known[place] and not hidden)
        card = stock.pop(place)
        known.pop(place)
        if hidden:
            # FA21: known cards become unknown. reading: the flag of the face-up top stays as it is.
            known[:-1] = [False for _ in known[:-1]]
        # reading: a top that is taken as a penalty is no longer passed over.
        if place == top:
            self._passed_over.discard(giver)
        self.stocks[taker].insert(0, card)
        self.stock_known[taker].insert(0, is_public)
        if self._side_stock(giver) == 0 and self.rules.empty_by_penalty_wins:
            self._end("goal", [self._side(giver)])

    def _penalty_pile(self, seat):
        """FA33: if the own stock is empty, the partner's remaining one takes both roles."""
        partner = self._partner(seat)
        if not self.stocks[seat] and partner is not None and self.stocks[partner]:
            return partner
        return seat

    # -- the end of the game ----------------------------------------------------------------------

    @property
    def over(self):
        """Whether the game has ended."""
        return self.phase == "over"

    @property
    def points(self):
        """1.3 Infos: minus the stock cards left."""
        return [-len(stock) for stock in self.stocks]

    def _test_dead(self):
        """FA13: nobody can ever play again. True if the reserves were reshuffled and play goes on.

        # reading: playable as in PLAY, in OPEN too: a wild or a top rank on a reserve pile keeps the game
        # alive, because the opening ends by itself (FA8).
        # reading: an empty stock of FA22 wins under every value of deadlock.
        """
        if self.stack or self.removed or any(self._is_playable(card) for card in self._tops_and_hands()):
            return False
        left = [self._side_stock(seat) for seat in self._seats()]
        reserves = [card for piles in self.reserves for pile in piles for card in pile]
        if min(left) == 0 or self.rules.deadlock == "fewest_stock":
            self._end("dead", [self._side(seat) for seat in self._seats() if left[seat] == min(left)])
            return False
        if self.rules.deadlock == "draw" or not reserves:
            self._end("dead", [])
            return False
        self.reserves = [[[] for _ in piles] for piles in self.reserves]
        self._shuffle_in(reserves)
        if self.phase == "open":
            self._redraw()
        return True

    def _tops_and_hands(self):
        """FA13: all stock tops, hand cards and reserve tops."""
        cards = [card for hand in self.hands for card in hand]
        cards += [stock[-1] for stock in self.stocks if stock]
        return cards + [pile[-1] for piles in self.reserves for pile in piles if pile]

    def _end(self, reason, winning_sides):
        """F48, FA13: over, with the winning sides."""
        self.winners = [seat for seat in self._seats() if self._side(seat) in winning_sides]
        self._close(reason)

    def _truncate(self, reason):
        """1.3 End: a cap ends the game, nobody wins."""
        self.truncated = True
        self._close(reason)

    def _close(self, reason):
        self.end_reason = reason
        self.phase = "over"
        self.announced = None
        self.forced = False
        self._polling = []

    # -- rewards ----------------------------------------------------------------------------------

    def take_rewards(self):
        """What the last play paid each seat; asked again, nothing."""
        paid = self._unpaid
        self._unpaid = [0.0 for _ in self._seats()]
        return paid

    def _pay(self, actor):
        """1.3 Reward: shaping to the seat that acted; at the end to all, and the result."""
        for seat in self._seats():
            if seat == actor or self.over:
                self._pay_shaping(seat)
        if not self.over:
            return
        for seat in self._seats():
            self._unpaid[seat] += self._margin(seat) if self.rules.reward == "stock_margin" else self._win(seat)

    def _pay_shaping(self, seat):
        """1.3 shaping: the discounted new potential less the one after the seat's last action."""
        now = 0.0 if self.over and not self.truncated else self._phi(seat)
        self._unpaid[seat] += self.rules.shaping * (self.rules.shaping_gamma * now - self._last_phi[seat])
        self._last_phi[seat] = now

    def _phi(self, seat):
        """1.3 shaping: minus the share of the side's stock that is left."""
        return -self._side_stock(seat) / (self.rules.stock_size * self._team_size())

    def _win(self, seat):
        """1.3 Reward "win": shared by the winning sides; 0 in a draw and on truncation."""
        sides = self._num_sides()
        winning = len(self.winners) // self._team_size()
        if winning == 0:
            return 0.0
        if seat in self.winners:
            return (sides / winning - 1) / (sides - 1)
        return -1 / (sides - 1)

    def _margin(self, seat):
        """1.3 Reward "stock_margin": the other sides' mean stock less the own side's."""
        own = self._side_stock(seat)
        others = [self._side_stock(side) for side in range(self._num_sides()) if side != self._side(seat)]
        return (sum(others) / len(others) - own) / (self.rules.stock_size * self._team_size())

    # -- small words ------------------------------------------------------------------------------

    def _seats(self):
        return range(self.rules.num_players)

    def _ranks(self):
        return range(1, self.rules.num_ranks + 1)

    def _clockwise_after(self, seat):
        """All other seats, the left neighbour first."""
        return [(seat + step) % self.rules.num_players for step in range(1, self.rules.num_players)]

    def _team_size(self):
        return 2 if self.rules.partnership else 1

    def _num_sides(self):
        return self.rules.num_players // self._team_size()

    def _side(self, seat):
        """FA32: teams sit opposite, so that side s is seat s and, in teams, seat s + n/2."""
        return seat % self._num_sides()

    def _partner(self, seat):
        """FA32: the seat opposite, or None."""
        if not self.rules.partnership:
            return None
        return (seat + self._num_sides()) % self.rules.num_players

    def _side_stock(self, seat):
        """F45: the stock cards left to the seat and its partner."""
        return sum(len(self.stocks[p]) for p in self._seats() if self._side(p) == self._side(seat))


def full_deck(rules):
    """F4, FA1, FA2, FA20: series of all ranks, and wilds, in every pack."""
    packs = num_packs(rules)
    numbers = [rank for rank in range(1, rules.num_ranks + 1) for _ in range(rules.series_per_pack * packs)]
    return numbers + [WILD] * (rules.n_wild * packs)


def num_packs(rules):
    """FA1 "auto": one pack for up to four players, else two."""
    if rules.packs == "auto":
        return 1 if rules.num_players <= 4 else 2
    return rules.packs


def middle_rank(rules):
    """F42: the 8 of 1..15."""
    return (rules.num_ranks + 1) // 2


def in_order(cards):
    """Cards by rank, wilds last."""
    return sorted(cards, key=lambda card: (card == WILD, card))


def name_of(card):
    """How a move names a card (or a slot)."""
    return "wild" if card == WILD else str(card)


def card_of(name):
    """The card that a move names."""
    return WILD if name == "wild" else int(name)


def card_and_slot(move):
    """Card and slot of a "discard" word."""
    _, name, _, slot = move.split()
    return card_of(name), int(slot)


def rank_and_direction(move):
    """NAME: the rank, and whether it goes down."""
    return int(move.split()[1]), move.endswith(" down")


def refuse_bad_rules(rules):
    """Refused settings: values out of range, impossible tables, and fields that nothing reads."""
    for name, allowed in OPTIONS.items():
        if getattr(rules, name) not in allowed:
            raise ValueError(f"{name} is one of {allowed}")
    for name, (lowest, highest) in RANGES.items():
        if not lowest <= getattr(rules, name) <= highest:
            raise ValueError(f"{name} is {lowest}..{highest}")
    if len(full_deck(rules)) < rules.num_players * (rules.stock_size + rules.hand_size) + rules.hand_size:
        raise ValueError("the deck is too small for num_players, stock_size and hand_size")
    if rules.partnership and rules.num_players not in (4, 6, 8):
        raise ValueError("partnership needs num_players 4, 6 or 8 (FA32)")
    if rules.center == "eights" and rules.starter_duty == "ones_only":
        raise ValueError('starter_duty "ones_only" does not go with center "eights"')
    if rules.center == "eights" and rules.num_ranks % 2 == 0:
        raise ValueError('center "eights" needs an odd num_ranks')
    if rules.stock_duty == "none" and rules.call_kinds == "stock_only":
        raise ValueError('stock_duty "none" and call_kinds "stock_only" leave no call')
    for unread, names, reader in (
        (
            rules.duty_mode != "challenge",
            (
                "challenge_window",
                "call_kinds",
                "call_priority",
                "penalty_card",
                "empty_by_penalty_wins",
                "mask_false_stock_calls",
                "reveal_on_false_call",
            ),
            "duty_mode",
        ),
        (rules.stock_duty == "none", ("mask_false_stock_calls",), "stock_duty"),
        (rules.call_kinds == "stock_only", ("reveal_on_false_call",), "call_kinds"),
        (rules.duty_mode == "honour", ("stock_duty",), "duty_mode"),
        (rules.center != "eights", ("eights_removal",), "center"),
        (rules.center == "up", ("starter_duty",), "center"),
        (rules.opening == "encyclopedia", ("first_laydown",), "opening"),
        (rules.p_expose == 0, ("offturn_exposure_discard",), "p_expose"),
    ):
        for name in names:
            if unread and getattr(rules, name) != OPTIONS[name][0]:
                raise ValueError(f"{name} is not read with this {reader}")
    if rules.shaping == 0 and rules.shaping_gamma != 1:
        raise ValueError("shaping_gamma is not read without shaping")
