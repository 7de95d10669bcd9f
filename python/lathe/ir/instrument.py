"""What watches passes: PassContext(instruments=[...]) calls them around each pass."""
import functools
import pathlib
import time


class PassInstrument:
    """Base of what watches; each method does nothing here."""

    def enter_pass_ctx(self):
        """The context begins."""

    def exit_pass_ctx(self):
        """The context ends."""

    def should_run(self, mod, info):
        """False: the pass is passed over. Not asked for what the context requires."""
        return True

    def run_before_pass(self, mod, info):
        """Before a pass that is run."""

    def run_after_pass(self, mod, info):
        """After it, with the module that it made."""


def pass_instrument(pi_cls=None):
    """Makes a class with some of PassInstrument's methods an instrument."""

    def make(cls):
        if issubclass(cls, PassInstrument):
            return cls
        return functools.wraps(cls, updated=())(type(cls.__name__, (cls, PassInstrument), {}))

    return make if pi_cls is None else make(pi_cls)


class PassTimingInstrument(PassInstrument):
    """How long passes take; render() tells of those since the context began, until it ends."""

    def __init__(self):
        self._open, self._done = [], []

    def enter_pass_ctx(self):
        self._open, self._done = [], []

    exit_pass_ctx = enter_pass_ctx

    def run_before_pass(self, mod, info):
        self._open.append((info.name, time.perf_counter(), self._done))
        self._done = []

    def run_after_pass(self, mod, info):
        name, begin, siblings = self._open.pop()
        self._done = [*siblings, (name, time.perf_counter() - begin, self._done)]

    def render(self):
        """A line per pass, deeper ones further right: name, time [without the passes in it] (of all; of what it is in)."""
        total = sum(seconds for _, seconds, _ in self._done)
        return "".join(_lines_of(self._done, total, total, 0))


def _lines_of(passes, parent, total, depth):
    for name, seconds, inner in passes:
        own = seconds - sum(each for _, each, _ in inner)
        yield (f"{chr(9) * depth}{name}: {seconds * 1e6:.0f}us [{own * 1e6:.0f}us] "
               f"({seconds / total * 100:.2f}%; {seconds / parent * 100:.2f}%)\n")
        yield from _lines_of(inner, seconds, total, depth + 1)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after the passes of these names."""

    def __init__(self, print_before_pass_names, print_after_pass_names):
        self._before, self._after = print_before_pass_names, print_after_pass_names

    def run_before_pass(self, mod, info):
        if info.name in self._before:
            _print("Before", mod, info)

    def run_after_pass(self, mod, info):
        if info.name in self._after:
            _print("After", mod, info)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod, info):
        _print("Before", mod, info)


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod, info):
        _print("After", mod, info)


def _print(when, mod, info):
    print(f"{when} Running Pass: {info}")
    print(mod)


class DumpIR(PassInstrument):
    """Writes the module after each pass into the folder: 000_<pass>.py, 001_<pass>.py ..."""

    def __init__(self, dump_dir, refresh=False):
        self._folder, self._count = pathlib.Path(dump_dir), 0
        self._folder.mkdir(parents=True, exist_ok=True)
        if refresh:
            for old in self._folder.glob("[0-9][0-9][0-9]_*.py"):
                old.unlink()

    def run_after_pass(self, mod, info):
        name = info.name.replace(".", "_")
        (self._folder / f"{self._count:03d}_{name}.py").write_text(mod.script())
        self._count += 1
