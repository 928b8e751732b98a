"""conformance_gate - each rule of tests/conformance/gate.py, and of what scripts/conformance
notes for it, can fail: shown on results that are made up, without the suite."""
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

from check import ROOT, case, finish, scratch

sys.path.insert(0, str(ROOT / "tests/conformance"))
import gate  # noqa: E402

REQUIREMENTS = """\
# what is required
server:
  - tools-list
  - caching

client:
  - tools_call
  - http-standard-headers
  - http-invalid-tool-headers
  - auth/metadata-default

not_scored:
  - scenario: json-schema-2020-12
    leg: server
    reason: pending
    note: >-
      some words: about it
  - scenario: tasks-lifecycle
    leg: server
    reason: extension
"""
WAITING = "# a comment\n\nauth/*   authorization\ntasks-*  tasks\n"
STAMP = "2026-11-16T14-20-34-427Z"
GOOD, BAD = [("a", "SUCCESS"), ("b", "INFO")], [("a", "SUCCESS"), ("b", "FAILURE")]
WHOLE = gate.WHOLE


def checks_of(pairs):
    return json.dumps([{"id": name, "name": name, "status": status, "errorMessage": "why"}
                       for name, status in pairs])


def judge(role, change=(), waiting=None, exits=(), status=1, faults=(), printed="Total: 1 passed",
          required=None):
    """{scenario: (state, reason)} of a leg where all is well but what is changed; what
    waits has failed, as it does in truth, and so the suite's status may be 1."""
    with scratch() as folder:
        home = pathlib.Path(folder)
        (home / "list").write_text(REQUIREMENTS)
        (home / "waiting").write_text(WAITING)
        required = required or gate.read_requirements(home / "list", role)
        waiting = gate.read_waiting(home / "waiting") if waiting is None else waiting
        results = {name: checks_of(BAD if gate.pattern_of(name, waiting) else GOOD)
                   for name in required} | dict(change)
        for name, text in results.items():
            prefix = "server-" if role == "server" else ""
            path = home / "checks" / f"{prefix}{name}-{STAMP}" / "checks.json"
            path.parent.mkdir(parents=True)
            if text is not None:
                path.write_text(text if isinstance(text, str) else checks_of(text))
        if role == "client":
            statuses = {name: 0 for name in results} | dict(exits)
            (home / "exits").write_text("".join(
                f"{value} {name}\n" for name, value in statuses.items() if value is not None))
        (home / "suite.out").write_text(printed + "\n")
        leg = gate.Leg(role, "2026-07-28", home, status, list(faults))
        verdicts = gate.judge(leg, required, waiting)
        row = gate.row_of(leg, verdicts, required)
        lines = list(gate.lines_of(leg, verdicts, waiting))
    return {one.scenario: (one.state, one.reason) for one in verdicts}, row, lines


def expect(found, **wanted):
    """Faults where a verdict is not as wanted: state, and what its reason begins with."""
    return [f"{name}: {found.get(name)}" for name, (state, reason) in wanted.items()
            if name not in found or found[name][0] != state
            or not found[name][1].startswith(reason)]


def fails(name, role, scenario, reason, status=1, state=gate.FAIL, **options):
    """A case: that scenario, and nothing else, fails for that reason."""
    found, _, lines = judge(role, status=status, **options)
    others = [f"{one}: {verdict}" for one, verdict in found.items()
              if one != scenario and verdict[0] not in (gate.PASS, gate.WAIT)]
    told = any(line.startswith("FAIL") and scenario in line for line in lines)
    case(name, expect(found, **{scenario: (state, reason)}) + others
         + ([] if told else [f"not told of in {lines}"]))


# ---- what has to run


def parse_faults():
    with scratch() as folder:
        path = pathlib.Path(folder, "list")
        path.write_text(REQUIREMENTS)
        server, client = (gate.read_requirements(path, role) for role in ("server", "client"))
        if server != {"tools-list": True, "caching": True, "json-schema-2020-12": False,
                      "tasks-lifecycle": False}:
            yield f"server: {server}"
        if list(client.values()) != [True] * 4:
            yield f"client: {client}"
        for text in ("server:\n  - [tools-list]\n", "server:\n", "client:\n  - a\n",
                     REQUIREMENTS + "more:\n  - b\n"):
            path.write_text(text)
            with contextlib.suppress(gate.Broken):
                yield f"understood: {text} as {gate.read_requirements(path, 'server')}"


case("requirements_are_read_or_refused", list(parse_faults()))
case("words_of_our_lists_are_all_needed", [
    f"not found in {found}" for found in [list(gate.find_unused(
        {"auth/*": "x", "gone-*": "x"}, ["auth/a", *gate.ALSO, *gate.MAY_REFUSE,
                                           *gate.MUST_REFUSE]))]
    if found != ["waiting.txt: gone-* matches no scenario"]])


