"""The official Python SDK against the simulator, whose address is the only argument.

One line per case, `ok` or `FAIL`; exits with 1 if a case failed. The client validates every answer and every event
against the SDK's own types, so a missing or mistyped field fails the case in which it appears.
"""

import asyncio
import json
import re
import sys
import traceback

import anthropic
import httpx2
from anthropic import Anthropic, AsyncAnthropic, beta_tool, omit
from anthropic.types import ThreadUnsupportedRequestError
from anthropic.types.shared import EnforcedSpendLimitReachedError

URL = sys.argv[1]
MODEL = "claude-opus-5"
SMALL = "claude-haiku-4-5"  # 200,000 tokens of window
MOST_ROUNDS = 10

client = Anthropic(api_key="sdk", base_url=URL, max_retries=0, timeout=30, _strict_response_validation=True)

HELLO = {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": "Say something."}]}
THINKING = {"thinking": {"type": "adaptive"}}
TOOLS = [
    {
        "name": "read_file",
        "description": "Reads a file.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
            "required": ["path", "lines"],
        },
    },
    {
        "name": "set_mode",
        "description": "Sets the mode.",
        "input_schema": {
            "type": "object",
            "properties": {"mode": {"type": "string", "enum": ["on", "off"]}},
            "required": ["mode"],
        },
    },
]

CASES = []


def case(name):
    def add(function):
        CASES.append((name, function))
        return function

    return add


def fault(text):
    return {"extra_headers": {"x-sim-fault": text}}


def raises(kind, call):
    """The error that the call raises, which must be of exactly this class."""
    try:
        call()
    except Exception as error:
        assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def status(error, code, kind):
    assert error.status_code == code, error.status_code
    assert error.type == kind, error.type
    assert error.request_id.startswith("req_"), error.request_id
    return error


def read_stream(**more):
    with client.messages.stream(**{**HELLO, **more}) as stream:
        return stream.get_final_message()


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def check_message(message, stop_reason="end_turn"):
    assert message.id.startswith("msg_") and message.role == "assistant" and message.model == MODEL
    assert message.stop_reason == stop_reason, message.stop_reason
    usage = message.usage
    # A gateway may have marked the prompt for the cache.
    prompt = usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    assert prompt > 0 and usage.output_tokens > 1, usage


def run_tool(call):
    """What the tool says, after checking that its input fits the schema."""
    if call.name == "read_file":
        assert isinstance(call.input["path"], str) and isinstance(call.input["lines"], int), call.input
    else:
        assert call.name == "set_mode" and call.input["mode"] in ("on", "off"), call
    return {"type": "tool_result", "tool_use_id": call.id, "content": f"{call.name} is done"}


def tool_loop(ask):
    messages = [{"role": "user", "content": "Do some work."}]
    calls = 0
    for _ in range(MOST_ROUNDS):
        message = ask({**HELLO, "messages": messages, "tools": TOOLS})
        messages.append({"role": "assistant", "content": message.content})
        if message.stop_reason == "end_turn":
            check_message(message)
            assert text_of(message) and calls > 0, (calls, message)
            return messages
        check_message(message, "tool_use")
        results = [run_tool(block) for block in message.content if block.type == "tool_use"]
        calls += len(results)
        messages.append({"role": "user", "content": results})
    raise AssertionError(f"no end after {MOST_ROUNDS} rounds")


# The three retry cases come first: the simulator's configuration names their requests by number.


def retried(call):
    response = call(client.with_options(max_retries=2).messages.with_raw_response)
    assert response.retries_taken == 1, response.retries_taken
    return response.parse()


@case("a 429 that happens once is retried after its retry-after")
def _():
    check_message(retried(lambda messages: messages.create(**HELLO)))


@case("a 529 that happens once is retried")
def _():
    check_message(retried(lambda messages: messages.create(**HELLO)))


@case("a 500 that happens once is retried, streaming")
def _():
    events = list(retried(lambda messages: messages.create(**HELLO, stream=True)))
    assert events[0].type == "message_start" and events[-1].type == "message_stop", events


