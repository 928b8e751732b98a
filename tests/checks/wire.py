"""wire - every message that a test put on a wire is valid in its revision's schema.

The test programs left what their engines issued in BUILD/results/*.wire (support/wire.h).
A message is judged by the definition that names its method, by the generic one if none
does. A result is also judged by its method's own definition if the library made it; what
tests let their handlers answer is dummy text and only has to be a result at all. Messages
that differ in numbers and wording only are judged once.

The schemas are ours, in tests/data/schema. If MCP_TEST_DATA has the published ones, a
message has to be valid in both.
"""
import collections
import json
import os
import pathlib
import sys

from check import BUILD, ROOT, case, finish, skip

NAME = "messages_are_valid"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
STAMP = "io.modelcontextprotocol/protocolVersion"
OWN_RESULTS = {("server", "initialize"): "InitializeResult",
               ("server", "server/discover"): "DiscoverResult",
               ("server", "ping"): "EmptyResult", ("client", "ping"): "EmptyResult"}
OWN_ERRORS = {-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError",
              -32022: "UnsupportedProtocolVersionError"}
SHOWN = 10  # faults told of one case


def folders():
    """Where the schemas of revisions are."""
    yield ROOT / "tests/data/schema"
    if os.environ.get("MCP_TEST_DATA"):
        yield pathlib.Path(os.environ["MCP_TEST_DATA"]) / "mcp-schema"


def load(path):
    """{definition: validator} of the schema in a file."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    where = "$defs" if "$defs" in schema else "definitions"
    check = jsonschema.validators.validator_for(schema)
    return {name: (check({"$schema": schema["$schema"], where: schema[where],
                          "$ref": f"#/{where}/{name}"}), definition)
            for name, definition in schema[where].items()}


class Schemas(dict):
    """The definitions of each schema of a revision, loaded when first asked for."""

    def __missing__(self, revision):
        paths = [folder / f"{revision}.json" for folder in folders()]
        self[revision] = [load(path) for path in paths if path.exists()]
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
        """The revision, and what a schema's definitions have to judge."""
        revision = self.revision_of_call(entry, message)
        kind = "Notification"
        if "id" in message:
            key = (entry["conversation"], entry["from"], json.dumps(message["id"]))
            self.asked[key] = revision, message["method"]
            kind = "Request"

        def wanted(definitions):
            for name in named(definitions, message["method"], kind):
                yield name, message
            if revision == MODERN and kind == "Request":
                yield "RequestParams", message.get("params")
            yield "JSONRPC" + kind, message
        return revision, wanted

    def answer(self, entry, message):
        revision, method = self.revision_of_answer(entry, message)

        def wanted(definitions):
            if "error" in message:
                yield first(definitions, "JSONRPCErrorResponse", "JSONRPCError"), message
                own, value = OWN_ERRORS.get(message["error"].get("code")), message
            else:
                yield first(definitions, "JSONRPCResultResponse", "JSONRPCResponse"), message
                own, value = OWN_RESULTS.get((entry["from"], method)), message["result"]
            if own in definitions:
                yield own, value
        return revision, wanted

    def judge(self, program, entry):
        message = entry["message"]
        if entry["from"].endswith(", injected"):  # not ours to judge, but its answer is
            self.asked[entry["conversation"], entry["from"].split(",")[0],
                       json.dumps(message["id"])] = None, message["method"]
            return
        kind = self.call if "method" in message else self.answer
        revision, wanted = kind(entry, message)
        self.counts[revision, entry["from"]] += 1
        for number, definitions in enumerate(self.schemas[revision]):
            for name, value in wanted(definitions):
                key = revision, number, name, json.dumps(shape(value), sort_keys=True)
                if key in self.known:
                    continue
                self.known.add(key)
                self.faults[revision, entry["from"]] += [
                    f"{program}: {name}: {error.message[:200]}\n"
                    f"    {json.dumps(message)[:300]}"
                    for error in definitions[name][0].iter_errors(value)]


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
    for revision in (MODERN, LEGACY):
        assert len(judge.schemas[revision]) == len(list(folders())), revision
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
if jsonschema:
    main()
else:
    skip(NAME, f"{sys.executable} has no module jsonschema")
finish()
