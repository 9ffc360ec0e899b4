"""The backend of torch.compile: graphs from AOTAutograd become programs, and what cannot stays with PyTorch.

For each graph: lower it; if every node has a rule, build one program; otherwise split it (`_partition.py`). A graph or part that
fails at any step is run by PyTorch, and the report says why. Nothing here raises into the user's program, unless the option
`strict` asks for it.
"""
from __future__ import annotations

import functools
import marshal
import re
import time
import typing
import weakref

import torch

import pellucid
from pellucid._core import _torch

from . import _decompositions, _inner_api, _partition, _report, _verify
from ._lowering import Lowering, Unsupported, computes
from ._rules import find_rule

KINDS = ("inference", "forward", "backward")


class Options(typing.NamedTuple):
    """What options={...} of torch.compile may contain."""
    strict: bool = False
    freeze: bool = False
    verify: bool = False
    random: str = "pellucid"


class StrictError(RuntimeError):
    """Something would stay with PyTorch, and the option `strict` is on."""


def parse_options(options):
    given = dict(options or {})
    unknown = sorted(set(given) - set(Options._fields))
    if unknown:
        raise ValueError(f"Unknown option {', '.join(unknown)} for the backend pellucid. It takes {', '.join(Options._fields)}.")
    if given.get("random", "pellucid") not in ("pellucid", "torch"):
        raise ValueError(f"The option random is 'pellucid' or 'torch', not {given['random']!r}.")
    for name in ("strict", "freeze", "verify"):
        if not isinstance(given.get(name, False), bool):
            raise ValueError(f"The option {name} is True or False, not {given[name]!r}.")
    if given.get("verify"):  # PyTorch draws other numbers than programs do
        given["random"] = "torch"
    return Options(**given)


def pellucid_backend(graph_module, example_inputs, *, options=None, mode=None):
    """Compiles a graph of Dynamo. torch.compile calls this for backend="pellucid"."""
    if mode not in (None, "default"):
        raise ValueError(f"The backend pellucid has no modes; mode is {mode!r}. It takes options: {', '.join(Options._fields)}.")
    parsed = parse_options(options)
    reason = _inner_api.why_unusable()
    if reason is not None:
        return leave_all(graph_module, reason, parsed.strict)
    compilation = _report.Compilation(_inner_api.compile_id())
    _report.session().compilations.append(compilation)
    start = time.perf_counter_ns()
    try:
        return _aot_backend(parsed)(graph_module, example_inputs)
    finally:
        compilation.backend_ns = time.perf_counter_ns() - start
        compilation.is_running = False


def leave_all(graph_module, reason, strict):
    """Leaves all graphs to this version of PyTorch; says so once."""
    if strict:
        raise StrictError(f"All ops would stay with PyTorch: {reason}")
    _report.session().say_once("every op", reason, "", 0)
    return graph_module.forward


@functools.lru_cache(maxsize=None)
def share_threads():
    """Runs kernels on PyTorch's threads: two pools of threads on the same processors slow each other down."""
    if not _torch.use_loaded_openmp():  # PyTorch was built without OpenMP
        pellucid.set_num_threads(torch.get_num_threads())


@functools.lru_cache(maxsize=None)
def _aot_backend(options):
    share_threads()
    compilers = {kind: functools.partial(compile_graph, kind=kind, options=options) for kind in KINDS}
    return _inner_api.aot_autograd(
        fw_compiler=compilers["forward"], bw_compiler=compilers["backward"], inference_compiler=compilers["inference"],
        decompositions=_decompositions.table(), keep_inference_input_mutations=True,
        partition_fn=_inner_api.partition_function())


# ---- One graph


def compile_graph(graph_module, example_inputs, kind, options):
    """Compiles a graph of AOTAutograd; returns a boxed callable."""
    record = _report.add_graph(kind)
    start = time.perf_counter_ns()
    try:
        with _inner_api.real_tensors():
            return GraphCompiler(graph_module, example_inputs, kind, options, record).compile()
    except StrictError:
        _report.session().graphs.remove(record)
        raise
    except Exception as error:  # whatever fails here must not fail the user's program
        if options.strict:
            raise
        return leave_graph(graph_module, record, f"{type(error).__name__}: {error}")
    finally:
        record.compile_ns = time.perf_counter_ns() - start
        if record.compilation is not None:
            record.compilation.ours_ns += record.compile_ns


