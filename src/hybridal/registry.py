"""Finds components by name: our own by their file, other packages' by entry point.

A spec is `name` or `name:argument:argument`; the arguments are the constructor's, in order. The name of a class
that nobody registered is its full path, `package.module.Class`.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import logging
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from typing import Any, Generic, TypeVar

from hybridal.errors import UserError, located

Role = TypeVar("Role")

_log = logging.getLogger(__name__)


class Registry(Generic[Role]):
    """The components of one role, e.g. every signal.

    A file `weight_distance.py` in the role's package holds the component `weight-distance`: the class whose
    `name` says so. Files that start with an underscore are not components. Another package adds its own
    through the entry point group `hybridal.<role>`. What lacks one of the role's `parts` is none of its components.

    >>> Registry("signals").make("accuracy").name
    'accuracy'
    """

    def __init__(self, role: str, *parts: str) -> None:
        self._kind = role.removesuffix("s")
        self._parts = parts
        self.package = f"hybridal.{role}"

    def names(self) -> list[str]:
        return sorted({*self._own(), *self._foreign()})

    def find(self, name: str) -> Callable[..., Role]:
        """The class that is registered under this name, or that lies at this path."""
        if "." in name:
            return self._at(name.strip())
        name = name.strip().lower().replace("_", "-")
        points = [point for point in _entry_points(self.package, tuple(sys.path)) if point.name == name]
        offers = [point.value for point in points]
        if name in self._own():
            if offers:  # else any package could block all runs, whose defaults have names, too
                _warn_once(f"The {self._kind} '{name}' of hybridal is used; {' and '.join(offers)} must be renamed.")
            module = importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
            own: Callable[..., Role] = _class_named(module, name)
            return own
        if len(points) > 1:
            raise UserError(
                f"The {self._kind} '{name}' is offered by {' and '.join(offers)}; rename yours, or uninstall one."
            )
        if points:
            try:
                component: Callable[..., Role] = points[0].load()
            except (Exception, SystemExit) as error:  # of whatever its module does when it is imported
                raise UserError(
                    f"The {self._kind} '{name}' is to be {points[0].value}, which cannot be imported "
                    f"({_import_error(error)}); fix that package or its entry point."
                ) from error
            return component
        raise unknown_name(self._kind, name, self.names())

    def about(self, name: str) -> str:
        """What a component is, in the first line of its docstring; or why it cannot be had.

        >>> Registry("signals").about("f1")
        'The absolute change of macro F1 on validation.'
        """
        try:
            return (inspect.getdoc(self.find(name)) or "").partition("\n")[0]
        except UserError as error:
            return str(error)

    def make(self, spec: str) -> Role:
        """Builds the component that a spec describes."""
        name, *arguments = spec.split(":")
        component = self.find(name)
        try:
            return self._whole(name, component(*(_value(text) for text in arguments)))
        except UserError:
            raise
        except Exception as error:
            ours = getattr(component, "__module__", "").startswith("hybridal.")
            if not isinstance(error, TypeError | ValueError):
                if ours:
                    raise
                raise UserError(f"The {self._kind} '{name}' cannot be made: {located(error)}; correct it.") from error
            # A type error speaks of Python's arguments, which the writer of a spec never saw.
            reason = f"write {_usage(name, component)}" if isinstance(error, TypeError) else error
            raise UserError(f"'{spec}' is not a valid spec for the {self._kind} '{name}': {reason}.") from error

    def spec_of(self, component: Role) -> str:
        """The spec that makes this component again.

        >>> from hybridal.signals.loss import Loss
        >>> Registry("signals").spec_of(Loss())
        'loss'
        """
        if isinstance(component, type):
            raise UserError(f"{component.__name__} is a class; give an object of it, or its name as a text.")
        kind = type(component)
        arguments = [getattr(component, f.name) for f in fields(component) if f.init] if is_dataclass(component) else []
        own = str(getattr(component, "spec", None) or getattr(component, "name", ""))
        named = ":".join(map(str, [f"{kind.__module__}.{kind.__qualname__}", *arguments]))
        for spec in (own, named):
            try:
                if type(self.make(spec)) is kind:
                    return spec
            except UserError:
                continue
        raise UserError(
            f"The {self._kind} {component!r} cannot be made again by name, so that it could not be loaded: "
            "define its class in a module, and let its constructor take plain values."
        )

    def _whole(self, name: str, made: Role) -> Role:
        """The component, once it is known to play the role: a path may lead to anything."""
        lacking = [part for part in self._parts if not hasattr(made, part)]
        if lacking:
            raise self._lacks(name, lacking[0])
        return made

    def _lacks(self, name: str, part: str) -> UserError:
        return UserError(f"'{name}' is no {self._kind}: it has no `{part}`; name a class that has one.")

    def _at(self, path: str) -> Callable[..., Role]:
        module, _, name = path.rpartition(".")
        if not _may_hold_components(module):
            raise UserError(f"'{path}' is no {self._kind}: {module} holds none; name a class of your own package.")
        try:
            component: Callable[..., Role] = getattr(importlib.import_module(module), name)
        except (Exception, SystemExit) as error:  # of whatever its module does when it is imported
            raise UserError(f"The {self._kind} '{path}' cannot be imported ({_import_error(error)}).") from error
        if not isinstance(component, type):
            raise UserError(f"'{path}' is no {self._kind} but a {type(component).__name__}; name a class.")
        # Before it is called: specs also come from the folders of others, and `os.system:…` would run a command.
        if self._parts and not any(_declares(component, part) for part in self._parts):
            raise self._lacks(path, self._parts[0])
        return component

    def _own(self) -> frozenset[str]:
        return _modules(self.package)

    def _foreign(self) -> frozenset[str]:
        return frozenset(point.name for point in _entry_points(self.package, tuple(sys.path)))


def unknown_name(kind: str, name: str, names: Sequence[str]) -> UserError:
    """What to say to somebody who misspelt a name.

    >>> print(unknown_name("signal", "acuracy", ["accuracy", "loss"]))
    There is no signal named 'acuracy'; did you mean 'accuracy'?
    """
    return UserError(f"There is no {kind} named '{name}'; {hint_or_list(name, names)}")


def hint_or_list(name: str, names: Sequence[str]) -> str:
    """The end of a refusal: what was probably meant, or else all there is.

    >>> hint_or_list("lose", ["accuracy", "loss"]), hint_or_list("x", ["accuracy", "loss"])
    ("did you mean 'loss'?", 'there are accuracy, loss.')
    """
    return did_you_mean(name, names) or f"there are {', '.join(names)}."


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A question that offers the closest name; "" if none is close.

    >>> did_you_mean("minillm", ["minilm", "mpnet"]), did_you_mean("gpt", ["minilm"])
    ("did you mean 'minilm'?", '')
    """
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean '{close[0]}'?" if close else ""


