// The official TypeScript SDK against the simulator, whose address is the only argument.
//
// One line per case, `ok` or `FAIL`; exits with 1 if a case failed. The SDK does not validate what it receives, so the
// cases look at the fields themselves.

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';

const baseURL = process.argv[2];
const MODEL = 'claude-opus-5';
const SMALL = 'claude-haiku-4-5'; // 200,000 tokens of window
const MOST_ROUNDS = 10;

const options = { apiKey: 'sdk', baseURL, maxRetries: 0, timeout: 30_000 };
const client = new Anthropic(options);

const HELLO = { model: MODEL, max_tokens: 1000, messages: [{ role: 'user', content: 'Say something.' }] };
const THINKING = { thinking: { type: 'adaptive' } };
const TOOLS = [
  {
    name: 'read_file',
    description: 'Reads a file.',
    input_schema: {
      type: 'object',
      properties: { path: { type: 'string' }, lines: { type: 'integer' } },
      required: ['path', 'lines'],
    },
  },
  {
    name: 'set_mode',
    description: 'Sets the mode.',
    input_schema: {
      type: 'object',
      properties: { mode: { type: 'string', enum: ['on', 'off'] } },
      required: ['mode'],
    },
  },
];

const cases = [];
const test = (name, run) => cases.push([name, run]);
const fault = (text) => ({ headers: { 'x-sim-fault': text } });

/** The error that the call throws, which must be of exactly this class. */
async function raises(kind, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.constructor.name, kind.name, `${error.constructor.name} instead of ${kind.name}: ${error.message}`);
    assert.ok(error instanceof kind);
    return error;
  }
  assert.fail(`no ${kind.name}`);
}

function status(error, code, kind) {
  assert.equal(error.status, code);
  assert.equal(error.type, kind);
  assert.match(error.requestID, /^req_/);
  return error;
}

const text = (message) =>
  message.content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('');

function checkMessage(message, stopReason = 'end_turn') {
  assert.match(message.id, /^msg_/);
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.equal(message.model, MODEL);
  assert.equal(message.stop_reason, stopReason);
  const { input_tokens: plain, cache_creation_input_tokens: written, cache_read_input_tokens: read } = message.usage;
  // A gateway may have marked the prompt for the cache.
  assert.ok(plain + written + read > 0 && message.usage.output_tokens > 1, JSON.stringify(message.usage));
}

/** What the tool says, after checking that its input fits the schema. */
function runTool(call) {
  if (call.name === 'read_file') {
    assert.equal(typeof call.input.path, 'string');
    assert.ok(Number.isInteger(call.input.lines));
  } else {
    assert.equal(call.name, 'set_mode');
    assert.ok(['on', 'off'].includes(call.input.mode));
  }
  return { type: 'tool_result', tool_use_id: call.id, content: `${call.name} is done` };
}

async function toolLoop(ask) {
  const messages = [{ role: 'user', content: 'Do some work.' }];
  let calls = 0;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const message = await ask({ ...HELLO, messages: [...messages], tools: TOOLS });
    messages.push({ role: 'assistant', content: message.content });
    if (message.stop_reason === 'end_turn') {
      checkMessage(message);
      assert.ok(text(message) && calls > 0);
      return messages;
    }
    checkMessage(message, 'tool_use');
    const results = message.content.filter((block) => block.type === 'tool_use').map(runTool);
    calls += results.length;
    messages.push({ role: 'user', content: results });
  }
  assert.fail(`no end after ${MOST_ROUNDS} rounds`);
}

/** Reads a stream event by event into `seen`. */
async function readInto(seen, request, settings) {
  const stream = await client.messages.create({ ...request, stream: true }, settings);
  for await (const event of stream) seen.push(event);
}

// The three retry cases come first: the simulator's configuration names their requests by number.

async function retried(call) {
  const statuses = [];
  const counting = new Anthropic({
    ...options,
    maxRetries: 2,
    fetch: async (...request) => {
      const response = await fetch(...request);
      statuses.push(response.status);
      return response;
    },
  });
  const result = await call(counting.messages);
  return [result, statuses];
}

test('a 429 that happens once is retried after its retry-after', async () => {
  const [message, statuses] = await retried((messages) => messages.create(HELLO));
  checkMessage(message);
  assert.deepEqual(statuses, [429, 200]);
});

test('a 529 that happens once is retried', async () => {
  const [message, statuses] = await retried((messages) => messages.create(HELLO));
  checkMessage(message);
  assert.deepEqual(statuses, [529, 200]);
});

