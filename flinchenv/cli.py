"""The `flinchenv` command. Agents and experiments are imported inside the commands that need them."""

import argparse
import json
import os
import sys
import time

from . import list_envs, spec
from .core.params import RulesError, parse_rule, refuse, rules_to_json
from .core.replay import Recorder, ReplayError, load
from .core.rng import AGENT, RowStreams
from .envs.memory import Memories
from .envs.seats import SeatView
from .envs.setup import check_seed, make_setup
from .version import __version__

REFUSED, INTERRUPTED = 2, 130  # exit codes
SECONDS_BETWEEN_LINES = 10
BAR = 30
TRAIN_PACKAGES = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard", "safetensors", "matplotlib", "tqdm")


def main(argv=None):
    """Run one command; the exit code: 0, 2 for whatever was refused, 130 after Ctrl-C."""
    try:
        args = make_parser().parse_args(argv)
        args.command(args)
        sys.stdout.flush()
    except (RulesError, ReplayError) as error:
        return _say(error, REFUSED)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # leave the line of ^C or of a bar
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe has gone; nothing more can be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ImportError as error:
        text = str(error)
        if (error.name or "").partition(".")[0] in TRAIN_PACKAGES:
            text = f"this command needs the package {error.name}"
        elif "flinchenv[train]" not in text:
            raise
        return _say(f"{text}: pip install 'flinchenv[train]'" if "pip install" not in text else text, REFUSED)
    return 0


def _say(message, code):
    print("flinchenv:", " ".join(str(message).split()), file=sys.stderr)
    return code


class Parser(argparse.ArgumentParser):
    """Refuses wrong arguments in one line."""

    def error(self, message):
        self.exit(REFUSED, f"{self.prog}: {message} (see {self.prog} --help)\n")


class CommandParser(Parser):
    """Takes a command's arguments and options in any order."""

    _intermixed = False

    def parse_known_args(self, args=None, namespace=None):
        """As argparse's, which would take an optional argument for absent once an option stands before it."""
        if self._intermixed:
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False


def make_parser():
    """All commands with their arguments."""
    parser = Parser(prog="flinchenv", description="Card games with hidden information as learning environments.")
    parser.add_argument("--version", action="version", version=f"flinchenv {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=CommandParser)

    def add(name, command, summary):
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object on one line instead of text")
        return sub

    def add_game(name, command, summary, optional=False):
        sub = add(name, command, summary)
        sub.add_argument("id", metavar="ID", nargs="?" if optional else None, default=list_envs()[0], help="see list")
        _add_rules(sub)
        return sub

    add("list", list_command, "Name every environment.")
    add_game("rules", rules_command, "Print a game's rules, the settings of one environment and facts about it.")
    add_game("layout", layout_command, "Print action ids and what each entry of an observation means.")

    demo = add_game("demo", demo_command, "Watch agents play one game.")
    demo.add_argument("agents", metavar="AGENT", nargs="*", help="one for all seats or one a seat; default: random")
    demo.add_argument("--seed", type=int, default=0, help="what the cards and the agents' luck come from (0)")
    demo.add_argument("--save", metavar="FILE", help="write the replay")

    replay = add("replay", replay_command, "Check a replay and show it move by move.")
    replay.add_argument("file", metavar="FILE")
    replay.add_argument("--seat", type=int, metavar="P", help="show only what this seat could have seen")

    speed = add_game("speed", speed_command, "Measure decisions a second.", optional=True)
    speed.add_argument("--runs", type=int, default=5, help="timed runs of each number (5)")
    speed.add_argument("--seconds", type=float, default=0.5, help="about how long a run takes (0.5)")
    speed.add_argument("--starts", type=int, default=3, help="processes for each start time; 0 leaves them out (3)")

    train = add("train", train_command, "Train an agent.")
    train.add_argument("config", metavar="CONFIG", nargs="?", help="a TOML file or a shipped config (default: none)")
    train.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="replace a setting; repeatable")
    train.add_argument("--resume", action="store_true", help="go on from the newest state in the run's folder")

    evaluate = add("evaluate", evaluate_command, "Hold an agent against random play and the rule bots.")
    evaluate.add_argument("agent", metavar="AGENT", help="random, rule, rule:2, or a checkpoint's path")
    evaluate.add_argument("--env", metavar="ID", required=True, help="see list")
    _add_rules(evaluate)
    _add_deals(evaluate, 10_000, "against each opponent")
    _add_running(evaluate)
    evaluate.add_argument(
        "--ladder", metavar="FAMILY", action="append", help="who stands on it beside random, repeatable (rule)"
    )
    evaluate.add_argument("--player-counts", metavar="N,N|all", help="numbers of players to play too (none)")
    evaluate.add_argument("--no-held-out", action="store_true", help="leave out the held-out opponents")
    evaluate.add_argument("--no-exact", action="store_true", help="leave out the exploitability")

    tournament = add_game("tournament", tournament_command, "Play every pair of agents and rate them.")
    tournament.add_argument("agents", metavar="AGENT", nargs="+", help="random, rule, rule:2, or a checkpoint's path")
    _add_deals(tournament, 1000, "of each pair")
    _add_running(tournament)
    tournament.add_argument("--plot", metavar="STEM", help="draw STEM-heat and STEM-ratings, .svg and .png each")

    solve = add_game("solve", solve_command, "Solve a small two-player game exactly.")
    solve.add_argument("--iterations", type=int, default=10_000, help="of CFR+, at most (10000)")
    solve.add_argument("--target", metavar="NASHCONV", type=float, default=1e-3, help="where to stop (0.001)")
    solve.add_argument("--save", metavar="STEM", help="write the agent, STEM.safetensors and STEM.json")

    measure = add_game("exploitability", exploitability_command, "Tell what a best reply earns, in small games.")
    words = "random, rule, a checkpoint, or a run's folder: the agents of its second half; several are averaged"
    measure.add_argument("agents", metavar="AGENT", nargs="+", help=words)
    measure.add_argument("--save", metavar="STEM", help="write the average, STEM.safetensors and STEM.json")
    return parser


