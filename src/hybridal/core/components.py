"""Calls into components that users write: an error or a wrong result names the component, not hybridal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hybridal.errors import UserError, located


@contextmanager
def calling(kind: str, component: Any) -> Iterator[None]:
    """Turn errors of a component that is not part of hybridal into a `UserError` that names it.

    Args:
        kind: The role of the component, such as "signal".
        component: The component that is called in the block.

    Raises:
        UserError: The component raised an error, which is the cause. `UserError` and out-of-memory errors pass
            unchanged.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        ours = type(component).__module__.startswith("hybridal.")
        if ours or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        raise UserError(
            f"The {kind} {described(component)} failed: {located(error)}; correct it{_advice(kind)}."
        ) from error


def result_error(kind: str, component: Any, wrong: str) -> UserError:
    """Describe a wrong result of a component.

    Args:
        kind: The role of the component, such as "signal".
        component: The component.
        wrong: What it must return, and what it returned.

    Returns:
        The error to raise.

    Example:
        >>> from hybridal.signals.loss import Loss
        >>> print(result_error("signal", Loss(), "must give a number, not None"))
        The signal 'loss' (hybridal.signals.loss.Loss) must give a number, not None; correct it, and try it with \
`hybridal.testing.check_signal`.
    """
    return UserError(f"The {kind} {described(component)} {wrong}; correct it{_advice(kind)}.")


def described(component: Any) -> str:
    """The component's name and the path of its class."""
    kind = type(component)
    path = f"{kind.__module__}.{kind.__qualname__}"
    name = getattr(component, "name", None)
    return f"'{name}' ({path})" if name else path


def _advice(kind: str) -> str:
    return f", and try it with `hybridal.testing.check_{kind}`" if kind in ("acquisition", "schedule", "signal") else ""
