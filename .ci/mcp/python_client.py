"""The official Python SDK as a client of `dormouse mcp`, without sessions: list, call, read, listen, cancel."""

import asyncio
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

binary, folder = sys.argv[1], Path(sys.argv[2])
uri = "dormouse://memory/staging.md"


async def main():
    server = StdioServerParameters(
        command=binary, args=["mcp"], cwd=folder / "project", env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        assert client.server_info.name == "dormouse", client.server_info
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == ["recall", "remember", "forget", "search"]
        print("ok    mcp python: tools are listed")
        answer = await client.call_tool("recall", {"query": "Which port does the staging server use?"})
        assert "staging.md" in answer.content[0].text, answer
        print("ok    mcp python: recall is called")
        listed = await client.list_resources()
        assert uri in [str(resource.uri) for resource in listed.resources], listed
        text = await client.read_resource(uri)
        assert "9443" in text.contents[0].text, text
        print("ok    mcp python: a memory is read")
        memory = folder / "memory" / "staging.md"
        before = memory.read_text()
        async with client.listen(resource_subscriptions=[uri]) as events:
            update = asyncio.create_task(anext(events))
            number = 0
            while not update.done():
                # The first look of the server may come after the first change.
                number += 1
                memory.write_text(before + f"\nChange {number}.\n")
                await asyncio.wait([update], timeout=2)
            assert str(update.result().uri) == uri, update.result()
        memory.write_text(before)
        print("ok    mcp python: a change is told")
        search = asyncio.create_task(client.call_tool("search", {"query": "staging server"}))
        await asyncio.sleep(0)
        search.cancel()
        await asyncio.gather(search, return_exceptions=True)
        again = await client.call_tool("search", {"query": "staging server"})
        assert "staging.md" in again.content[0].text, again
        print("ok    mcp python: the server goes on after a cancelled search")


asyncio.run(asyncio.wait_for(main(), 100))
