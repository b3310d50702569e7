"""The one way to compile: `kernel` for functions that Python calls, `helper` for those that kernels call.

numba's own disk cache knows a function by its own file only: after an edit to a helper in another file the caller
keeps the old machine code. Here every cached kernel answers with `STAMP`, a hash over all kernel sources of the
package, the versions of what compiles them and the switches that numba's key forgets. A damaged cache file is
recognised by its checksum and compiled anew; where no folder can be written, kernels are compiled in memory.
"""

import ast
import contextlib
import functools
import gc
import hashlib
import pickle
import platform
import warnings
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit, types

PACKAGE = Path(__file__).resolve().parent.parent


def source_stamp():
    """A hash of all that decides what machine code a kernel becomes."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        if b"core.kernel import" in source or path.parent.name == "core":
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + source)
    switches = (numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.LOOP_VECTORIZE)
    versions = (platform.python_version(), np.__version__, numba.__version__, llvmlite.__version__)
    digest.update(repr((switches, versions)).encode())
    return digest.hexdigest()


STAMP = source_stamp()

COMPILED = not numba.config.DISABLE_JIT

if not COMPILED:
    np.seterr(over="ignore")  # uint64 wraps by design; compiled code does so silently


def names_held(py_func):
    """A function's full name, and what its closure holds: the same of compiled functions, plain values as they are."""
    held = []
    for cell in py_func.__closure__ or ():
        inner = getattr(cell.cell_contents, "py_func", None)
        if inner is not None:
            held.append(names_held(inner))
        elif isinstance(cell.cell_contents, (bool, int, float, str, type(None))):
            held.append(repr(cell.cell_contents))
    return (f"{py_func.__module__}.{py_func.__qualname__}", *held)


@functools.cache
def _sources_beside(file):
    """A hash of a file's folder: kernels outside the package, the bots', call helpers of their neighbours."""
    digest = hashlib.sha256()
    for path in sorted(Path(file).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


try:
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class _CheckedFile(IndexDataCacheFile):
        """Cache files whose data carry their own checksum."""

        def _dump(self, obj):
            data = super()._dump(obj)
            return hashlib.sha256(data).digest() + data

        def _load_data(self, name):
            return self._checked((Path(self._cache_path) / name).read_bytes())

        def _load_index(self):
            try:
                stamp, overloads = self._checked(Path(self._index_path).read_bytes())
            except (OSError, ValueError):
                return {}
            return overloads if stamp == self._source_stamp else {}

        def _save_index(self, overloads):
            with self._open_for_write(self._index_path) as f:
                f.write(self._dump((self._source_stamp, overloads)))

        @staticmethod
        def _checked(data):
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                raise ValueError("damaged cache file")
            return pickle.loads(data[32:])

    class _Cache(FunctionCache):
        """numba's cache, fresh for one `STAMP` only, and never fatal."""

        def __init__(self, py_func):
            super().__init__(py_func)
            stamp = STAMP + _sources_beside(py_func.__code__.co_filename)
            self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, stamp)

        def _index_key(self, sig, codegen):
            # STAMP knows all code by file; which of it a closure holds (`core.play.loops`) is told by name.
            return (sig, codegen.magic_tuple(), names_held(self._py_func))

        def load_overload(self, sig, target_context):
            try:
                return super().load_overload(sig, target_context)
            except (OSError, ValueError):
                return None

        def save_overload(self, sig, data):
            try:
                super().save_overload(sig, data)
            except (OSError, ReferenceError):  # no room, or a signature names a compiled policy that is gone
                self.disable()

    _KernelCache: type | None = _Cache

except ImportError:  # another numba has moved its private cache classes
    _KernelCache = None


