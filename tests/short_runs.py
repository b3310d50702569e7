"""The settings of a training run of a second, for the tests of every trainer that draws a curve of play."""

SHORT_RUN = {
    "env_id": "flip_it-tiny-v0",
    "total_steps": 1024,
    "num_envs": 8,
    "n_steps": 16,
    "hidden": (8,),
    "opponents": {"random": 1, "self": 2},
    "past_selves": 2,
    "self_every": 1,
    "save_every": 1,
    "eval_against": ("random",),
    "eval_every": 512,
    "eval_games": 4,
    "progress": False,
}
