"""The client of the Python package `mcp` against `toolhost serve`."""

import asyncio
import json
import re
import subprocess
import unittest
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from support import DEADLINE, ENDLESS, PROGRAM, REVISIONS, ConnectionsTest, Server


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


class Calls(ConnectionsTest):
    async def test_negotiates_the_revision_and_lists_the_tools_of_the_catalog(self) -> None:
        async def case(server: Server) -> None:
            printed = subprocess.run(
                [PROGRAM, "list", str(server.bundle), "--json"],
                check=True, capture_output=True, timeout=DEADLINE,
            )
            catalog = {item["name"]: item for item in json.loads(printed.stdout)}
            self.assertEqual(len(catalog), 6)
            async with server.connect() as client:
                self.assertEqual(client.protocol_version, REVISIONS[server.mode])
                tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], list(catalog))
            for tool in tools:
                item = catalog[tool.name]
                self.assertEqual(tool.description, item["description"])
                self.assertEqual(tool.input_schema, item["parameters"])
                self.assertEqual(tool.output_schema, item.get("outputSchema"))
            self.assertEqual(tools[0].output_schema, tools[0].input_schema)

        await self.over_each_connection(case)

    async def test_a_call_returns_its_output_as_structured_content_and_as_text(self) -> None:
        async def case(server: Server) -> None:
            async with server.connect() as client:
                result = await client.call_tool("text__upper", {"text": "한글 a\u2028"})
            self.assertFalse(result.is_error)
            self.assertEqual(result.structured_content, {"text": "한글 A\u2028"})
            self.assertEqual(json.loads(text_of(result)), {"text": "한글 A\u2028"})

        await self.over_each_connection(case)

    async def test_two_hundred_calls_at_once_get_their_own_answers(self) -> None:
        async def case(server: Server) -> None:
            async with server.connect() as client:
                calls = (client.call_tool("text__upper", {"text": f"text {n}"}) for n in range(200))
                results = await asyncio.gather(*calls)
            for n, result in enumerate(results):
                self.assertEqual(result.structured_content, {"text": f"TEXT {n}"})

        await self.over_each_connection(case)

    async def test_an_error_names_its_code_its_message_and_what_to_do(self) -> None:
        async def case(server: Server) -> None:
            async with server.connect() as client:
                invalid = await client.call_tool("text__upper", {"text": 7})
                failed = await client.call_tool(
                    "text__fail", {"length": 12, "code": "MINE", "suggestion": "try less"}
                )
                unknown = await client.call_tool("text__nope", {})
                # The connection serves on.
                self.assertFalse((await client.call_tool("text__upper", {"text": "a"})).is_error)
            for result, words in [
                (invalid, ["E_TOOL_INVALID_ARGS", "text"]),
                (failed, ["MINE", "try less"]),
                (unknown, ["E_TOOL_NOT_IN_CATALOG", "text__nope"]),
            ]:
                self.assertTrue(result.is_error)
                self.assertIsNone(result.structured_content)
                for word in words:
                    self.assertIn(word, text_of(result))

        await self.over_each_connection(case)

    async def test_a_call_that_the_client_cancels_stops_and_the_connection_works_on(self) -> None:
        async def case(server: Server) -> None:
            async with server.connect() as client:
                call = asyncio.create_task(client.call_tool("files__run", ENDLESS))
                await server.until_it_writes()
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call
                await server.assert_stopped()
                result = await client.call_tool("text__upper", {"text": "a"})
                self.assertEqual(result.structured_content, {"text": "A"})

        await self.over_each_connection(case)

    async def test_a_call_that_the_client_gives_up_after_its_timeout_stops(self) -> None:
        async def case(server: Server) -> None:
            async with server.connect() as client:
                await client.call_tool("text__upper", {"text": "a"})
                with self.assertRaises((MCPError, TimeoutError)):
                    await client.call_tool("files__run", ENDLESS, read_timeout_seconds=1)
                await server.assert_stopped()
                self.assertGreater(server.written(), 0)

        await self.over_each_connection(case)

    async def test_a_client_that_closes_its_connection_stops_its_calls(self) -> None:
        async def case(server: Server) -> None:
            call = None
            try:
                async with server.connect() as client:
                    call = asyncio.create_task(client.call_tool("files__run", ENDLESS))
                    await server.until_it_writes()
            finally:
                if call:
                    call.cancel()
                    await asyncio.gather(call, return_exceptions=True)
            await server.assert_stopped()

        await self.over_each_connection(case)