@contextlib.contextmanager
def collector_resting():
    """While Python's collector of cycles rests: it would look at all of numba's objects again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def fixed_fields(kind):
    """{field: number} of a record type whose fields have titles "field=number"; else {}."""
    fields = kind.fields if isinstance(kind, types.Record) else {}
    titles = (field.title.split("=") for field in fields.values() if field.title is not None)
    return {name: ast.literal_eval(number) for name, number in titles}


# numba would make machine code of each helper, though only kernels call it: a quarter of a cold start.
_HELPER: dict[str, Any]
_ROUTINE: dict[str, Any]
try:
    from numba.core import ir
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.ir_utils import build_definitions
    from numba.core.untyped_passes import IRProcessing

    class _Part(JITCodeLibrary):
        """The code of a function that only kernels call: kept as it was lowered, to be optimised inside each kernel."""

        codegen = property(lambda self: self)

        def set_env(self, env_name, env):
            """It is never run from here, so nothing is to be set."""

        def get_pointer_to_function(self, name):
            return 0

        def _optimize_final_module(self):
            pass

        def _finalize_final_module(self):
            self._finalize_dynamic_globals()
            self._finalized = True

    class _Routine(_Part):
        """A part that stays a function of its own in each kernel: one copy, however often it is called."""

        def add_ir_module(self, ir_module):
            for function in ir_module.functions:
                if not function.is_declaration and "alwaysinline" not in function.attributes:
                    function.attributes.add("noinline")
            super().add_ir_module(ir_module)

    @register_pass(mutates_CFG=False, analysis_only=False)
    class _InsertFixedRules(FunctionPass):
        """Fields whose values their type tells (`core.params.fixed_params`) become numbers, before branches on
        them are looked at: what these rules never need is not even compiled.
        """

        _name = "insert_fixed_rules"

        def __init__(self):
            super().__init__()

        def run_pass(self, state):
            values: dict = {}
            for block in state.func_ir.blocks.values():
                for assign in block.find_insts(ir.Assign):
                    source = assign.value
                    if isinstance(source, ir.Arg):
                        values[assign.target.name] = fixed_fields(state.args[source.index])
                    elif isinstance(source, ir.Expr) and source.op == "getattr":
                        fixed = values.get(source.value.name, {})
                        if source.attr in fixed:
                            assign.value = ir.Const(fixed[source.attr], source.loc)
            state.func_ir._definitions = build_definitions(state.func_ir.blocks)
            return True

    class _PartCompiler(Compiler):
        """numba's compiler, ending in a `_Part`."""

        library_type = _Part

        def __init__(self, typingctx, targetctx, library, *args):
            super().__init__(typingctx, targetctx, self.library_type(targetctx.codegen(), "part"), *args)

        def _compile_core(self):
            with collector_resting():
                return super()._compile_core()

        def define_pipelines(self):
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.add_pass_after(_InsertFixedRules, IRProcessing)
                pipeline.finalize()
            return pipelines

    class _RoutineCompiler(_PartCompiler):
        library_type = _Routine

    _HELPER, _ROUTINE = {"pipeline_class": _PartCompiler}, {"pipeline_class": _RoutineCompiler}

except ImportError:  # another numba has moved them: slower to start, nothing else
    _HELPER, _ROUTINE = {}, {}


# without _nrt=False hidden reference counting dominates
_OPTIONS = {"nogil": True, "_nrt": False, "error_model": "numpy"}
_INNER = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _for_any_number(compiled):
    """Numbers written in a call are plain numbers to the function: numba would compile it anew for each of them."""
    template_of = getattr(compiled, "get_call_template", None)
    if template_of is not None:
        compiled.get_call_template = lambda args, kws: template_of(
            [types.unliteral(arg) for arg in args], {name: types.unliteral(arg) for name, arg in kws.items()}
        )
    return compiled


def literal_helper(py_func):
    """As `helper`, for a function that needs to know numbers written in a call, such as the width of a field."""
    return njit(**_INNER, **_HELPER, forceinline=True)(py_func)


def helper(py_func):
    """Compile a function that kernels call; it is inlined into each of them and never cached itself."""
    return _for_any_number(literal_helper(py_func))


def routine(py_func):
    """Compile a longer function that kernels call; not inlined, so that it is compiled once in each of them."""
    # forceinline would else be inherited from the helper that calls it
    return _for_any_number(njit(**_INNER, **_ROUTINE, forceinline=False)(py_func))


def direct(compiled, arguments):
    """A kernel for arguments of these types alone: without numba's look at each of them, half of a short call's time.

    Args:
        compiled: a kernel that has been called with such arguments, or what `direct` returned before.
        arguments: the arguments; calls with arguments of other types are undefined.
    """
    overloads = getattr(compiled, "overloads", None)
    if overloads is None:
        return compiled
    found = overloads.get(tuple(map(numba.typeof, arguments)))
    return getattr(found, "entry_point", compiled)


def kernel(py_func):
    """Compile a function that Python calls, cached on disk under `STAMP`."""
    if numba.config.DISABLE_JIT:
        return py_func
    if _KernelCache is None:
        warnings.warn(
            "this numba has no FunctionCache: after an edit of the package remove its __pycache__",
            RuntimeWarning,
            stacklevel=2,
        )
        return njit(**_OPTIONS, cache=True)(py_func)
    compiled = njit(**_OPTIONS)(py_func)
    with contextlib.suppress(RuntimeError):  # nowhere to write: compiled in memory, once a process
        compiled._cache = _KernelCache(py_func)
    return compiled