def _add_rules(parser):
    parser.add_argument("--players", type=int, metavar="N", help="number of players")
    parser.add_argument("--set", metavar="FIELD=VALUE", action="append", default=[], help="replace a rule; repeatable")


def _add_deals(parser, games, what):
    parser.add_argument("--games", type=int, default=games, help=f"games {what}, in whole sets of seatings ({games})")
    parser.add_argument("--seed", type=int, default=2**31, help="the first seed, 2**31 and up (2**31)")


def _add_running(parser):
    parser.add_argument("--out", metavar="FILE", help="the results file, JSON; the same call again goes on with it")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that play (1)")
    parser.add_argument("--ray", metavar="ADDRESS", help="play over this Ray cluster instead")
    parser.add_argument("--batch", type=int, default=4096, metavar="N", help="games at once; changes no result (4096)")
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="an agent slower than this a decision forfeits; 0: no limit (0)"
    )


def _running(args):
    """The settings that `_add_deals` and `_add_running` read."""
    words = ("games", "seed", "seconds", "workers", "ray", "out", "markdown")
    return {word: getattr(args, word) for word in words} | {"batch_size": args.batch}


def overrides(args, id):
    """The rule overrides of `--players` and `--set`."""
    game = find_game(id)
    found = {} if args.players is None else {"num_players": args.players}
    for text in args.set:
        field, equals, value = text.partition("=")
        if not equals:
            refuse("--set", text, "FIELD=VALUE")
        if field in found:
            refuse("--set", text, f"each field once, and {field} has been given already")
        found[field] = parse_rule(game.Rules, field, value)
    return found


def find_game(id):
    """The `GameSpec` of an id."""
    try:
        return spec(id).game_spec
    except ValueError as error:
        raise RulesError(str(error)) from None


def _setup(args):
    return make_setup(args.id, None, overrides(args, args.id))


def _show(args, data, text):
    print(json.dumps(data, allow_nan=False) if args.json else text)