@cache
def _modules(package: str) -> frozenset[str]:
    path = importlib.import_module(package).__path__
    return frozenset(m.name.replace("_", "-") for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """What is installed on this path; to sort it takes a while, and specs are read by the thousand."""
    return tuple(_all_entry_points(path).select(group=group))


@cache
def _all_entry_points(path: tuple[str, ...]) -> Any:  # noqa: ARG001
    """To look into all that is installed takes a tenth of a second, and there are many groups."""
    try:
        return entry_points()
    except Exception as error:
        broken = next((package for package in distributions() if _is_malformed(package)), None)
        if broken is None:
            raise
        # Torch reads the same files when it is imported, so that nothing can run before this one is mended.
        raise UserError(
            f"The package '{broken.metadata['Name']}' has a malformed entry_points.txt ({located(error)}); update or "
            "uninstall it."
        ) from error


def _is_malformed(package: Distribution) -> bool:
    try:
        return package.entry_points is None
    except Exception:
        return True


@cache
def _warn_once(sentence: str) -> None:
    _log.warning(sentence)


def _import_error(error: BaseException) -> str:
    return str(error) if isinstance(error, ImportError | AttributeError) else located(error)


def _may_hold_components(module: str) -> bool:
    """Whether a module may be imported because a spec names it: no program, and none of Python's own modules.

    >>> [_may_hold_components(name) for name in ("mine.signals", "__main__", "subprocess", "os.path", "pip.__main__")]
    [True, True, False, False, False]
    """
    package, *inner = module.split(".")
    return package == "__main__" or (package not in sys.stdlib_module_names and "__main__" not in inner)


def _declares(kind: type, part: str) -> bool:
    return hasattr(kind, part) or any(part in inspect.get_annotations(base) for base in kind.__mro__)


def _class_named(module: Any, name: str) -> Any:
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and item.__module__ == module.__name__ and getattr(item, "name", None) == name
    ]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} must hold exactly one class with name = {name!r}")
    return found[0]


def _usage(name: str, component: Callable[..., Any]) -> str:
    """How a spec of this component is written, e.g. anchor[:SHARE]."""
    parts = [
        f":{parameter.name.upper()}" if parameter.default is parameter.empty else f"[:{parameter.name.upper()}]"
        for parameter in inspect.signature(component).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    return name + "".join(parts)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