def leave_graph(graph_module, record, reason):
    """Leaves a whole graph to PyTorch."""
    nodes = [node for node in graph_module.graph.nodes if computes(node)]
    for node in nodes:
        record.leave(node, reason)
    if nodes:
        record.say(nodes[0], f"{reason} (so do all {len(nodes)} ops of its graph)")
    return run_by_torch(graph_module, record)


def run_by_torch(graph_module, record):
    """Returns a boxed callable that runs a graph module and records the time."""
    def run(args):
        values = list(args)
        args.clear()
        before = record.ns_here()
        start = time.perf_counter_ns()
        results = graph_module(*values)
        record.torch_ns += time.perf_counter_ns() - start - (record.ns_here() - before)
        record.torch_calls += 1
        return results
    run._boxed_call = True
    return run


class GraphCompiler:
    """Compiles one graph of AOTAutograd."""

    def __init__(self, graph_module, example_inputs, kind, options, record):
        self.graph_module = graph_module
        self.kind = kind
        self.options = options
        self.record = record
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        for node, example in zip(placeholders, example_inputs):
            if isinstance(example, torch.Tensor) and isinstance(node.meta.get("val"), torch.Tensor):
                node.meta["pellucid_input"] = example  # its strides are those that forward really saved
        self.static = _inner_api.static_inputs(graph_module, kind == "backward")

    def compile(self):
        lowering = self.lower(self.graph_module, self.static, self.saved_results())
        self.record.count(lowering)
        if lowering.failures:
            return self.split(lowering)
        if not lowering.calls:  # nothing to compute
            return run_by_torch(self.graph_module, self.record)
        run = self.build(lowering, self.graph_module)
        if isinstance(run, Refusal):
            self.refuse_if_strict(run.reason)
            lowering.failures.update(self.refused_nodes(lowering))
            return self.split(lowering) if lowering.failures else leave_graph(self.graph_module, self.record, run.reason)
        self.report_strides(lowering)
        return run

    def saved_results(self):
        """Returns the numbers of the results that only backward reads."""
        if self.kind != "forward":
            return frozenset()
        return _inner_api.saved_for_backward(self.result_count())

    def result_count(self):
        results = next(node for node in self.graph_module.graph.nodes if node.op == "output").args[0]
        return len(results) if isinstance(results, (list, tuple)) else 1

    def report_strides(self, lowering):
        """Tells AOTAutograd which saved values have other strides than the traced ones, instead of copying them."""
        if lowering.saved_strides:
            strides = [lowering.saved_strides.get(i) for i in range(self.result_count())]
            if not _inner_api.report_output_strides(strides):
                raise Unsupported("AOTAutograd does not take the strides of saved values")

    def refused_nodes(self, lowering):
        """After a program of the whole graph has failed: tries each node alone. Returns {node: reason} of those that fail."""
        refused, tried = {}, {}
        for node in lowering.calls_of:
            key = _partition.form_of(node)
            if key not in tried:
                tried[key] = self.why_refused(_partition.alone(node))
            if tried[key] is not None:
                refused[node] = tried[key]
        return refused

    def why_refused(self, graph_module):
        """Returns why there is no program of a small graph, or None."""
        try:
            self.new_program(self.lower(graph_module, frozenset()).describe())
            return None
        except Unsupported:  # a size that only the whole graph has
            return None
        except OUR_ERRORS as error:
            return refusal_of(error).reason

    def lower(self, graph_module, static, saved=frozenset()):
        start = time.perf_counter_ns()
        # In training AOTAutograd itself makes the views that results are of each other.
        lowering = Lowering(graph_module, find_rule, static=static, random=self.options.random,
                            shares_results=self.kind == "inference", saved=saved).run()
        self.record.lowering_ns += time.perf_counter_ns() - start
        return lowering

    def split(self, lowering):
        node, reason = next(iter(lowering.failures.items()))
        self.refuse_if_strict(f"{_report.op_name(node)} ({_report.place_text(node)}): {reason}")

        def compile_part(module, static):
            part = self.lower(module, static)
            if part.failures:
                return next(iter(part.failures.values()))
            built = self.build(part, module)
            return built.reason if isinstance(built, Refusal) else built

        fused, left = _partition.split(self.graph_module, lowering, compile_part)
        for node, reason in left.items():
            self.record.leave(node, reason)
            if reason not in (_partition.TOO_SMALL, _partition.WRITES_INPUT):  # these follow from the others
                self.record.say(node, reason)
        return run_by_torch(self.graph_module if fused is None else fused, self.record)

    def refuse_if_strict(self, reason):
        if self.options.strict:
            raise StrictError(f"Part of a graph would stay with PyTorch: {reason}")

    def build(self, lowering, graph_module):
        """Returns a boxed callable for a graph all of whose nodes were lowered, or a Refusal."""
        start = time.perf_counter_ns()
        try:
            description = lowering.describe()
            self.record.lowering_ns += time.perf_counter_ns() - start
            program = find_or_build(description, self.options, self.record)
        except Unsupported as error:
            return Refusal(str(error))
        except OUR_ERRORS as error:
            return refusal_of(error)
        run = program.run if not lowering.needs_seed else with_seed(program.run)
        if lowering.result_views:
            run = with_views(run, lowering.result_views, lowering.result_count)
        if self.options.verify:
            run = _verify.verified(run, graph_module, lowering.written_inputs, lowering.static, self.new_program,
                                   self.options.strict)
        return guard_first_call(run, graph_module, program, self.record)

    def new_program(self, description):
        return new_program(description, self.options)