class Progress:
    """How far a long command is: a bar on a terminal, elsewhere a line at once and every ten seconds; on stderr.

    Args:
        what: what is counted.
    """

    def __init__(self, what):
        self.what = what
        self._bar = sys.stderr.isatty()
        self._last = -float("inf")

    def __call__(self, done, total):
        """Tell that `done` of `total` are done."""
        now = time.monotonic()
        if self._bar:
            full = BAR * done // total
            end = "\n" if done == total else ""
            bar = "#" * full + "." * (BAR - full)
            print(f"\r[{bar}] {done:,} of {total:,} {self.what}", end=end, file=sys.stderr, flush=True)
        elif done < total and now - self._last > SECONDS_BETWEEN_LINES:
            self._last = now
            print(f"{done:,} of {total:,} {self.what}", file=sys.stderr, flush=True)


def list_command(args):
    """`flinchenv list`."""
    ids = list_envs()
    _show(args, {"envs": ids}, "\n".join(ids))


def rules_command(args):
    """`flinchenv rules ID`."""
    setup = _setup(args)
    game, values = setup.game, rules_to_json(setup.rules)
    kinds = {name: field.metadata for name, field in setup.rules.__dataclass_fields__.items()}
    facts = game.facts(setup.rules)
    width = max(map(len, values))
    lines = [game.rules_text.strip(), "", f"{setup.id} (version {game.version} of {game.title})"]
    for name, value in values.items():
        kind = kinds[name]
        lines.append(f"  {name:<{width}} = {json.dumps(value)}: {kind['doc']}; allowed: {kind['kind'].allowed()}")
    lines += [f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}" for name, value in facts.items()]
    data = {
        "id": setup.id,
        "title": game.title,
        "version": game.version,
        "text": game.rules_text,
        "rules": values,
        "allowed": {name: kinds[name]["kind"].allowed() for name in values},
        "facts": facts,
    }
    _show(args, data, "\n".join(lines))


def layout_command(args):
    """`flinchenv layout ID`."""
    setup = _setup(args)
    data = {
        "id": setup.id,
        "players": setup.num_players,
        "num_actions": setup.num_actions,
        "observation": [field._asdict() for field in setup.layout.fields],
        "state": [field._asdict() for field in setup.state_layout.fields],
    }
    _show(args, data, setup.page())


def demo_command(args):
    """`flinchenv demo ID`."""
    from .agents.load import load as load_agent

    setup = _setup(args)
    if args.save and not os.path.isdir(os.path.dirname(os.path.abspath(args.save))):
        refuse("--save", args.save, "a file in a folder that is there")
    names = args.agents or ["random"]
    names = names * setup.num_players if len(names) == 1 else names
    if len(names) != setup.num_players:
        refuse("agents", " ".join(names), f"one, or one for each of {setup.num_players} seats")
    try:
        agents = [load_agent(name, setup) for name in names]
    except ValueError as error:
        raise RulesError(str(error)) from None
    recorder = Recorder(setup.id, setup.game, setup.rules, check_seed(args.seed))
    streams = [RowStreams([args.seed], [0], AGENT + k) for k in range(setup.num_players)]
    if not args.json:
        print(f"{setup.id}, seed {args.seed}: " + ", ".join(f"{a} is {n}" for a, n in zip(setup.agents, names)))
    memories, moves = Memories(1, setup.num_players), []
    while not recorder.over:
        seat = recorder.seat
        action = choose(setup, recorder, seat, agents[seat], streams[seat], memories)
        moves.append((seat, action))
        if recorder.add(seat, action) and not args.json:
            print_round(setup, recorder, moves)
            moves = []
    if args.save:
        save(recorder.replay(), args.save)
    data = {"id": setup.id, "agents": names, "seed": args.seed, "actions": len(recorder.actions)}
    _show(args, data | recorder.outcome(), _ending(recorder))


def choose(setup, recorder, seat, agent, stream, memories):
    """One agent's action for the seat that is asked."""
    views = [SeatView(setup, recorder.games, seat)] if getattr(agent, "needs_view", False) else None
    observation, mask = recorder.observation(seat)[None], recorder.mask(seat)[None].copy()
    return int(memories.ask(agent, [0], [seat], observation, mask, stream, views)[0])


def print_round(setup, recorder, moves, viewer=None):
    """A step's moves and the table after it; with a viewer its own moves alone, and the table as it sees it."""
    shown = [(seat, action) for seat, action in moves if viewer in (None, seat)]
    told = [f"player_{seat}: {setup.game.action_name(setup.rules, action)}" for seat, action in shown]
    print(f"\nstep {int(recorder.record.steps)}  {', '.join(told)}".rstrip())
    print(setup.game.render_text(recorder.record, setup.rules, viewer=viewer))


