"""wire - every message that a test put on a wire is valid in its revision's schema.

The test programs left what their engines issued in BUILD/results/*.wire (support/wire.h).
A message is judged by the definition that names its method, by the generic one if none
does. A result is also judged by its method's own definition if the library made it; what
tests let their handlers answer is dummy text and only has to be a result at all. Messages
that differ in numbers and wording only are judged once.
"""
import collections
import json
import os
import sys

from check import BUILD, case, finish, skip

NAME = "messages_are_valid"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
STAMP = "io.modelcontextprotocol/protocolVersion"
OWN_RESULTS = {("server", "initialize"): "InitializeResult",
               ("server", "server/discover"): "DiscoverResult",
               ("server", "ping"): "EmptyResult", ("client", "ping"): "EmptyResult"}
OWN_ERRORS = {-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError",
              -32022: "UnsupportedProtocolVersionError"}
SHOWN = 10  # faults told of one case


def load(revision):
    """{definition: validator} of a revision, or None if its schema is not at hand."""
    path = os.path.join(os.environ["MCP_TEST_DATA"], "mcp-schema", revision + ".json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    where = "$defs" if "$defs" in schema else "definitions"
    check = jsonschema.validators.validator_for(schema)
    return {name: (check({"$schema": schema["$schema"], where: schema[where],
                          "$ref": f"#/{where}/{name}"}), definition)
            for name, definition in schema[where].items()}


class Schemas(dict):
    """Those of all revisions, loaded when first asked for."""

    def __missing__(self, revision):
        self[revision] = load(revision)
        return self[revision]


def named(definitions, method, kind):
    """The definitions of messages of that kind, Request or Notification, and method."""
    return [name for name, (_, definition) in definitions.items() if name.endswith(kind)
            and definition.get("properties", {}).get("method", {}).get("const") == method]


def first(definitions, *names):
    return next(name for name in names if name in definitions)


class Judge:
    def __init__(self):
        self.schemas = Schemas()
        self.asked = {}  # (conversation, asking side, id): (revision, method)
        self.known = set()  # what was judged before, without its numbers
        self.counts = collections.Counter()
        self.faults = collections.defaultdict(list)

    def revision_of_call(self, entry, message):
        meta = message.get("params", {}).get("_meta", {})
        if message["method"] == "initialize":
            return LEGACY
        if isinstance(meta, dict) and isinstance(meta.get(STAMP), str):
            return MODERN  # and if it names another one: who stamps is modern
        if entry["version"] == MODERN and "id" in message:
            return LEGACY if entry["from"] == "server" else MODERN
        return entry["version"] or LEGACY

    def revision_of_answer(self, entry, message):
        """And the method it answers, where that is known."""
        other = "server" if entry["from"] == "client" else "client"
        key = (entry["conversation"], other, json.dumps(message.get("id")))
        revision = method = None
        if entry["conversation"] and key in self.asked:
            revision, method = self.asked.pop(key)
        result = message.get("result", {})
        if not method and "supportedVersions" in result:
            method = "server/discover"
        if not method and "serverInfo" in result:
            method = "initialize"
        if not revision and "resultType" in result:
            revision = MODERN
        if not revision:
            revision = LEGACY if entry["version"] in ("", MODERN) else entry["version"]
        return revision, method

    def call(self, entry, message):
        revision = self.revision_of_call(entry, message)
        definitions = self.schemas[revision]
        if "id" in message:
            key = (entry["conversation"], entry["from"], json.dumps(message["id"]))
            self.asked[key] = revision, message["method"]
        if not definitions:
            return revision, []
        kind = "Request" if "id" in message else "Notification"
        wanted = [(name, message) for name in named(definitions, message["method"], kind)]
        if revision == MODERN and "id" in message:
            wanted.append(("RequestParams", message.get("params")))
        return revision, wanted + [("JSONRPC" + kind, message)]

    def answer(self, entry, message):
        revision, method = self.revision_of_answer(entry, message)
        definitions = self.schemas[revision]
        if not definitions:
            return revision, []
        if "error" in message:
            wanted = [(first(definitions, "JSONRPCErrorResponse", "JSONRPCError"), message)]
            own = OWN_ERRORS.get(message["error"].get("code"))
            return revision, wanted + [(own, message)] * (own in definitions)
        wanted = [(first(definitions, "JSONRPCResultResponse", "JSONRPCResponse"), message)]
        own = OWN_RESULTS.get((entry["from"], method))
        return revision, wanted + [(own, message["result"])] * (own in definitions)

    def judge(self, program, entry):
        message = entry["message"]
        if entry["from"].endswith(", injected"):  # not ours to judge, but its answer is
            self.asked[entry["conversation"], entry["from"].split(",")[0],
                       json.dumps(message["id"])] = None, message["method"]
            return
        kind = self.call if "method" in message else self.answer
        revision, wanted = kind(entry, message)
        self.counts[revision, entry["from"]] += 1
        for name, value in wanted:
            key = revision, name, json.dumps(shape(value), sort_keys=True)
            if key in self.known:
                continue
            self.known.add(key)
            self.faults[revision, entry["from"]] += [
                f"{program}: {name}: {error.message[:200]}\n    {json.dumps(message)[:300]}"
                for error in self.schemas[revision][name][0].iter_errors(value)]


def shape(value, key=None):
    """A value without what no schema distinguishes: which number, which wording."""
    if isinstance(value, dict):
        return {name: shape(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    if isinstance(value, bool) or key == "code":
        return value
    if isinstance(value, (int, float)):
        return type(value)(value > 0) or -type(value)(value < 0)
    wording = ("id", "requestId", "progressToken", "reason", "message")
    return "" if isinstance(value, str) and key in wording else value


def main():
    judge = Judge()
    if not judge.schemas[MODERN] or not judge.schemas[LEGACY]:
        skip(NAME, "MCP_TEST_DATA has no mcp-schema")
        return
    for path in sorted((BUILD / "results").glob("*.wire")):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # a program that crashed may leave half a line
                    judge.judge(path.stem, json.loads(line))
    for revision in (MODERN, LEGACY):
        for side in ("client", "server"):
            if not judge.counts[revision, side]:
                judge.faults[revision, side].append("no test has put a message on a wire")
    for revision, side in sorted(set(judge.counts) | set(judge.faults)):
        name = f"{NAME}.{side}.{revision}"
        if judge.schemas[revision]:
            case(name, judge.faults[revision, side][:SHOWN])
        else:
            print(f"{name}: {judge.counts[revision, side]} messages, but no schema")


try:
    import jsonschema
except ImportError:
    jsonschema = None
if not os.environ.get("MCP_TEST_DATA"):
    skip(NAME, "MCP_TEST_DATA is not set")
elif not jsonschema:
    skip(NAME, f"{sys.executable} has no module jsonschema")
else:
    main()
finish()