class Notifications(ConnectionsTest):
    async def test_progress_arrives_and_grows_and_keeps_a_long_call_alive(self) -> None:
        async def case(server: Server) -> None:
            seconds: list[float] = []

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                self.assertIsNone(total)
                self.assertIn("running", message or "")
                seconds.append(progress)

            # Over HTTP, the client ends a response that brings nothing for seven seconds.
            async with server.connect(read_timeout=7) as client:
                result = await client.call_tool(
                    "slow__run", {"seconds": 11}, progress_callback=on_progress
                )
            self.assertEqual(result.structured_content, {"slept": 11})
            self.assertEqual(len(seconds), 2, seconds)
            self.assertLess(seconds[0], seconds[1])
            self.assertGreaterEqual(seconds[0], 5)

        await self.over_each_connection(case)

    async def test_what_a_tool_logs_arrives_while_it_runs(self) -> None:
        async def case(server: Server) -> None:
            records: list[Any] = []

            async def on_log(record: types.LoggingMessageNotificationParams) -> None:
                records.append(record)

            async with server.connect(logging_callback=on_log, log_level="info") as client:
                await client.call_tool("log__run", {"records": 2, "message": "hello", "level": "warn"})
                await client.call_tool("log__run", {"records": 2, "message": "hidden", "level": "debug"})
                await client.call_tool("text__upper", {"text": "a"})
            self.assertEqual([record.level for record in records], ["warning", "warning"])
            for record in records:
                self.assertIn("hello", str(record.data))

        await self.over_each_connection(case)

    async def test_a_changed_bundle_changes_the_list_and_the_client_is_notified(self) -> None:
        async def case(server: Server) -> None:
            notified = asyncio.Event()

            async def on_message(message: Any) -> None:
                if isinstance(message, types.ToolListChangedNotification):
                    notified.set()

            def change() -> None:
                manifest = server.bundle / "goondan.yaml"
                text = manifest.read_text(encoding="utf-8")
                self.assertIn(", Tool/log]", text)
                changed = manifest.with_suffix(".new")
                changed.write_text(text.replace(", Tool/log]", "]"), encoding="utf-8")
                changed.replace(manifest)

            async with server.connect("--watch", message_handler=on_message) as client:
                self.assertIn("log__run", [tool.name for tool in (await client.list_tools()).tools])
                async with asyncio.timeout(DEADLINE):
                    if server.mode == "legacy":
                        change()
                        await notified.wait()
                    else:
                        async with client.listen(tools_list_changed=True) as subscription:
                            change()
                            await anext(aiter(subscription))
                names = [tool.name for tool in (await client.list_tools()).tools]
                self.assertNotIn("log__run", names)
                self.assertIn("text__upper", names)
                gone = await client.call_tool("log__run", {"records": 1})
                self.assertIn("E_TOOL_NOT_IN_CATALOG", text_of(gone))

        await self.over_each_connection(case)


class Http(ConnectionsTest):
    async def test_no_call_is_in_flight_after_its_response_was_dropped(self) -> None:
        async def in_flight(http: httpx2.AsyncClient, origin: str) -> int:
            metrics = (await http.get(f"{origin}/metrics")).text
            found = re.search(r"^\S*calls_in_flight (\d+)$", metrics, re.MULTILINE)
            assert found, metrics
            return int(found[1])

        async def case(server: Server) -> None:
            if server.transport != "http":
                return
            async with (
                httpx2.AsyncClient(timeout=DEADLINE) as http,
                server.serve_http("--workdir", str(server.workdir)) as url,
                Client(streamable_http_client(url, http_client=http), mode=server.mode) as client,
            ):
                origin = url.removesuffix("/mcp")
                call = asyncio.create_task(client.call_tool("files__run", ENDLESS))
                await server.until_it_writes()
                self.assertEqual(await in_flight(http, origin), 1)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                async with asyncio.timeout(DEADLINE):
                    while await in_flight(http, origin):
                        await asyncio.sleep(0.05)
                await server.assert_stopped()

        await self.over_each_connection(case)

    async def test_only_a_client_with_a_token_connects_and_its_token_names_its_workspace(self) -> None:
        async def case(server: Server) -> None:
            if server.transport != "http":
                return
            tokens = server.top / "tokens"
            tokens.write_text(f"alice {'a' * 32}\nbob {'b' * 32}\n", encoding="utf-8")
            tokens.chmod(0o600)

            async def write_with(header: dict[str, str], url: str) -> types.CallToolResult:
                async with (
                    httpx2.AsyncClient(timeout=DEADLINE, headers=header) as http,
                    Client(streamable_http_client(url, http_client=http), mode=server.mode) as client,
                ):
                    return await client.call_tool("files__run", {"path": "/mine", "bytes": 3})

            state = server.top / "state"
            async with server.serve_http("--tokens", str(tokens), "--state-root", str(state)) as url:
                for header in [{}, {"Authorization": f"Bearer {'c' * 32}"}]:
                    with self.assertRaises((MCPError, BaseExceptionGroup, httpx2.HTTPError)):
                        await write_with(header, url)
                written = list(state.rglob("mine"))
                self.assertEqual(written, [])
                result = await write_with({"Authorization": f"Bearer {'a' * 32}"}, url)
                self.assertEqual(result.structured_content, {"written": 3, "size": 3})
                written = list(state.rglob("mine"))
                self.assertEqual(len(written), 1)
                self.assertIn("alice", str(written[0].relative_to(state)))

        await self.over_each_connection(case)


if __name__ == "__main__":
    unittest.main()
