"""Card games with hidden information as reinforcement-learning environments.

`make(id, api=...)` builds an environment, `list_envs()` names them, `spec(id)` and `layout(id)` describe them.
"""

from . import registration
from .registry import layout, list_envs, make, spec
from .version import __version__

__all__ = ["__version__", "layout", "list_envs", "make", "spec"]

registration.register_everywhere()
