"""Calls of other tools, through a host that is faked."""

import asyncio
import gc
import unittest
from collections.abc import Callable
from datetime import date
from typing import Any
from unittest import mock

from fake_tools import Handle, Host

from toolhost import Context, ToolCallError, ToolError
from toolhost import _pollables
from toolhost._failure import failure_of
from toolhost._handle import Finalizer
from toolhost._pollables import Selector
from toolhost._tools import Tools
from toolhost._tools_warm_up import warm_up
from toolhost._waiting import settle_asyncio


def echo(**arguments: Any) -> Any:
    """Returns its arguments."""
    return arguments


def fail(**arguments: Any) -> Any:
    raise ValueError("it failed")


def strict(path: str) -> Any:
    return path


class WithLoop(unittest.TestCase):
    """Has the kit's event loop in the place of asyncio's."""

    def setUp(self) -> None:
        for target, name in [
            (asyncio, "EventLoop"),
            (asyncio, "SelectorEventLoop"),
            (asyncio, "new_event_loop"),
            (asyncio.events, "new_event_loop"),
            (asyncio.events, "_event_loop_policy"),
        ]:
            patch = mock.patch.object(target, name, getattr(target, name, None), create=True)
            patch.start()
            self.addCleanup(patch.stop)
        settle_asyncio(asyncio, Selector)

    def host(self, **options: int) -> Host:
        return Host({"a-b__echo": echo, "a-b__fail": fail, "c__strict": strict, "7z__import": echo}, **options)