test('a 500 that happens once is retried, streaming', async () => {
  const [message, statuses] = await retried((messages) => messages.stream(HELLO).finalMessage());
  checkMessage(message);
  assert.deepEqual(statuses, [500, 200]);
});

test('a message', async () => {
  const message = await client.messages.create(HELLO);
  checkMessage(message);
  assert.ok(text(message));
  assert.match(message._request_id, /^req_/);
});

test('a streamed message: deltas, snapshot and whole answer agree', async () => {
  const deltas = [];
  const stream = client.messages.stream(HELLO).on('text', (delta) => deltas.push(delta));
  const final = await stream.finalMessage();
  checkMessage(final);
  assert.ok(deltas.length > 1);
  assert.equal(deltas.join(''), text(final));
  assert.equal(await stream.finalText(), text(final));
  const whole = await client.messages.create(HELLO);
  const said = (message) => message.content.map(({ type, text }) => ({ type, text }));
  assert.deepEqual(said(final), said(whole));
  assert.equal(final.stop_reason, whole.stop_reason);
  assert.deepEqual(final.usage, whole.usage);
});

test('streamed thinking: deltas and signature agree with the whole answer', async () => {
  const deltas = [];
  const request = { ...HELLO, ...THINKING };
  const final = await client.messages
    .stream(request)
    .on('thinking', (delta) => deltas.push(delta))
    .finalMessage();
  const whole = await client.messages.create(request);
  const [thought, said] = final.content;
  assert.equal(thought.type, 'thinking');
  assert.equal(deltas.join(''), thought.thinking);
  assert.ok(thought.thinking && thought.signature);
  assert.equal(thought.thinking, whole.content[0].thinking);
  assert.equal(said.text, whole.content[1].text);
  assert.ok(final.usage.output_tokens_details.thinking_tokens > 0);
});

test('a tool loop', () => toolLoop((request) => client.messages.create(request)));

test('a tool loop, streaming', () =>
  toolLoop(async (request) => {
    let json = '';
    const stream = client.messages.stream(request).on('inputJson', (delta) => (json += delta));
    const message = await stream.finalMessage();
    const inputs = message.content.filter((block) => block.type === 'tool_use').map((block) => block.input);
    assert.deepEqual(json ? [JSON.parse(json)] : [], inputs);
    return message;
  }));

test('a tool loop with thinking sent back, streaming', async () => {
  const ask = (request) => client.messages.stream({ ...request, ...THINKING }).finalMessage();
  const messages = await toolLoop(ask);
  assert.ok(messages[1].content.some((block) => block.type === 'thinking'));
});

async function runner(more) {
  const paths = [];
  const tool = betaTool({
    name: 'read_file',
    description: 'Reads a file.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    run: ({ path }) => {
      paths.push(path);
      return 'empty';
    },
  });
  const messages = [{ role: 'user', content: 'Do some work.' }];
  const final = await client.beta.messages
    .toolRunner({ ...HELLO, messages, tools: [tool], max_iterations: MOST_ROUNDS, ...more })
    .runUntilDone();
  assert.equal(final.stop_reason, 'end_turn');
  assert.ok(paths.length > 0 && paths.every((path) => typeof path === 'string'));
}

test("the SDK's tool runner, which gives up threads when they are refused", () => runner({}));

test("the SDK's tool runner, streaming and without threads", () => runner({ stream: true, thread: false }));

test('tokens are counted, and agree with the bill', async () => {
  const request = { model: MODEL, messages: HELLO.messages, tools: TOOLS, system: 'Be brief.' };
  const counted = await client.messages.countTokens(request);
  const { usage } = await client.messages.create({ ...request, max_tokens: 100 });
  assert.ok(counted.input_tokens > 0);
  assert.equal(counted.input_tokens, usage.input_tokens);
});

test('models are listed page by page, and one is retrieved', async () => {
  const ids = [];
  for await (const model of client.models.list({ limit: 3 })) ids.push(model.id);
  assert.ok(ids.length > 3 && ids.includes(MODEL));
  assert.equal(new Set(ids).size, ids.length);
  const model = await client.models.retrieve(MODEL);
  assert.equal(model.id, MODEL);
  assert.equal(model.line, 'opus');
  assert.equal(model.max_input_tokens, 1_000_000);
  assert.equal(model.capabilities.thinking.supported, true);
  assert.equal(model.capabilities.image_input.supported, true);
});

