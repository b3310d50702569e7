"""What all tests share."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
    # As an array, `seats` does not tell the compiler how many players there are: one compilation serves all numbers.
    import numpy as np

    from flinchenv.envs import setup

    plain_setup = setup._plain_setup

    def setup_for_any_number(id, rules):
        plain = plain_setup(id, rules)
        return plain._replace(seats=np.zeros(plain.num_players, np.int8))

    setup._plain_setup = setup_for_any_number