class Calls(WithLoop):
    def test_return_the_output_in_a_function(self) -> None:
        host = self.host()
        tools = Tools(host)
        for call in (tools["a-b__echo"], tools.a_b.echo, lambda **named: tools.call("a-b__echo", named)):
            self.assertEqual(call(path="x", when=date(2026, 1, 2)), {"path": "x", "when": "2026-01-02"})
        self.assertEqual(tools["a-b__echo"]({"a b": {1}}, n=2), {"a b": [1], "n": 2})
        self.assertEqual(tools["a-b__echo"](), {})
        self.assertEqual((len(host.asked), Handle.open), (5, 0))

    def test_are_awaited_in_an_async_function_and_run_at_the_same_time(self) -> None:
        async def main(tools: Tools) -> Any:
            one = await tools["a-b__echo"](n=0)
            each = [tools.a_b.echo(n=n) for n in range(1, 5)]
            async with asyncio.TaskGroup() as group:
                task = group.create_task(tools["a-b__echo"](n=9))
            return [one, *await asyncio.gather(*each, asyncio.sleep(0.01)), task.result()]

        host = self.host(polls=3)
        found = asyncio.run(main(Tools(host)))
        self.assertEqual(found, [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, None, {"n": 9}])
        self.assertEqual((host.most, Handle.open), (4, 0))

    def test_run_at_the_same_time_from_a_function_too(self) -> None:
        host = self.host(polls=2)
        calls = [("a-b__echo", {"n": n}) for n in range(40)]
        self.assertEqual(Tools(host).gather(*calls), [{"n": n} for n in range(40)])
        self.assertEqual((host.most, host.refused), (16, 0))
        found = Tools(host).gather(("a-b__fail", {}), calls[0], return_exceptions=True)
        self.assertEqual((type(found[0]), found[1]), (ToolCallError, {"n": 0}))
        with self.assertRaises(ToolCallError):
            Tools(host).gather(("a-b__fail", {}), calls[0])
        self.assertEqual(Handle.open, 0)

    def test_wait_where_the_policy_allows_fewer_at_once(self) -> None:
        for at_once in (1, 3):
            host = self.host(at_once=at_once, polls=2)
            found = Tools(host).gather(*[("a-b__echo", {"n": n}) for n in range(40)])
            self.assertEqual((len(found), host.most), (40, at_once))
            # Each slot that is one too many is refused once.
            self.assertLessEqual(host.refused, 16)

    def test_fail_where_the_policy_allows_no_more_in_all(self) -> None:
        host = self.host(in_all=20, polls=2)
        found = Tools(host).gather(*[("a-b__echo", {"n": n}) for n in range(60)], return_exceptions=True)
        self.assertEqual([it.get("n") if isinstance(it, dict) else it.code for it in found], [*range(20), *["E_TOOL_CALL_LIMIT"] * 40])
        self.assertEqual((len(host.asked), Handle.open), (20, 0))

    def test_are_dropped_where_their_task_is_cancelled(self) -> None:
        async def main(tools: Tools) -> None:
            async with asyncio.timeout(0.01):
                await tools["a-b__echo"]()

        host = self.host(polls=1_000_000)
        with self.assertRaises(TimeoutError):
            asyncio.run(main(Tools(host)))
        self.assertEqual((host.cancelled, Handle.open), (1, 0))

    def test_are_not_made_where_they_are_not_awaited(self) -> None:
        async def main(tools: Tools) -> None:
            tools["a-b__echo"]().close()

        host = self.host()
        asyncio.run(main(Tools(host)))
        self.assertEqual(host.asked, [])

    def test_raise_what_failed(self) -> None:
        tools = Tools(self.host())
        with self.assertRaises(ToolCallError) as raised:
            tools["a-b__fail"]()
        error = raised.exception
        self.assertEqual((error.code, error.message, error.suggestion), ("E_MADE_UP", "it failed", "try another"))
        self.assertEqual((error.tool, error.parameters, str(error)), ("a-b__fail", None, "a-b__fail: it failed (E_MADE_UP)"))
        failure = failure_of(error)
        self.assertEqual((failure.code, failure.suggestion, failure.message), ("E_MADE_UP", "try another", str(error)))
        with self.assertRaises(ToolCallError) as raised:
            tools.c.strict(paths=1)
        self.assertEqual((raised.exception.code, raised.exception.schema), ("E_TOOL_INVALID_ARGS", {"type": "object"}))

    def test_refuse_arguments_that_are_no_json_before_anything_is_called(self) -> None:
        host = self.host()
        for arguments, message in [
            ({"a": [object()]}, "arguments['a'][0] is of type object"),
            ({"a": float("nan")}, "arguments['a'] is nan"),
            ({"a": "\ud800"}, "arguments['a'] is not Unicode text"),
        ]:
            with self.assertRaisesRegex(TypeError, message.replace("[", r"\[")):
                Tools(host)["a-b__echo"](arguments)
        with self.assertRaisesRegex(TypeError, "by name"):
            Tools(host)["a-b__echo"]("x")
        with self.assertRaisesRegex(TypeError, "text"):
            Tools(host)[1]
        self.assertEqual(host.asked, [])


