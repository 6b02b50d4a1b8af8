"""The client against the binary."""

import asyncio
import math
import unittest

from support import ENDLESS, PROGRAM, ClientTest, upper
from toolhost_client import ClosedWithError, ConnectionLost, RpcError, Toolhost


class Calls(ClientTest):
    async def asyncSetUp(self) -> None:
        self.host = await Toolhost.spawn(self.bundle, workdir=self.workdir, **self.options())
        self.addAsyncCleanup(self.host.close)

    async def test_a_call_and_its_failure_are_results(self) -> None:
        result = await self.host.execute(upper("한글\u2028"))
        expected = {"toolCallId": "call-1", "toolName": "text__upper", "status": "ok"}
        self.assertEqual(result, {**expected, "output": {"text": "한글\u2028"}})
        failing = {"id": "c", "name": "text__fail", "args": {"length": 3, "code": "MINE"}}
        failed = await self.host.execute(failing)
        self.assertEqual((failed["status"], failed["error"]["code"]), ("error", "MINE"))
        unknown = await self.host.execute({"id": "c", "name": "text__nope"})
        self.assertEqual(unknown["error"]["code"], "E_TOOL_NOT_IN_CATALOG")
        used = await self.host.execute(upper("a"), usage=True)
        self.assertGreater(used["usage"]["memoryPeak"], 0)

    async def test_a_turn_has_steps_and_its_calls_run_at_once(self) -> None:
        turn = await self.host.open_turn(input="hi", trace_id="trace-1")
        self.assertEqual(turn.trace_id, "trace-1")
        step = await turn.open_step(format="anthropic")
        names = ["text__upper", "text__fail", "write_bytes__run", "pending__run"]
        self.assertEqual([tool["name"] for tool in step.tools], names)
        calls = (step.execute(upper(f"text {n}", f"call-{n}")) for n in range(200))
        for n, result in enumerate(await asyncio.gather(*calls)):
            self.assertEqual((result["toolCallId"], result["output"]["text"]), (f"call-{n}", f"TEXT {n}"))
        self.assertEqual((await turn.status())["steps"], [step.id])
        self.assertEqual(await step.close("of the step"), "of the step")
        self.assertEqual(await turn.close({"answer": 1}), {"answer": 1})
        with self.assertRaises(RpcError) as raised:
            await turn.close()
        self.assertEqual(raised.exception.code, "E_RPC_NOT_FOUND")
        failed = await self.host.open_turn()
        with self.assertRaises(ClosedWithError) as closed:
            await failed.fail("no", code="MINE")
        self.assertEqual(closed.exception.error["code"], "MINE")

    async def test_numbers_keep_their_digits_and_what_json_cannot_hold_is_refused_with_its_place(self) -> None:
        turn = await self.host.open_turn()
        step = await turn.open_step()
        output = [725653563933458433, -7]
        pending = await step.execute({"id": "p", "name": "pending__run", "args": {"handle": f"done:{output}"}})
        self.assertEqual((await turn.poll(pending["handle"]))["output"], output)
        for text, place in [(math.nan, "text is nan"), ([0, -math.inf], "text.1 is -inf"), ("\ud83d", "text has half")]:
            with self.assertRaisesRegex(ValueError, rf"^params\.call\.args\.{place}"):
                await self.host.execute({"id": "c", "name": "text__upper", "args": {"text": text}})
        self.assertEqual((await self.host.execute(upper("a")))["output"], {"text": "A"})

    async def test_a_pending_call_is_polled_and_cancelled(self) -> None:
        submitted = await self.host.submit(upper("a"))
        result = submitted
        while result["status"] == "pending":
            result = await self.host.poll(submitted["handle"])
        self.assertEqual(result["output"], {"text": "A"})
        running = await self.host.submit(ENDLESS)
        await self.until_it_writes()
        cancelled = await self.host.cancel(running["handle"])
        self.assertEqual(cancelled["error"]["code"], "E_TOOL_CANCELLED")
        await self.assert_stopped()
        turn = await self.host.open_turn()
        step = await turn.open_step()
        pending = await step.execute({"id": "p", "name": "pending__run", "args": {"handle": "done:7"}})
        self.assertEqual((await turn.poll(pending["handle"]))["output"], 7)

    async def test_cancelling_a_task_stops_its_guest(self) -> None:
        running = asyncio.create_task(self.host.execute(ENDLESS))
        await self.until_it_writes()
        running.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await running
        await self.assert_stopped()
        await self.host.info()

    async def test_events_are_received_in_order(self) -> None:
        events = await self.host.events(key="mine")
        await self.host.execute(upper("a"), instance={"key": "other"})
        await self.host.execute(upper("a"), instance={"key": "mine"})
        types = []
        async for event in events:
            types.append(event["type"])
            if event["type"] == "turn.completed":
                break
        activities = ["turn.started", "step.started", "tool.called", "tool.completed"]
        self.assertEqual(types, [*activities, "step.completed", "turn.completed"])
        await self.host.end_events()
        self.assertEqual([event async for event in events], [])

    async def test_closing_fails_what_runs(self) -> None:
        running = asyncio.create_task(self.host.execute(ENDLESS))
        await self.until_it_writes()
        await self.host.close()
        with self.assertRaises(ConnectionLost):
            await running
        with self.assertRaises(ConnectionLost):
            await self.host.info()
        await self.assert_stopped()