@case("a message")
def _():
    message = client.messages.create(**HELLO)
    check_message(message)
    assert text_of(message) and message._request_id.startswith("req_")


@case("a streamed message: deltas, snapshot and whole answer agree")
def _():
    with client.messages.stream(**HELLO) as stream:
        deltas = list(stream.text_stream)
        final = stream.get_final_message()
    check_message(final)
    assert len(deltas) > 1 and "".join(deltas) == text_of(final)
    whole = client.messages.create(**HELLO)
    assert final.to_dict()["content"] == whole.to_dict()["content"]
    assert final.stop_reason == whole.stop_reason and final.usage.to_dict() == whole.usage.to_dict()


@case("streamed thinking: deltas and signature agree with the whole answer")
def _():
    final = read_stream(**THINKING)
    whole = client.messages.create(**HELLO, **THINKING)
    thought, said = final.content
    assert thought.type == "thinking" and thought.thinking and thought.signature and said.type == "text"
    assert thought.thinking == whole.content[0].thinking and said.text == whole.content[1].text
    assert final.usage.output_tokens_details.thinking_tokens > 0


@case("the asynchronous client: a message and a stream")
def _():
    async def both():
        async with AsyncAnthropic(api_key="sdk", base_url=URL, max_retries=0, _strict_response_validation=True) as one:
            message = await one.messages.create(**HELLO)
            async with one.messages.stream(**HELLO) as stream:
                return message, [text async for text in stream.text_stream], await stream.get_final_message()

    message, deltas, final = asyncio.run(both())
    check_message(message)
    assert "".join(deltas) == text_of(final) == text_of(message)


@case("a tool loop")
def _():
    tool_loop(lambda request: client.messages.create(**request))


@case("a tool loop, streaming")
def _():
    def ask(request):
        pieces = []
        with client.messages.stream(**request) as stream:
            for event in stream:
                if event.type == "input_json":
                    pieces.append(event.partial_json)
            message = stream.get_final_message()
        inputs = [block.input for block in message.content if block.type == "tool_use"]
        assert [json.loads("".join(pieces))] == inputs if inputs else not pieces, (pieces, inputs)
        return message

    tool_loop(ask)


@case("a tool loop with thinking sent back, streaming")
def _():
    def ask(request):
        with client.messages.stream(**request, **THINKING) as stream:
            return stream.get_final_message()

    messages = tool_loop(ask)
    assert any(block.type == "thinking" for block in messages[1]["content"])


def runner(**more):
    ran = []

    @beta_tool
    def read_file(path: str) -> str:
        """Reads a file."""
        ran.append(path)
        return "empty"

    messages = {"messages": [{"role": "user", "content": "Do some work."}]}
    run = client.beta.messages.tool_runner(
        **{**HELLO, **messages}, tools=[read_file], max_iterations=MOST_ROUNDS, **more
    )
    final = run.until_done()
    assert final.stop_reason == "end_turn" and ran and all(isinstance(path, str) for path in ran), final


@case("the SDK's tool runner, which gives up threads when they are refused")
def _():
    runner()


@case("the SDK's tool runner, streaming and without threads")
def _():
    runner(stream=True, thread=False)


@case("tokens are counted, and agree with the bill")
def _():
    request = {"model": MODEL, "messages": HELLO["messages"], "tools": TOOLS, "system": "Be brief."}
    counted = client.messages.count_tokens(**request).input_tokens
    usage = client.messages.create(**request, max_tokens=100).usage
    assert counted == usage.input_tokens > 0, (counted, usage)


@case("models are listed page by page, and one is retrieved")
def _():
    ids = [model.id for model in client.models.list(limit=3)]
    assert len(ids) > 3 and len(set(ids)) == len(ids) and MODEL in ids, ids
    model = client.models.retrieve(MODEL)
    assert model.id == MODEL and model.line == "opus" and model.max_input_tokens == 1_000_000, model
    assert model.capabilities.thinking.supported and model.capabilities.image_input.supported, model