def _ending(recorder):
    outcome = recorder.outcome()
    if outcome is None:
        return "\nthe game is not over"
    winners = ", ".join(f"player_{p}" for p in outcome["winners"]) or "nobody"
    scores = " : ".join(map(str, outcome["scores"]))
    return f"\n{winners} won, {scores} ({outcome['end_reason']}, length {outcome['length']})"


def save(replay, path):
    """Write a replay.

    Raises:
        RulesError: the file cannot be written.
    """
    try:
        replay.save(path)
    except OSError as error:
        refuse("--save", path, f"a file that can be written ({error.strerror})")


def replay_command(args):
    """`flinchenv replay FILE`."""
    replay = load(args.file)
    try:
        recorder = replay.run(find_game(replay.id))
    except ValueError as error:
        raise ReplayError(f"{args.file}: {error}") from None
    setup = make_setup(replay.id, recorder.rules)
    data = {"id": replay.id, "seed": replay.seed, "episode": replay.episode, "version": replay.version}
    data |= {"actions": len(replay.actions), "final": recorder.outcome(), "verified": replay.final is not None}
    if args.seat is not None:
        data["frames"] = replay.for_seat(args.seat, setup.game)
    if not args.json:
        print(f"{replay.id}, seed {replay.seed}, episode {replay.episode}: {len(replay.actions)} actions")
        shown, moves = replay.start(setup.game), []
        for k, move in enumerate(replay.actions):
            moves.append(move)
            if replay.play(shown, k):
                print_round(setup, shown, moves, args.seat)
                moves = []
    checked = "; the outcome is the one in the file" if replay.final is not None else ""
    _show(args, data, _ending(recorder) + checked)


def speed_command(args):
    """`flinchenv speed [ID]`."""
    from .experiments import speed

    settings = speed.Args(args.id, overrides(args, args.id), args.runs, args.seconds, args.starts)
    result = speed.run(settings, Progress("numbers measured"))
    _show(args, result.data, result.text)


def train_command(args):
    """`flinchenv train CONFIG`."""
    from .experiments import train

    changes = args.set + ["resume=true"] * args.resume
    try:
        trainer, settings = train.read(args.config, changes)
        data = trainer.run(settings)._asdict()
    except ValueError as error:
        raise RulesError(str(error)) from error
    _show(args, data, "\n".join(f"{name}: {value}" for name, value in data.items()))


def evaluate_command(args):
    """`flinchenv evaluate AGENT --env ID`."""
    from .experiments import evaluate

    settings = evaluate.Args(
        args.agent,
        args.env,
        rules=overrides(args, args.env),
        ladder=tuple(args.ladder or evaluate.LADDER),
        players=_player_counts(args.player_counts),
        held_out=not args.no_held_out,
        exact=not args.no_exact,
        **_running(args),
    )
    result = evaluate.run(settings, Progress("games"))
    _show(args, result.data, result.text)


def _player_counts(text):
    if text is None or text == "all":
        return text or ()
    try:
        return tuple(int(count) for count in text.split(","))
    except ValueError:
        refuse("--player-counts", text, "all, or whole numbers with commas between them")


def tournament_command(args):
    """`flinchenv tournament ID AGENT...`."""
    from .experiments import tournament

    settings = tournament.Args(
        args.id, tuple(args.agents), rules=overrides(args, args.id), plot=args.plot, **_running(args)
    )
    result = tournament.run(settings, Progress("games"))
    _show(args, result.data, result.text)


def solve_command(args):
    """`flinchenv solve ID`."""
    from .experiments import solve

    settings = solve.Args(args.id, args.iterations, args.target, args.save, overrides(args, args.id))
    result = solve.run(settings, Progress("iterations"))
    _show(args, result.data, result.text)


def exploitability_command(args):
    """`flinchenv exploitability ID AGENT...`."""
    from .experiments import exploitability

    settings = exploitability.Args(args.id, tuple(args.agents), args.save, overrides(args, args.id))
    result = exploitability.run(settings)
    _show(args, result.data, result.text)


if __name__ == "__main__":
    sys.exit(main())