def waiting_faults():
    with scratch() as folder:
        path = pathlib.Path(folder, "waiting")
        path.write_text(WAITING)
        if gate.read_waiting(path) != {"auth/*": "authorization", "tasks-*": "tasks"}:
            yield f"read as {gate.read_waiting(path)}"
        path.write_text("auth/*\n")
        with contextlib.suppress(gate.Broken):
            yield f"without a reason, read as {gate.read_waiting(path)}"


case("what_waits_is_read_or_refused", list(waiting_faults()))

# ---- what passes


def good_faults():
    found, row, lines = judge("server", status=0)
    yield from expect(found, **{"caching": (gate.PASS, ""), "tools-list": (gate.PASS, ""),
                                "json-schema-2020-12": (gate.PASS, ""),
                                "tasks-lifecycle": (gate.WAIT, "tasks-*")})
    if row != ("server 2026-07-28", "2 of 2", "1 of 2", "1"):
        yield f"row: {row}"
    if lines != ["waiting server 2026-07-28: tasks-* (1): tasks"]:
        yield f"lines: {lines}"


def refusal_faults():
    found, _, _ = judge("client", exits={"http-invalid-tool-headers": 1})
    yield from expect(found, **{"http-invalid-tool-headers": (gate.PASS, "")})
    found, _, _ = judge("client", change={"http-standard-headers": [
        ("a", "SUCCESS"), ("ClientMcpMethodHeader_initialize", "SKIPPED")]})
    yield from expect(found, **{"http-standard-headers": (gate.PASS, "")})


def must_faults():
    for name in gate.MUST_REFUSE:
        found, _, _ = judge("client", required={name: True}, waiting={}, status=0,
                            exits={name: gate.REFUSED})
        yield from expect(found, **{name: (gate.PASS, "")})


case("what_is_well_passes", list(good_faults()))
case("a_client_that_refuses_where_it_must_passes", list(must_faults()))
case("what_the_suite_allows_a_client_passes", list(refusal_faults()))

# ---- what fails

fails("a_failure_fails", "server", "caching", "b: FAILURE: why", change={"caching": BAD})
fails("a_warning_fails", "server", "caching", "b: WARNING", status=0,
      change={"caching": [("a", "SUCCESS"), ("b", "WARNING")]})
fails("a_check_that_was_skipped_fails", "server", "caching", "b: SKIPPED", status=0,
      change={"caching": [("a", "SUCCESS"), ("b", "SKIPPED")]})
fails("an_unscored_scenario_of_the_bar_is_judged_alike", "server", "json-schema-2020-12",
      "b: WARNING", status=0,
      change={"json-schema-2020-12": [("a", "SUCCESS"), ("b", "WARNING")]})
fails("a_missing_result_fails", "server", "caching", "no result", change={"caching": None})
fails("a_missing_result_fails_even_of_what_waits", "server", "tasks-lifecycle", "no result",
      status=0, change={"tasks-lifecycle": None})
fails("no_success_fails", "server", "caching", "no check succeeded", status=0,
      change={"caching": [("a", "INFO")]})
fails("no_check_at_all_fails", "server", "caching", "no check succeeded", status=0,
      change={"caching": "[]"})
fails("a_valid_wire_alone_is_no_success", "server", "caching", "no check succeeded", status=0,
      change={"caching": [("wire-schema-valid", "SUCCESS")]})
for number, text in enumerate(("", "{", "null", "{}", '[{"id": "a"}]', '["a"]',
                               '[{"id": "a", "status": "FINE"}]',
                               '[{"id": 1, "status": "SUCCESS"}]')):
    fails(f"malformed_checks_{number}_fail", "server", "caching", "its checks.json is malformed",
          change={"caching": text})
fails("a_scenario_we_say_nothing_of_fails", "server", "new-one", "unknown", status=0,
      required={"caching": True, "new-one": False})
fails("a_result_that_nobody_asked_for_fails", "server", "surprise", "is not in the", status=0,
      change={"surprise": GOOD})
fails("what_waits_and_passes_is_stale", "server", "tasks-lifecycle",
      "stale: it passes", status=0, state=gate.STALE, change={"tasks-lifecycle": GOOD})
found, _, _ = judge("server", status=0, change={"tasks-lifecycle": [("a", "SKIPPED")]})
case("what_waits_and_proves_nothing_is_not_stale",
     expect(found, **{"tasks-lifecycle": (gate.WAIT, "")}))

fails("a_client_that_failed_fails", "client", "tools_call", "the client exited with status 1",
      exits={"tools_call": 1})
MUST = {"required": {"auth/iss-normalized": True}, "waiting": {}}
fails("a_client_that_does_not_refuse_fails", "client", "auth/iss-normalized",
      "the client did not refuse, its status is 0", status=0, **MUST)