@case("a marked prompt is written to the cache, then read")
def _():
    system = [{"type": "text", "text": "python " * 3000, "cache_control": {"type": "ephemeral"}}]
    first = client.messages.create(**HELLO, system=system).usage
    assert first.cache_read_input_tokens == 0 and first.cache_creation_input_tokens > 0, first
    assert first.cache_creation.ephemeral_5m_input_tokens == first.cache_creation_input_tokens, first
    for second in (client.messages.create(**HELLO, system=system).usage, read_stream(system=system).usage):
        assert second.cache_read_input_tokens == first.cache_creation_input_tokens, (first, second)
        assert second.cache_creation_input_tokens == 0 and second.input_tokens == first.input_tokens, second


@case("both API versions: sampling parameters exist only in 2023-06-01")
def _():
    cooler = {"extra_body": {"temperature": 0.5}}
    classic = {"extra_headers": {"anthropic-version": "2023-06-01"}}
    check_message(client.messages.create(**HELLO, **classic))
    check_message(client.messages.create(**HELLO, **classic, **cooler))
    error = raises(anthropic.BadRequestError, lambda: client.messages.create(**HELLO, **cooler))
    assert error.api_message == "temperature: Extra inputs are not permitted", error


@case("the key as x-api-key instead of a bearer token")
def _():
    headers = {"Authorization": omit, "x-api-key": "sdk"}
    check_message(client.messages.create(**HELLO, extra_headers=headers))


@case("401 without a key: AuthenticationError")
def _():
    call = lambda: client.messages.create(**HELLO, extra_headers={"Authorization": omit})
    status(raises(anthropic.AuthenticationError, call), 401, "authentication_error")


@case("403: PermissionDeniedError")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("403"))
    status(raises(anthropic.PermissionDeniedError, call), 403, "permission_error")


@case("404 for an unknown model: NotFoundError")
def _():
    call = lambda: client.messages.create(**{**HELLO, "model": "claude-nobody"})
    status(raises(anthropic.NotFoundError, call), 404, "not_found_error")
    status(raises(anthropic.NotFoundError, lambda: client.models.retrieve("claude-nobody")), 404, "not_found_error")


@case("409: ConflictError")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("409"))
    status(raises(anthropic.ConflictError, call), 409, "conflict_error")


@case("400 for a prompt over the window: BadRequestError with its figures")
def _():
    messages = [{"role": "user", "content": "word " * 200_000}]
    call = lambda: client.messages.create(model=SMALL, max_tokens=100, messages=messages)
    error = status(raises(anthropic.BadRequestError, call), 400, "invalid_request_error")
    figures = re.fullmatch(r"prompt is too long: (\d+) tokens > 200000 maximum", error.api_message)
    assert figures and int(figures[1]) > 200_000, error


@case("400 for five cache markers: BadRequestError")
def _():
    marked = {"type": "text", "text": "part", "cache_control": {"type": "ephemeral"}}
    messages = [{"role": "user", "content": [marked] * 5}]
    call = lambda: client.messages.create(**{**HELLO, "messages": messages})
    error = status(raises(anthropic.BadRequestError, call), 400, "invalid_request_error")
    assert error.api_message == "A maximum of 4 blocks with cache_control may be provided. Found 5.", error


@case("400 for a tool call without its result: BadRequestError")
def _():
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}
    messages = [*HELLO["messages"], {"role": "assistant", "content": [call]}, {"role": "user", "content": "Well?"}]
    send = lambda: client.messages.create(**{**HELLO, "messages": messages, "tools": TOOLS})
    error = status(raises(anthropic.BadRequestError, send), 400, "invalid_request_error")
    assert "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1" in error.api_message


@case("400 for a thread: ThreadUnsupportedRequestError")
def _():
    beta = {"betas": ["message-threads-2026-08-12"], "thread": {"type": "create"}}
    call = lambda: client.beta.messages.create(**HELLO, **beta)
    error = status(raises(ThreadUnsupportedRequestError, call), 400, "invalid_request_error")
    assert error.error_code == "thread_unsupported_request", error.body