class Names(WithLoop):
    def awaited(self, call: Callable[[], Any]) -> Any:
        async def main() -> Any:
            return await call()

        return asyncio.run(main())

    def test_have_aliases_that_are_identifiers(self) -> None:
        tools = Tools(self.host())
        self.assertEqual(tools._7z.import_(n=1), {"n": 1})
        self.assertIn("a_b", dir(tools))
        self.assertEqual(dir(tools.a_b), ["echo", "fail"])

    def test_that_do_not_exist_are_refused_with_the_nearest(self) -> None:
        tools = Tools(self.host())
        for get, message in [
            (lambda: tools.a_c(n=1), "did you mean `a_b`"),
            (lambda: tools.a_c.echo(n=1), "did you mean `a_b`"),
            (lambda: tools.a_b.ecko({"n": 1}), "did you mean `echo`"),
            (lambda: self.awaited(lambda: tools.a_b.ecko(n=1)), "did you mean `echo`"),
            (lambda: tools.a_b(n=1), "`a_b` is no function; it has echo, fail"),
            (lambda: tools.zzzzzz(), "there are: a_b, c, _7z"),
        ]:
            with self.assertRaisesRegex(AttributeError, message):
                get()

    def test_that_are_denied_are_told_by_the_host_through_their_alias_too(self) -> None:
        host = Host({"file-system__glob": echo}, denied=("file-system__import", "7z-x__list"))
        tools = Tools(host)
        for get, name in [
            (lambda: tools.file_system.import_(path="a"), "file_system__import"),
            (lambda: tools._7z_x.list(), "7z_x__list"),
            (lambda: self.awaited(lambda: tools.file_system.import_(path="a")), "file_system__import"),
        ]:
            with self.assertRaises(ToolCallError) as raised:
                get()
            error = raised.exception
            self.assertEqual((error.code, str(error), error.suggestion), ("E_TOOL_DENIED", f"{name}: denied: {name} (E_TOOL_DENIED)", "the policy line"))
        self.assertEqual(host.asked, [])

    def test_with_the_same_alias_are_refused_and_both_are_named(self) -> None:
        tools = Tools(Host({"a-b__c": echo, "a_b__c": echo}))
        with self.assertRaisesRegex(AttributeError, "is one of a-b__c, a_b__c"):
            tools.a_b.c
        self.assertEqual(tools["a_b__c"](n=1), {"n": 1})

    def test_of_python_reach_nothing_of_it(self) -> None:
        host = Host({"search__x": echo, "__class____x": echo})
        tools = Tools(host)
        for name in ("__class__", "__init__", "__dict__", "_host", "__proto__", "names"):
            with self.assertRaises(ToolCallError) as raised:
                tools[name](x=1)
            self.assertEqual(raised.exception.code, "E_TOOL_NOT_IN_CATALOG")
        self.assertIs(tools.__class__, Tools)
        self.assertTrue(callable(tools.search))
        self.assertEqual(tools["search__x"](n=1), {"n": 1})
        self.assertEqual(len(host.asked), 1)

    def test_of_a_mebibyte_make_a_short_error(self) -> None:
        tools = Tools(self.host())
        for get in (lambda: tools["a" * (1 << 20)](), lambda: getattr(tools, "a" * (1 << 20))()):
            with self.assertRaises((ToolCallError, AttributeError)) as raised:
                get()
            self.assertLess(len(str(raised.exception)), 400)

    def test_are_listed_described_and_found(self) -> None:
        tools = Tools(self.host())
        self.assertEqual(tools.names(), ["a-b__echo", "a-b__fail", "c__strict", "7z__import"])
        described = {"name": "a-b__echo", "description": "Returns its arguments.", "parameters": {"type": "object"}}
        self.assertEqual(tools.describe("a-b__echo"), described)
        self.assertEqual(tools.search("echo"), [described])
        self.assertEqual(tools.search("a", -1), [])

        async def main() -> list[Any]:
            return [await tools.names(), await tools.describe("a-b__echo"), await tools.search("echo")]

        self.assertEqual(asyncio.run(main()), [tools.names(), described, [described]])
        with self.assertRaises(ToolCallError):
            tools.describe("x")


class Absent(unittest.TestCase):
    def test_tools_say_what_the_author_has_to_do(self) -> None:
        uses: list[Callable[[Any], Any]] = [lambda tools: tools["__class__"], lambda tools: tools.a, lambda tools: tools.names()]
        for use in uses:
            with self.assertRaisesRegex(ToolError, "does not import"):
                use(Context().tools)


class WarmUp(WithLoop):
    def test_leaves_what_waits_as_it_was(self) -> None:
        before = _pollables.wait_for
        warm_up()
        self.assertIs(_pollables.wait_for, before)


class Handles(unittest.TestCase):
    def test_drops_a_handle_once_with_its_owner_or_when_it_is_left(self) -> None:
        dropped: list[Any] = []

        class Owner:
            def __init__(self, handle: int) -> None:
                self.finalizer = Finalizer(self, lambda *of: dropped.append(of), 7, handle)

        owner = Owner(1)
        _, drop, arguments, _ = owner.finalizer.detach()
        del owner
        self.assertEqual(dropped, [])
        drop(*arguments)
        owner = Owner(2)
        owner.itself = owner  # type: ignore[attr-defined]
        del owner
        gc.collect()
        self.assertEqual(dropped, [(7, 1), (7, 2)])


if __name__ == "__main__":
    unittest.main()
