"""Functions whose every call happens inside of a block: plain ones, async ones and generators."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable


def inside(function: Callable[..., Any], block: Callable[[], Any]) -> Callable[..., Any]:
    """The function, each call in a new block; a generator's block lasts as long as it does."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with block():
            return function(*args, **kwargs)

    async def call_async(*args: Any, **kwargs: Any) -> Any:
        async with block():
            return await function(*args, **kwargs)

    def generate(*args: Any, **kwargs: Any) -> Any:
        with block():
            return (yield from function(*args, **kwargs))

    async def generate_async(*args: Any, **kwargs: Any) -> Any:
        async with block():
            values = function(*args, **kwargs)
            try:
                value = await values.__anext__()
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await values.aclose()
                        raise
                    except BaseException as error:
                        value = await values.athrow(error)
                    else:
                        value = await values.asend(sent)
            except StopAsyncIteration:
                return

    if inspect.iscoroutinefunction(function):
        chosen: Callable[..., Any] = call_async
    elif inspect.isasyncgenfunction(function):
        chosen = generate_async
    elif inspect.isgeneratorfunction(function):
        chosen = generate
    else:
        chosen = call
    return functools.wraps(function)(chosen)


def innermost(function: Callable[..., Any]) -> Any:
    """What a function was made from, which has a name and a file: an object's is its class."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if hasattr(function, "__qualname__") else type(function)
