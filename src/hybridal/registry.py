"""Find components by name: ours by their file name, those of other packages by entry point.

A spec is `name` or `name:argument:argument`; the arguments are the constructor's, in order. A class that is not
registered is named by its full path, `package.module.Class`.
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
    """The components of one role, such as all signals.

    The file `weight_distance.py` in the role's package defines the component `weight-distance`: the class with this
    `name`. Files that start with an underscore are not components. Other packages add components through the entry
    point group `hybridal.<role>`. Objects that lack one of the role's `required` attributes are rejected.

    >>> Registry("signals").make("accuracy").name
    'accuracy'
    """

    def __init__(self, role: str, *required: str, own: Sequence[str] | None = None) -> None:
        """Create the registry of a role.

        Args:
            role: The role's package below `hybridal`, such as "signals".
            required: Attributes that every component must have.
            own: The names of its components; by default each module of the package is one.
        """
        self._kind = role.removesuffix("s")
        self._required, self._named = required, own
        self.package = f"hybridal.{role}"

    def names(self) -> list[str]:
        """Return the names of all registered components, sorted."""
        return sorted({*self._own(), *self._foreign()})

    def find(self, name: str) -> Callable[..., Role]:
        """Return the class of a component.

        Args:
            name: Its registered name, or the path of a class.

        Raises:
            UserError: There is no such component, it cannot be imported, or two packages use its name.
        """
        if "." in name:
            return self._at(name.strip())
        name = name.strip().lower().replace("_", "-")
        points = [point for point in _entry_points(self.package, tuple(sys.path)) if point.name == name]
        offers = sorted(point.value for point in points)  # folders are listed in any order
        if name in self._own():
            if offers:  # only a warning: an error would let any package block all runs
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
            except (Exception, SystemExit) as error:  # importing a module may raise anything
                raise UserError(
                    f"The {self._kind} '{name}' is registered as {points[0].value}, which cannot be imported "
                    f"({_import_error(error)}); fix that package or its entry point."
                ) from error
            return component
        raise unknown_name(self._kind, name, self.names())

    def about(self, name: str) -> str:
        """Return the first line of a component's docstring, or why it cannot be loaded.

        >>> Registry("signals").about("f1")
        'The absolute change of macro F1 on validation.'
        """
        try:
            return (inspect.getdoc(self.find(name)) or "").partition("\n")[0]
        except UserError as error:
            return str(error)

    def make(self, spec: str) -> Role:
        """Create the component that a spec describes.

        Args:
            spec: The name with arguments, such as `bald:10`.

        Raises:
            UserError: There is no such component, or its arguments are not valid.
        """
        name, *arguments = spec.split(":")
        component = self.find(name)
        try:
            return self._checked(name, component(*(_value(text) for text in arguments)))
        except UserError:
            raise
        except Exception as error:
            ours = getattr(component, "__module__", "").startswith("hybridal.")
            if not isinstance(error, TypeError | ValueError):
                if ours:
                    raise
                raise UserError(
                    f"The {self._kind} '{name}' cannot be created: {located(error)}; correct it."
                ) from error
            # Show how to write the spec: a TypeError is about Python arguments, which its author does not know.
            reason = f"write {_usage(name, component)}" if isinstance(error, TypeError) else error
            raise UserError(f"'{spec}' is not a valid spec for the {self._kind} '{name}': {reason}.") from error

    def spec_of(self, component: Role) -> str:
        """Return the spec that creates an equal component.

        Args:
            component: A component of this role.

        Raises:
            UserError: It is a class, or cannot be created from a spec.

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
            f"The {self._kind} {component!r} cannot be created from a spec, so it could not be loaded again: "
            "define its class in a module, with a constructor that takes plain values."
        )

    def _checked(self, name: str, created: Role) -> Role:
        """Return the component if it has all required attributes; a path may lead to any class."""
        missing = [attribute for attribute in self._required if not hasattr(created, attribute)]
        if missing:
            raise self._lacks(name, missing[0])
        return created

    def _lacks(self, name: str, attribute: str) -> UserError:
        return UserError(f"'{name}' is not a valid {self._kind}: it has no `{attribute}`; name a class that has one.")

    def _at(self, path: str) -> Callable[..., Role]:
        module, _, name = path.rpartition(".")
        if not _may_hold_components(module):
            raise UserError(
                f"'{path}' is not a valid {self._kind}: {module} defines none; name a class of your own package."
            )
        try:
            component: Callable[..., Role] = getattr(importlib.import_module(module), name)
        except (Exception, SystemExit) as error:  # importing a module may raise anything
            raise UserError(f"The {self._kind} '{path}' cannot be imported ({_import_error(error)}).") from error
        if not isinstance(component, type):
            raise UserError(f"'{path}' is a {type(component).__name__}, not the class of a component; name a class.")
        # Check before the call: specs also come from other people's folders, and `os.system:…` would run a command.
        if self._required and not any(_declares(component, attribute) for attribute in self._required):
            raise self._lacks(path, self._required[0])
        return component

    def _own(self) -> frozenset[str]:
        return _modules(self.package) if self._named is None else frozenset(self._named)

    def _foreign(self) -> frozenset[str]:
        return frozenset(point.name for point in _entry_points(self.package, tuple(sys.path)))


def unknown_name(kind: str, name: str, names: Sequence[str]) -> UserError:
    """Return the error for a misspelt name.

    >>> print(unknown_name("signal", "acuracy", ["accuracy", "loss"]))
    There is no signal named 'acuracy'; did you mean 'accuracy'?
    """
    return UserError(f"There is no {kind} named '{name}'; {hint_or_list(name, names)}")


def hint_or_list(name: str, names: Sequence[str]) -> str:
    """Return the end of an error message: the name that was probably meant, or else all names.

    >>> hint_or_list("lose", ["accuracy", "loss"]), hint_or_list("x", ["accuracy", "loss"])
    ("did you mean 'loss'?", 'there are accuracy, loss.')
    """
    return did_you_mean(name, names) or f"there are {', '.join(names)}."


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a question that suggests the closest name; "" if none is close.

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
    """The entry points of a group; cached, because selecting takes a while and studies read thousands of specs."""
    return tuple(_all_entry_points(path).select(group=group))


@cache
def _all_entry_points(path: tuple[str, ...]) -> Any:  # noqa: ARG001
    """All entry points; cached, because reading them takes a tenth of a second."""
    try:
        return entry_points()
    except Exception as error:
        broken = next((package for package in distributions() if _is_malformed(package)), None)
        if broken is None:
            raise
        # An error, since torch reads the same files when it is imported and would fail too.
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
    """Whether a spec may name this module: it must not be a program or a module of Python itself.

    >>> [_may_hold_components(name) for name in ("mine.signals", "__main__", "subprocess", "os.path", "pip.__main__")]
    [True, True, False, False, False]
    """
    package, *inner = module.split(".")
    return package == "__main__" or (package not in sys.stdlib_module_names and "__main__" not in inner)


def _declares(kind: type, attribute: str) -> bool:
    return hasattr(kind, attribute) or any(attribute in inspect.get_annotations(base) for base in kind.__mro__)


def _class_named(module: Any, name: str) -> Any:
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and _is_inside(item, module.__name__) and getattr(item, "name", None) == name
    ]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} must hold exactly one class with name = {name!r}")
    return found[0]


def _is_inside(kind: type, module: str) -> bool:
    """Whether a class is defined in a module, or in one of a package."""
    return f"{kind.__module__}.".startswith(f"{module}.")


def _usage(name: str, component: Callable[..., Any]) -> str:
    """How a spec of this component is written, such as `anchor[:SHARE]`."""
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