for status in (1, 2):
    fails(f"a_client_that_failed_with_{status}_did_not_refuse", "client",
          "auth/iss-normalized", "the client", status=0, **MUST,
          exits={"auth/iss-normalized": status})
fails("a_client_that_refuses_where_it_must_not_fails", "client", "tools_call",
      "the client exited with status 3", exits={"tools_call": gate.REFUSED})
fails("a_finding_is_no_refusal", "client", "http-invalid-tool-headers",
      "the client exited with status 99", exits={"http-invalid-tool-headers": 99})
fails("a_client_that_crashed_fails", "client", "http-invalid-tool-headers",
      "the client died of signal 11", exits={"http-invalid-tool-headers": 139})
fails("a_client_that_crashed_in_one_of_its_runs_fails", "client", "tools_call",
      "the client died of signal 11", exits={"tools_call": "139 tools_call\n0"})
for status in (gate.FINDING, 139):
    fails(f"a_client_that_crashed_with_{status}_does_not_wait", "client",
          "auth/metadata-default", "b: FAILURE: why; the client",
          exits={"auth/metadata-default": status})
fails("a_client_that_took_too_long_fails", "client", "http-invalid-tool-headers",
      "the client took too long", exits={"http-invalid-tool-headers": 124})
fails("a_client_that_did_not_end_fails", "client", "tools_call", "the client did not run",
      exits={"tools_call": None})

fails("a_suite_that_took_too_long_fails", "server", WHOLE, "the suite took", status=124)
fails("a_suite_that_stopped_short_fails", "server", WHOLE, "the suite did not come", status=0,
      printed="")
fails("a_suite_that_crashed_fails", "server", WHOLE, "the suite's status is 7", status=7)
fails("a_failure_the_suite_hides_in_its_results_fails", "server", WHOLE,
      "the suite's status is 1, its results say 0", status=1)
fails("a_fault_of_the_server_fails", "server", WHOLE, "the server ended", status=0,
      faults=["the server ended"])


# ---- what scripts/conformance notes


def load_script():
    loader = importlib.machinery.SourceFileLoader(
        "conformance", str(ROOT / "scripts/conformance"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("conformance", loader))
    loader.exec_module(module)
    return module


script = load_script()


def faults_of_server(program):
    """What is noted of a server that is this line of shell."""
    with scratch() as folder:
        leg = gate.Leg("server", "2026-07-28", pathlib.Path(folder), 0)
        with script.serve(["sh", "-c", program], leg) as url:
            return url, leg.faults


def server_case(name, program, url, fault):
    found = faults_of_server(program)
    case(name, [] if found[0] == url and [one.split("\n")[0] for one in found[1]] == fault
         else [f"{found}"])


server_case("a_server_that_stops_well_has_no_fault",
            "trap 'kill $!; exit 0' TERM; echo url; sleep 30 & wait", "url", [])
server_case("a_server_that_is_gone_has_a_fault", "echo oh >&2; exit 3", None,
            ["the server told no URL", "the server ended before its time: status 3"])
server_case("a_server_that_stops_badly_has_a_fault",
            "trap 'kill $!; exit 99' TERM; echo url; sleep 30 & wait", "url",
            ["the server stopped with status 99"])
server_case("a_server_that_dies_of_the_signal_has_a_fault", "echo url; exec sleep 30", "url",
            ["the server stopped with status -15"])
script.STOP_SECONDS = 0.5
server_case("a_server_that_does_not_stop_has_a_fault",
            "trap '' TERM; echo url; exec sleep 30", "url",
            ["the server did not stop when told to"])


def exit_of(*command, seconds=60):
    with scratch() as folder:
        wrapper, exits = pathlib.Path(folder, "client"), pathlib.Path(folder, "exits")
        wrapper.write_text(script.CLIENT.format(
            seconds=seconds, command=script.shlex.join(command), exits=exits))
        subprocess.run(["sh", wrapper, "a url"], check=False, stderr=subprocess.DEVNULL,
                       env={**os.environ, "MCP_CONFORMANCE_SCENARIO": "auth/one"})
        leg = gate.Leg("client", "2026-07-28", pathlib.Path(folder), 0)
        return gate.read_exits(leg)


def exit_faults():
    for command, status in ((["true"], 0), (["false"], 1),
                            (["sh", "-c", "kill -SEGV $$"], 139),
                            (["sh", "-c", 'test "$1" = "a url"', "sh"], 0)):
        if (found := exit_of(*command)) != {"auth/one": status}:
            yield f"{command}: {found}"
    if (found := exit_of("sh", "-c", "exec sleep 30", seconds=0.1)) != {"auth/one": 124}:
        yield f"too long: {found}"


case("how_a_client_ended_is_noted", list(exit_faults()))
finish()