class Undo(ClientTest):
    async def test_calls_are_listed_and_undone(self) -> None:
        policy = self.top / "policy.yaml"
        policy.write_text("defaults: {workdir: transactional}", encoding="utf-8")
        async with await Toolhost.spawn(self.bundle, workdir=self.workdir, policy=policy, **self.options()) as host:
            for size in (3, 5):
                call = {"id": f"w{size}", "name": "write_bytes__run", "args": {"path": "/f", "bytes": size}}
                written = await host.execute(call, usage=True)
                self.assertEqual(written["changes"]["files"][0]["path"], "f")
            records = await host.undo_list()
            self.assertEqual([record["call"] for record in records], [f"write_bytes__run w{n}" for n in (5, 3)])
            self.assertEqual((await host.undo())["files"], ["f"])
            self.assertEqual(self.written(), 3)
            await host.undo(records[1]["id"], instance={"key": "other"})
            self.assertFalse((self.workdir / "f").exists())
            with self.assertRaises(RpcError) as raised:
                await host.undo()
            self.assertEqual(raised.exception.code, "E_RPC_NOT_FOUND")


class Servers(ClientTest):
    async def test_a_client_loads_bundles_and_errors_name_what_is_wrong(self) -> None:
        async with await Toolhost.spawn(**self.options()) as host:
            self.assertFalse((await host.info())["servesBundle"])
            with self.assertRaises(RpcError) as raised:
                await host.load_bundle(self.workdir)
            self.assertEqual(raised.exception.code, "E_RPC_BUNDLE")
            self.assertTrue(raised.exception.suggestion)
            loaded = await host.load_bundle(self.bundle)
            self.assertEqual(loaded["agents"], await host.agents(loaded["bundle"]))
            self.assertEqual(len(await host.catalog(format="mcp")), 4)
            instance = {"bundle": loaded["bundle"], "workdir": str(self.workdir)}
            call = {"id": "w", "name": "write_bytes__run", "args": {"path": "/made", "bytes": 3}}
            await host.execute(call, instance=instance)
            self.assertEqual((self.workdir / "made").stat().st_size, 3)
            await host.unload_bundle(loaded["bundle"])
            with self.assertRaises(RpcError):
                await host.catalog()

    async def test_a_server_that_cannot_start_or_be_reached_is_a_lost_connection(self) -> None:
        with self.assertRaises(ConnectionLost):
            await Toolhost.spawn(program=self.top / "none")
        with self.assertRaises(ConnectionLost):
            await Toolhost.connect(self.top / "none")
        async with await Toolhost.spawn(self.top / "none", **self.options()) as host:
            with self.assertRaisesRegex(ConnectionLost, r"has ended with exit code 2: (?s:.*)/none"):
                await host.info()

    async def test_clients_of_a_socket(self) -> None:
        path = self.top / "rpc.sock"
        words = ["--workdir", self.workdir, "--socket", path, "--state-root", self.top / "state"]
        server = await asyncio.create_subprocess_exec(PROGRAM, "rpc", self.bundle, *words)
        try:
            host = None
            for _ in range(2000):
                try:
                    host = await Toolhost.connect(path)
                    break
                except ConnectionLost:
                    await asyncio.sleep(0.01)
            assert host
            other = await Toolhost.connect(path)
            running = asyncio.create_task(other.execute(ENDLESS))
            await self.until_it_writes()
            await other.close()
            with self.assertRaises(ConnectionLost):
                await running
            result = await host.execute(upper("a"))
            self.assertEqual(result["output"], {"text": "A"})
            await self.assert_stopped()
            server.terminate()
            self.assertEqual(await server.wait(), 0)
            with self.assertRaises(ConnectionLost):
                await host.info()
            await host.close()
        finally:
            if server.returncode is None:
                server.kill()
                await server.wait()


class Programs(ClientTest):
    async def test_what_waits_for_approval_is_listed_read_and_decided_with_the_token_of_an_approver(self) -> None:
        token = "f" * 32
        policy, approvers = self.top / "policy.yaml", self.top / "approvers"
        policy.write_text("defaults: {ask: always}")
        approvers.write_text(f"ann {token}")
        approvers.chmod(0o600)
        options = {**self.options(), "policy": policy, "approvers": approvers}
        async with await Toolhost.spawn(self.bundle, **options) as host:
            held = [await host.execute(upper("a", "one")), await host.execute(upper("b", "two"))]
            self.assertEqual([one["details"]["effect"] for one in held], ["call", "call"])
            two, one = await host.approvals(token)
            self.assertEqual(two["what"], {"tool": "text__upper", "args": {"text": "b"}})
            self.assertEqual((await host.approval(token, one["id"]))["handle"], held[0]["handle"])
            with self.assertRaises(RpcError) as refused:
                await host.approve("e" * 32, one["id"])
            self.assertEqual(refused.exception.code, "E_RPC_FORBIDDEN")
            self.assertEqual((await host.approve(token, one["id"], why="fine"))["decision"]["by"], "ann")
            self.assertEqual((await host.deny(token, two["id"], why="not now"))["state"], "denied")
            ended = []
            for pending in held:
                result = pending
                while result["status"] == "pending":
                    result = await host.poll(pending["handle"])
                ended.append(result)
            self.assertEqual(ended[0]["output"], {"text": "A"})
            self.assertIn("not now", ended[1]["error"]["message"])
            self.assertFalse(any(one["isOpen"] for one in await host.approvals(token, all=True)))

    async def test_a_program_calls_the_tools_that_the_model_does_not_see(self) -> None:
        self.add_programs()
        async with await Toolhost.spawn(self.bundle, tools="script", **self.options()) as host:
            names = [tool["name"] for tool in await host.catalog()]
            self.assertEqual(names, ["javascript__script", "tools__search"])
            code = "return (await tools.text.upper({ text: args.word })).text"
            result = await host.script("javascript", code, args={"word": "hi"})
            self.assertEqual(result["output"], {"result": "HI"})
            failed = await host.script("javascript", 'throw new Error("no")')
            self.assertEqual(failed["error"]["code"], "E_SCRIPT")


if __name__ == "__main__":
    unittest.main()
