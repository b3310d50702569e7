"""The rule bots of each game, weakest first; "rule:1" is the first of its game."""

from .flash10_count import CountAgent
from .flash10_fit import FitAgent
from .flash10_timing import TimingAgent
from .flinch_call import CallAgent
from .flinch_route import FirstAgent, RouteAgent, TidyAgent
from .flinch_search import SearchAgent
from .flip_it_mix import MixAgent
from .flip_it_reply import ReplyAgent

RULE_BOTS = {
    "flip_it": (MixAgent, ReplyAgent),
    "flash10": (FitAgent, CountAgent, TimingAgent),
    "flinch": (FirstAgent, TidyAgent, RouteAgent, SearchAgent, CallAgent),
}
