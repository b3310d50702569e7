"""Tables of tournaments and evaluations, as aligned text and as markdown."""

SEAT_HEADS = ["seat", "games", "win rate, 95 %", "equal agents"]
COUNT_HEADS = ["players", "games", "win rate, 95 %", "mean return, 95 %", "place"]


def tournament_table(data):
    """The agents' rows as text, best first, then the forfeits and how games ended."""
    lines = [
        f"{data['env']}, {data['players']} players: {data['games_per_pair']:,} games a pair",
        *agent_lines(data["agents"]),
        *fault_lines(data["agents"]),
        endings(data),
    ]
    return "\n".join(lines)


def agent_lines(rows, title="agent"):
    """Aligned lines of agents' rows."""
    width = max(len(title), *(len(row["name"]) for row in rows))
    lines = [
        f"{title:<{width}}  {'games':>8} {'wins':>8} {'draws':>8} {'losses':>8}  {'win rate, 95 %':<20}"
        f"  {'mean return, 95 %':<26}  rating"
    ]
    for row in rows:
        counts = " ".join(f"{row[key]:>8,}" for key in ("games", "wins", "draws", "losses"))
        won, paid = rate_of(row), return_of(row)
        lines.append(f"{row['name']:<{width}}  {counts}  {won:<20}  {paid:<26}  {row['rating']:6.0f}")
    return lines


def fault_lines(rows, agent=None):
    """One line a reason for forfeits: of each row's agent, or of one agent against that of each row."""
    lines = []
    for row in rows:
        who, against = (row["name"], "") if agent is None else (agent, f" against {row['name']}")
        lines += [f"{who} forfeited {games:,} games{against}: {reason}" for reason, games in row["reasons"]]
    return lines


def endings(data):
    """How the games ended, in one line."""
    reasons = ", ".join(f"{name} {games:,}" for name, games in data["end_reasons"].items())
    return f"games ended by {reasons}; {data['dead']:,} without a winner, {data['truncated']:,} truncated"


def rate_of(row, key="win_rate", interval="ci95"):
    """A rate with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(row[key], *row[interval])


def return_of(row):
    """A mean return with its interval."""
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(row["mean_return"], *row["mean_return_ci95"])


def markdown_table(heads, rows):
    """Lines of a markdown table; cells are texts, numbers to the right."""
    ruler = ["---" if k == 0 else "---:" for k in range(len(heads))]
    return ["| " + " | ".join(cells) + " |" for cells in (heads, ruler, *(map(_cell, row) for row in rows))]


def _cell(text):
    return str(text).replace("|", r"\|")


def agents_markdown(rows, title):
    """Lines of a markdown table of agents' rows."""
    heads = [title, "games", "wins", "draws", "losses", "win rate, 95 %", "mean return, 95 %", "rating, 95 %"]
    skilled = all(row.get("openskill") for row in rows)
    cells = []
    for row in rows:
        counts = [f"{row[key]:,}" for key in ("games", "wins", "draws", "losses")]
        rating = f"{row['rating']:.0f}"
        if "rating_ci95" in row:
            rating += " [{:.0f}, {:.0f}]".format(*row["rating_ci95"])
        cells.append([row["name"], *counts, rate_of(row), return_of(row), rating])
        if skilled:
            cells[-1].append("{mu:.1f} ± {sigma:.1f}".format(**row["openskill"]))
    return markdown_table(heads + ["openskill"] * skilled, cells)


def tournament_markdown(data):
    """A tournament as a markdown page."""
    pairs = [
        [f"{row['a']} : {row['b']}", rate_of(row), return_of(row), f"{row['forfeits'][0]:,} : {row['forfeits'][1]:,}"]
        for row in data["pairs"]
    ]
    lines = [
        f"# {data['env']}, {data['players']} players",
        "",
        f"{data['games_per_pair']:,} games a pair, seeds {data['seeds'][0]} to {data['seeds'][1]}; {endings(data)}.",
        "",
        *agents_markdown(data["agents"], "agent"),
        "",
        *markdown_table(["pair", "win rate of the first, 95 %", "its mean return, 95 %", "forfeits"], pairs),
        *(f"\n{line}" for line in fault_lines(data["agents"])),
    ]
    return "\n".join(lines) + "\n"


def evaluation_table(data):
    """An evaluation as text: the ladder, the held-out opponents, seats, numbers of players, the verdict."""
    lines = [
        f"{data['env']}, {data['players']} players: {data['agent']} (rating {data['rating']:.0f}) against",
        *agent_lines(data["opponents"], "opponent"),
    ]
    if data["held_out"]:
        lines += ["", *agent_lines(data["held_out"], "held out")]
    lines += ["", *_aligned(SEAT_HEADS, _seat_cells(data))]
    if len(data["per_players"]) > 1:
        lines += ["", *_aligned(COUNT_HEADS, _count_cells(data))]
    lines += ["", *fault_lines([*data["opponents"], *data["held_out"]], data["agent"])]
    return "\n".join([*lines, endings(data), exactly(data), data["verdict"]])


def evaluation_markdown(data):
    """An evaluation as a markdown page."""
    rating = "{:.0f} [{:.0f}, {:.0f}]".format(data["rating"], *data["rating_ci95"])
    lines = [
        f"# {data['agent']} in {data['env']}, {data['players']} players",
        "",
        f"Place {_place(data, len(data['opponents']) + 1)}, rating {rating}; {exactly(data)}.",
        "",
        f"Seeds {data['seeds'][0]} to {data['seeds'][1]}; {endings(data)}.",
        "",
        *agents_markdown(data["opponents"], "against"),
        "",
    ]
    if data["held_out"]:
        lines += [*agents_markdown(data["held_out"], "held out, met by no training"), ""]
    lines += [*markdown_table(SEAT_HEADS, _seat_cells(data)), ""]
    lines += [*markdown_table(COUNT_HEADS, _count_cells(data)), "", data["verdict"]]
    lines += [f"\n{line}" for line in fault_lines([*data["opponents"], *data["held_out"]], data["agent"])]
    return "\n".join(lines) + "\n"


def exactly(data):
    """The exploitability in words."""
    value, reason = data["exploitability"], data["exploitability_reason"]
    return f"no exact exploitability ({reason})" if value is None else f"exploitability {value:.6f}, exact"


def _place(row, of):
    return "{} of {} [{}, {}]".format(row["place"], of, *row["place_ci95"])


def _seat_cells(data):
    even = f"{1 / data['players']:.3f}"
    return [[str(row["seat"]), f"{row['games']:,}", rate_of(row), even] for row in data["per_seat"]]


def _count_cells(data):
    return [
        [str(row["players"]), f"{row['games']:,}", rate_of(row), return_of(row), _place(row, row["of"])]
        for row in data["per_players"]
    ]


def _aligned(heads, rows):
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in (heads, *rows)]
