// The official TypeScript SDK as a client of `dormouse mcp`: list, call, read, subscribe, cancel.
import assert from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [binary, folder] = process.argv.slice(2);
const uri = "dormouse://memory/staging.md";
const transport = new StdioClientTransport({
    command: binary, args: ["mcp"], cwd: join(folder, "project"), env: { ...process.env },
});
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["recall", "remember", "forget", "search"]);
console.log("ok    mcp typescript: tools are listed");

const answer = await client.callTool({
    name: "recall", arguments: { query: "Which port does the staging server use?" },
});
assert.match(answer.content[0].text, /staging\.md/);
console.log("ok    mcp typescript: recall is called");

const { resources } = await client.listResources();
assert(resources.some((resource) => resource.uri === uri));
const read = await client.readResource({ uri });
assert.match(read.contents[0].text, /9443/);
console.log("ok    mcp typescript: a memory is read");

let told;
const updated = new Promise((resolve) => { told = resolve; });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) => {
    if (note.params.uri === uri) told(true);
});
await client.subscribeResource({ uri });
const memory = join(folder, "memory", "staging.md");
const before = readFileSync(memory, "utf8");
// The first look of the server may come after the first change.
for (let number = 1; ; number += 1) {
    writeFileSync(memory, `${before}\nChange ${number}.\n`);
    const pause = new Promise((resolve) => setTimeout(() => resolve(false), 2000));
    if (await Promise.race([updated, pause])) break;
}
writeFileSync(memory, before);
console.log("ok    mcp typescript: a change is told");

const stop = new AbortController();
const search = client.callTool(
    { name: "search", arguments: { query: "staging server" } }, undefined, { signal: stop.signal },
);
stop.abort("a test");
await assert.rejects(search);
await client.ping();
const again = await client.callTool({ name: "search", arguments: { query: "staging server" } });
assert.match(again.content[0].text, /staging\.md/);
console.log("ok    mcp typescript: the server goes on after a cancelled search");
await client.close();