@case("413 for a body over 32 MB: ContentTooLargeError")
def _():
    messages = [{"role": "user", "content": "x" * (33 * 1024 * 1024)}]
    call = lambda: client.messages.create(**{**HELLO, "messages": messages})
    status(raises(anthropic.ContentTooLargeError, call), 413, "request_too_large")


@case("429: RateLimitError with retry-after")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("429; retry-after=7"))
    error = status(raises(anthropic.RateLimitError, call), 429, "rate_limit_error")
    assert error.response.headers["retry-after"] == "7", error.response.headers


@case("429 for the spending limit: EnforcedSpendLimitReachedError, no retry-after")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("spend"))
    error = status(raises(EnforcedSpendLimitReachedError, call), 429, "rate_limit_error")
    assert error.error_code == "enforced_spend_limit_reached" and "retry-after" not in error.response.headers


@case("500: InternalServerError")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("500"))
    status(raises(anthropic.InternalServerError, call), 500, "api_error")


@case("504: GatewayTimeoutError")
def _():
    call = lambda: client.messages.create(**HELLO, **fault("504"))
    status(raises(anthropic.GatewayTimeoutError, call), 504, "timeout_error")


@case("529: OverloadedError, also when streaming")
def _():
    overloaded = anthropic.OverloadedError
    call = lambda: client.messages.create(**HELLO, **fault("529"))
    error = status(raises(overloaded, call), 529, "overloaded_error")
    assert isinstance(error, anthropic.InternalServerError)
    status(raises(overloaded, lambda: read_stream(**fault("529"))), 529, "overloaded_error")


@case("an error event in mid-stream: APIStatusError")
def _():
    seen = []

    def read():
        with client.messages.stream(**HELLO, **fault("error-event; pieces=4")) as stream:
            seen.extend(stream)

    error = raises(anthropic.APIStatusError, read)
    assert error.type == "overloaded_error" and error.api_message == "Overloaded", error.body
    assert seen and seen[0].type == "message_start", seen


@case("a cut stream: the transport's RemoteProtocolError, after what came before")
def _():
    seen = []

    def read():
        with client.messages.stream(**HELLO, **fault("cut; bytes=1200")) as stream:
            seen.extend(stream)

    raises(httpx2.RemoteProtocolError, read)
    assert seen and seen[0].type == "message_start" and seen[-1].type != "message_stop", seen


@case("a cut answer: APIConnectionError")
def _():
    raises(anthropic.APIConnectionError, lambda: client.messages.create(**HELLO, **fault("cut; bytes=100")))


@case("garbage in a stream: UnicodeDecodeError, after what came before")
def _():
    seen = []

    def read():
        with client.messages.stream(**HELLO, **fault("garbage; bytes=900")) as stream:
            seen.extend(stream)

    raises(UnicodeDecodeError, read)
    assert seen and seen[0].type == "message_start" and seen[-1].type != "message_stop", seen


@case("no first byte in time: APITimeoutError")
def _():
    hasty = client.with_options(timeout=0.3)
    raises(anthropic.APITimeoutError, lambda: hasty.messages.create(**HELLO, **fault("stall; bytes=0")))
    raises(anthropic.APITimeoutError, lambda: hasty.messages.create(**HELLO, **fault("stall; bytes=0"), stream=True))


@case("a stream that stalls: the transport's ReadTimeout")
def _():
    hasty = client.with_options(timeout=0.3)

    def read():
        with hasty.messages.stream(**HELLO, **fault("stall; bytes=900")) as stream:
            stream.until_done()

    raises(httpx2.ReadTimeout, read)


def main():
    failed = 0
    for name, function in CASES:
        try:
            function()
            print(f"ok    python: {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL  python: {name}", flush=True)
            traceback.print_exc(limit=-4, chain=False, file=sys.stdout)
    sys.exit(1 if failed else 0)


main()
