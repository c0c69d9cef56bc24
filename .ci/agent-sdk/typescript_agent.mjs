// Programs written for the official agent SDK, driving Dormouse by one setting: the path of the executable.
//
// typescript_agent.mjs BINARY ADDRESS FOLDER: the simulator at ADDRESS answers by a script, one case after the other, so that
// the cases run in this order. One line a case.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [binary, address, folder] = process.argv.slice(2);
const project = join(folder, "project");
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  DORMOUSE_HOME: join(folder, "home"),
  ANTHROPIC_BASE_URL: address,
  ANTHROPIC_API_KEY: "any",
  ANTHROPIC_MODEL: "claude-opus-4-6",
};
let failures = 0;

const options = (more = {}) => ({
  pathToClaudeCodeExecutable: binary,
  cwd: project,
  env,
  extraArgs: { bare: null },
  ...more,
});

/** Prompts that are sent when they are asked for; the input stays open until `close`. */
function conversation(...words) {
  const queue = [...words];
  let wake = () => {};
  let open = true;
  return {
    say(text) {
      queue.push(text);
      wake();
    },
    close() {
      open = false;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (open || queue.length > 0) {
        if (queue.length === 0) {
          await new Promise((resolve) => (wake = resolve));
          continue;
        }
        const content = queue.shift();
        yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
      }
    },
  };
}

/** Words of the model up to the next result, and that result. */
async function turn(messages) {
  const words = [];
  while (true) {
    const { value, done } = await messages.next();
    assert.ok(!done, "the answers ended before the result");
    if (value.type === "assistant") {
      words.push(...value.message.content.filter((block) => block.type === "text").map((block) => block.text));
    }
    if (value.type === "result") return [words, value];
  }
}

async function run(name, work) {
  const limit = new Promise((_, reject) => setTimeout(() => reject(new Error("not done after 60 s")), 60_000).unref());
  try {
    await Promise.race([work(), limit]);
    console.log(`ok    agent sdk, typescript: ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL  agent sdk, typescript: ${name}: ${error.message.split("\n").slice(0, 6).join(" | ")}`);
  }
}

await run("a query with a tool", async () => {
  const messages = query({ prompt: "What do the notes say?", options: options({ allowedTools: ["Read"] }) });
  const [words, result] = await turn(messages);
  assert.deepEqual(words, ["It says: whisper."]);
  assert.equal(result.subtype, "success");
  assert.equal(result.result, "It says: whisper.");
});

await run("a permission callback", async () => {
  const asked = [];
  const prompts = conversation("make two files");
  const canUseTool = async (name, input) => {
    asked.push([name, input.command]);
    if (input.command.includes("secret")) return { behavior: "deny", message: "not that one" };
    return { behavior: "allow", updatedInput: { command: "touch allowed-too" } };
  };
  const messages = query({ prompt: prompts, options: options({ canUseTool }) });
  const [words] = await turn(messages);
  prompts.close();
  assert.deepEqual(asked, [["Bash", "touch secret"], ["Bash", "touch other"]]);
  assert.deepEqual(words, ["One of two."]);
  assert.ok(existsSync(join(project, "allowed-too")) && !existsSync(join(project, "secret")));
});

await run("a hook callback", async () => {
  const seen = [];
  const prompts = conversation("open the freezer");
  const before = async (input) => {
    seen.push(input.tool_input.command);
    return {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "the freezer is closed",
      },
    };
  };
  const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [before] }] };
  const more = { hooks, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
  const messages = query({ prompt: prompts, options: options(more) });
  const [words] = await turn(messages);
  prompts.close();
  assert.deepEqual(seen, ["touch frozen"]);
  assert.deepEqual(words, ["It is closed."]);
  assert.ok(!existsSync(join(project, "frozen")));
});

await run("a server of tools in the program", async () => {
  const calls = [];
  const count = tool("count", "Counts what is in the larder.", { what: z.string() }, async ({ what }) => {
    calls.push(what);
    return { content: [{ type: "text", text: "seven" }] };
  });
  const larder = createSdkMcpServer({ name: "larder", version: "1.0.0", tools: [count] });
  const prompts = conversation("How many nuts?");
  const more = { mcpServers: { larder }, allowedTools: ["mcp__larder__count"] };
  const messages = query({ prompt: prompts, options: options(more) });
  const [words] = await turn(messages);
  prompts.close();
  assert.deepEqual(calls, ["nuts"]);
  assert.deepEqual(words, ["Seven nuts."]);
});

await run("another model and mode on the way", async () => {
  const prompts = conversation("first");
  const messages = query({ prompt: prompts, options: options() });
  await turn(messages);
  await messages.setModel("claude-haiku-4-5");
  await messages.setPermissionMode("acceptEdits");
  prompts.say("second");
  const [words, result] = await turn(messages);
  prompts.close();
  assert.deepEqual(words, ["Two."]);
  assert.ok("claude-haiku-4-5" in result.modelUsage, JSON.stringify(result.modelUsage));
});

await run("an interrupt", async () => {
  const prompts = conversation("wait");
  const more = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
  const messages = query({ prompt: prompts, options: options(more) });
  while ((await messages.next()).value.type !== "assistant");
  await messages.interrupt();
  const [, result] = await turn(messages);
  prompts.close();
  assert.equal(result.subtype, "error_during_execution");
});

process.exit(failures > 0 ? 1 : 0);
