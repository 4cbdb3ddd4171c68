"""The stand-in models' endpoint: OpenAI's embeddings and chat completions on loopback, without weights.

`python -m harness.models PORT_FILE` listens on a free port and writes its number to PORT_FILE.
"""

from __future__ import annotations

import array
import base64
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from harness.answers import Json, Memory, consolidate, embed, extract_facts, fill, first_json, reflect, statement

if TYPE_CHECKING:
    from collections.abc import Sequence

_CITED_IN = {"memories": "memory_ids", "observations": "observation_ids", "mental_models": "mental_model_ids"}


class Handler(BaseHTTPRequestHandler):
    """POST /v1/embeddings and POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"
    refusing: Path
    """While there is this file, the language model refuses to serve, which callers take for final."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match self.path:
            case "/v1/embeddings":
                self._send(embeddings(request))
            case "/v1/chat/completions" if self.refusing.exists():
                self._send({"error": {"message": "This model is not for you."}}, status=403)
            case "/v1/chat/completions":
                self._send(chat_completion(request))
            case _:
                self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name for it
        """Keep quiet about requests; the traceback of a failure still reaches standard error."""

    def _send(self, answer: Json, status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def embeddings(request: Json) -> Json:
    """Answer a request for embeddings."""
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    data: list[Json] = []
    for index, text in enumerate(texts):
        vector: list[float] | str = embed(text)
        if request.get("encoding_format") == "base64":
            vector = base64.b64encode(array.array("f", vector).tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return {"object": "list", "model": request.get("model"), "data": data, "usage": _usage("".join(texts), "")}


def chat_completion(request: Json) -> Json:
    """Answer a request for a chat completion."""
    messages = request["messages"]
    message: Json = {"role": "assistant", "content": None}
    tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or ()}
    choice = request.get("tool_choice")
    if isinstance(choice, dict):
        tools = {choice["function"]["name"]: tools[choice["function"]["name"]]}
    if tools:
        message["tool_calls"] = [_tool_call(messages, tools)]
    else:
        prompt = "\n".join(_text(message) for message in messages if message["role"] == "user")
        message["content"] = _content(prompt, _schema(request))
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if tools else "stop"}],
        "usage": _usage("".join(map(_text, messages)), json.dumps(message)),
    }


def _tool_call(messages: Sequence[Json], tools: dict[str, Json]) -> Json:
    """Search once in each way that is offered, then report readiness where the server asks for that, then answer."""
    used = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    searches = [search for search in ("search_observations", "recall") if search not in used]
    name = next(candidate for candidate in (*searches, "answer_ready", "done", *tools) if candidate in tools)
    question = next(_text(message) for message in messages if message["role"] == "user").split("\n\n## ")[0]
    reflection = reflect(question, _retrieved(messages))
    known: Json = {
        "query": question,
        "reason": "To answer from what the bank holds.",
        "answer": reflection.text,
        "answer_found": bool(reflection.cited),
        "document": {"sections": [{"heading": "", "level": 2, "blocks": [reflection.text]}]},
        **{key: [item.id for item in reflection.cited if item.cited_in == key] for key in _CITED_IN.values()},
    }
    parameters = tools[name].get("parameters", {})
    arguments = {
        key: known[key] if key in known else fill(schema, question)
        for key, schema in parameters.get("properties", {}).items()
        if key in known or key in parameters.get("required", ())
    }
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{len(messages)}", "type": "function", "function": function}


def _retrieved(messages: Sequence[Json]) -> list[Memory]:
    found: dict[str, Memory] = {}
    for message in messages:
        result = first_json(_text(message), "{") if message["role"] == "tool" else None
        for key, cited_in in _CITED_IN.items():
            for item in (result or {}).get(key) or ():
                text = item.get("text") or statement(item.get("content") or "")
                found[item["id"]] = Memory(item["id"], text, cited_in)
    return list(found.values())


def _content(prompt: str, schema: Json | None) -> str:
    if schema is None:
        return "ok"  # what the server's own probe at its start asks for
    properties = schema.get("properties", {})
    if "facts" in properties:
        return json.dumps(extract_facts(prompt))
    if "creates" in properties:
        return json.dumps(consolidate(prompt))
    answer = re.search(r'"""\n(.*?)\n"""', prompt, re.DOTALL)
    return json.dumps(fill(schema, statement(answer[1]) if answer else prompt))


def _schema(request: Json) -> Json | None:
    """Return the caller's own schema where the prompt quotes it, else the server's rendering of what it expects."""
    texts = [_text(message) for message in request["messages"]]
    for heading in ("JSON Schema:\n```json", "JSON matching this schema:"):
        for text in texts:
            _, found, rest = text.partition(heading)
            if found:
                return dict(first_json(rest, "{"))
    strict: Json | None = (request.get("response_format") or {}).get("json_schema", {}).get("schema")
    return strict


def _text(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _usage(prompt: str, completion: str) -> Json:
    counts = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(completion) // 4}
    return counts | {"total_tokens": sum(counts.values())}


if __name__ == "__main__":
    Handler.refusing = Path(sys.argv[1]).with_suffix(".refusing")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Path(sys.argv[1]).write_text(str(server.server_port), encoding="utf-8")
    server.serve_forever()