class Refusal(typing.NamedTuple):
    """Why a program could not be built."""
    reason: str


OUR_ERRORS = (pellucid.Error, RuntimeError, ValueError, TypeError, IndexError, MemoryError)


def refusal_of(error):
    text = re.sub(r" \[called at [^\]]*\]", "", str(error))  # the caller is PyTorch: report() has the user's line
    return Refusal(f"the program could not be built: {text}")


# ---- Programs


def new_program(description, options):
    return _torch.Program(torch.Tensor, *description, freezes=options.freeze)


class BuiltProgram:
    """A program, as the table of programs holds it by a weak reference."""

    def __init__(self, program):
        self.program = program
        self.run = program


_programs = weakref.WeakValueDictionary()  # key of the description -> BuiltProgram


def find_or_build(description, options, record):
    """Returns the program of a description: one that is in use if its contents are the same, otherwise a new one."""
    # A frozen program holds weights: another graph with the same description may have others.
    key = None if options.freeze else key_of(description)
    program = _programs.get(key) if key is not None else None
    if program is None:
        start = time.perf_counter_ns()
        program = BuiltProgram(new_program(description, options))
        record.build_ns += time.perf_counter_ns() - start
        if key is not None:
            _programs[key] = program
    else:
        record.shared += 1
    record.add_program(program)
    return program


def key_of(description):
    """A key with all contents of a description. Constants count by identity; hints of symbols do not count."""
    sources = [source for source, _ in description.symbols]
    return tuple(map(content_of, (sources, description.inputs, *description.calls, description.outputs, description.returns)))


def content_of(x):
    """A key for nested lists of numbers, texts and tensors, with types and signs of zeros."""
    try:
        return marshal.dumps(x, 2)  # later versions depend on which objects are shared
    except ValueError:  # a tensor is in it
        return frozen(x)


def frozen(x):
    if isinstance(x, (list, tuple)):
        return tuple(map(frozen, x))
    if isinstance(x, (bool, float)):  # 1 == True == 1.0, and 0.0 == -0.0
        return (type(x).__name__, repr(x))
    if isinstance(x, torch.Tensor):
        return ("tensor", id(x))
    return x


# ---- Calls


def with_seed(program):
    """Seeds Pellucid's generator from PyTorch's in each call, so that torch.manual_seed holds.

    The seed is not a number of the program: each value of a number has a plan of its own, which costs more than small kernels.
    """
    def run(args):
        pellucid.manual_seed(torch.randint(0, 1 << 62, (1,)).item())
        return program(args)
    return run


def with_views(program, views, count):
    """Makes views of results, so that they share memory as PyTorch's do. Returns after the first `count` are their sizes."""
    def run(args):
        results = program(args)
        made = results[:count]
        for i, (sizes, strides, offset) in views.items():
            sizes, strides, (offset,) = ([results[e[1]] if isinstance(e, tuple) else e for e in part]
                                         for part in (sizes, strides, [offset]))
            made[i] = results[i].as_strided(sizes, strides, results[i].storage_offset() + offset)
        return made
    return run


def guard_first_call(run, graph_module, program, record):
    """The first call makes the first plan. If that fails, PyTorch runs this graph from then on."""
    chosen = None

    def call(args):
        nonlocal chosen
        if chosen is not None:
            return chosen(args)
        try:
            results = run(args)
        except _verify.VerificationError:
            raise
        except Exception as error:
            if not args:  # it failed in the middle: some of the arguments are freed already
                raise
            results = run_by_torch(graph_module, record)(args)  # an error of the user's own is raised here, by PyTorch
            chosen = leave_graph(graph_module, record, f"the first call failed: {error}")
            return results
        chosen = run
        return results
    call._boxed_call = True
    call.program = program
    return call