test('a marked prompt is written to the cache, then read', async () => {
  const cache_control = { type: 'ephemeral' };
  const request = { ...HELLO, system: [{ type: 'text', text: 'typescript '.repeat(3000), cache_control }] };
  const first = (await client.messages.create(request)).usage;
  assert.equal(first.cache_read_input_tokens, 0);
  assert.ok(first.cache_creation_input_tokens > 0);
  assert.equal(first.cache_creation.ephemeral_5m_input_tokens, first.cache_creation_input_tokens);
  for (const message of [await client.messages.create(request), await client.messages.stream(request).finalMessage()]) {
    assert.equal(message.usage.cache_read_input_tokens, first.cache_creation_input_tokens);
    assert.equal(message.usage.cache_creation_input_tokens, 0);
    assert.equal(message.usage.input_tokens, first.input_tokens);
  }
});

test('both API versions: sampling parameters exist only in 2023-06-01', async () => {
  const cooler = { ...HELLO, temperature: 0.5 };
  const classic = { headers: { 'anthropic-version': '2023-06-01' } };
  checkMessage(await client.messages.create(HELLO, classic));
  checkMessage(await client.messages.create(cooler, classic));
  const error = await raises(Anthropic.BadRequestError, () => client.messages.create(cooler));
  assert.equal(error.apiMessage, 'temperature: Extra inputs are not permitted');
});

test('the key as x-api-key instead of a bearer token', async () => {
  checkMessage(await client.messages.create(HELLO, { headers: { Authorization: null, 'x-api-key': 'sdk' } }));
});

test('401 without a key: AuthenticationError', async () => {
  const call = () => client.messages.create(HELLO, { headers: { Authorization: null } });
  status(await raises(Anthropic.AuthenticationError, call), 401, 'authentication_error');
});

test('403: PermissionDeniedError', async () => {
  const call = () => client.messages.create(HELLO, fault('403'));
  status(await raises(Anthropic.PermissionDeniedError, call), 403, 'permission_error');
});

test('404 for an unknown model: NotFoundError', async () => {
  const call = () => client.messages.create({ ...HELLO, model: 'claude-nobody' });
  status(await raises(Anthropic.NotFoundError, call), 404, 'not_found_error');
  const look = () => client.models.retrieve('claude-nobody');
  status(await raises(Anthropic.NotFoundError, look), 404, 'not_found_error');
});

test('409: ConflictError', async () => {
  const call = () => client.messages.create(HELLO, fault('409'));
  status(await raises(Anthropic.ConflictError, call), 409, 'conflict_error');
});

test('400 for a prompt over the window: BadRequestError with its figures', async () => {
  const messages = [{ role: 'user', content: 'word '.repeat(200_000) }];
  const call = () => client.messages.create({ model: SMALL, max_tokens: 100, messages });
  const error = status(await raises(Anthropic.BadRequestError, call), 400, 'invalid_request_error');
  const figures = error.apiMessage.match(/^prompt is too long: (\d+) tokens > 200000 maximum$/);
  assert.ok(figures && Number(figures[1]) > 200_000, error.apiMessage);
});

test('400 for five cache markers: BadRequestError', async () => {
  const marked = { type: 'text', text: 'part', cache_control: { type: 'ephemeral' } };
  const messages = [{ role: 'user', content: Array(5).fill(marked) }];
  const call = () => client.messages.create({ ...HELLO, messages });
  const error = status(await raises(Anthropic.BadRequestError, call), 400, 'invalid_request_error');
  assert.equal(error.apiMessage, 'A maximum of 4 blocks with cache_control may be provided. Found 5.');
});

test('400 for a tool call without its result: BadRequestError', async () => {
  const content = [{ type: 'tool_use', id: 'toolu_1', name: 'read_file', input: {} }];
  const messages = [...HELLO.messages, { role: 'assistant', content }, { role: 'user', content: 'Well?' }];
  const call = () => client.messages.create({ ...HELLO, messages, tools: TOOLS });
  const error = status(await raises(Anthropic.BadRequestError, call), 400, 'invalid_request_error');
  assert.match(error.apiMessage, /`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1/);
});

test('400 for a thread: ThreadUnsupportedRequestError', async () => {
  const betas = ['message-threads-2026-08-12'];
  const call = () => client.beta.messages.create({ ...HELLO, betas, thread: { type: 'create' } });
  const error = await raises(Anthropic.ThreadUnsupportedRequestError, call);
  assert.equal(status(error, 400, 'invalid_request_error').errorCode, 'thread_unsupported_request');
});

test('413 for a body over 32 MB: ContentTooLargeError', async () => {
  const messages = [{ role: 'user', content: 'x'.repeat(33 * 1024 * 1024) }];
  const call = () => client.messages.create({ ...HELLO, messages });
  status(await raises(Anthropic.ContentTooLargeError, call), 413, 'request_too_large');
});

test('429: RateLimitError with retry-after', async () => {
  const call = () => client.messages.create(HELLO, fault('429; retry-after=7'));
  const error = status(await raises(Anthropic.RateLimitError, call), 429, 'rate_limit_error');
  assert.equal(error.headers.get('retry-after'), '7');
});

test('429 for the spending limit: EnforcedSpendLimitReachedError, no retry-after', async () => {
  const call = () => client.messages.create(HELLO, fault('spend'));
  const error = await raises(Anthropic.EnforcedSpendLimitReachedError, call);
  assert.ok(error instanceof Anthropic.RateLimitError);
  assert.equal(status(error, 429, 'rate_limit_error').errorCode, 'enforced_spend_limit_reached');
  assert.equal(error.headers.get('retry-after'), null);
});

test('500: InternalServerError', async () => {
  const call = () => client.messages.create(HELLO, fault('500'));
  status(await raises(Anthropic.InternalServerError, call), 500, 'api_error');
});

test('504: GatewayTimeoutError', async () => {
  const call = () => client.messages.create(HELLO, fault('504'));
  status(await raises(Anthropic.GatewayTimeoutError, call), 504, 'timeout_error');
});

test('529: OverloadedError, also when streaming', async () => {
  const call = () => client.messages.create(HELLO, fault('529'));
  const error = status(await raises(Anthropic.OverloadedError, call), 529, 'overloaded_error');
  assert.ok(error instanceof Anthropic.InternalServerError);
  const stream = () => client.messages.stream(HELLO, fault('529')).finalMessage();
  status(await raises(Anthropic.OverloadedError, stream), 529, 'overloaded_error');
});

test('an error event in mid-stream: APIError', async () => {
  const seen = [];
  const error = await raises(Anthropic.APIError, () => readInto(seen, HELLO, fault('error-event; pieces=4')));
  assert.equal(error.type, 'overloaded_error');
  assert.equal(error.apiMessage, 'Overloaded');
  assert.equal(seen[0]?.type, 'message_start');
  const helper = () => client.messages.stream(HELLO, fault('error-event; pieces=4')).finalMessage();
  assert.equal((await raises(Anthropic.APIError, helper)).type, 'overloaded_error');
});

test("a cut stream: the transport's TypeError, AnthropicError from the helper", async () => {
  const seen = [];
  await raises(TypeError, () => readInto(seen, HELLO, fault('cut; bytes=1200')));
  assert.equal(seen[0]?.type, 'message_start');
  assert.notEqual(seen.at(-1).type, 'message_stop');
  const helper = () => client.messages.stream(HELLO, fault('cut; bytes=1200')).finalMessage();
  await raises(Anthropic.AnthropicError, helper);
});

test("a cut answer: the transport's TypeError", async () => {
  await raises(TypeError, () => client.messages.create(HELLO, fault('cut; bytes=100')));
});

test('garbage in a stream: no complete answer', async () => {
  const quiet = client.withOptions({ logLevel: 'off' });
  const seen = [];
  const helper = () =>
    quiet.messages
      .stream(HELLO, fault('garbage; bytes=900'))
      .on('streamEvent', (event) => seen.push(event))
      .finalMessage();
  await raises(Anthropic.AnthropicError, helper);
  assert.equal(seen[0]?.type, 'message_start');
});

test('no first byte in time: APIConnectionTimeoutError', async () => {
  const hasty = client.withOptions({ timeout: 300 });
  const whole = () => hasty.messages.create(HELLO, fault('stall; bytes=0'));
  await raises(Anthropic.APIConnectionTimeoutError, whole);
  const stream = () => hasty.messages.create({ ...HELLO, stream: true }, fault('stall; bytes=0'));
  await raises(Anthropic.APIConnectionTimeoutError, stream);
});

test('a stream that stalls: APIUserAbortError when the caller gives up', async () => {
  const stream = client.messages.stream(HELLO, fault('stall; bytes=900'));
  stream.once('streamEvent', () => stream.abort());
  await raises(Anthropic.APIUserAbortError, () => stream.finalMessage());
});

let failed = 0;
for (const [name, run] of cases) {
  try {
    await run();
    console.log(`ok    typescript: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  typescript: ${name}\n${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
