"""gate - judges what a run of the conformance suite left, more strictly than the suite does

A leg is a role (server or client) at a revision. scripts/conformance leaves in its folder:

    checks/      what the suite wrote: a folder for each scenario, with checks.json
    exits        of a client leg: "STATUS SCENARIO" for each run of the client
    suite.out    what the suite printed

A scenario passes if its result is there, no check of it failed, warned or was skipped, one
succeeded, and the client ended well: by refusing, where it has to. What has to run is read
from the suite's own list of requirements, never from the run. Scored scenarios are in the
bar, and those of ALSO; what waiting.txt names is not, and it is a fault if one of them
passes, or makes the client crash.
There is nothing else.
"""
import collections
import dataclasses
import fnmatch
import json
import pathlib
import re

# Not scored, but in the bar.
ALSO = {"http-header-validation", "http-custom-header-server-validation",
        "json-schema-2020-12", "json-schema-2020-12-preservation",
        "server-session-lifecycle", "server-sse-polling",
        "auth/client-credentials-jwt", "auth/client-credentials-basic",
        "auth/enterprise-managed-authorization", "auth/dpop", "auth/dpop-nonce",
        "auth/wif-jwt-bearer"}
# Where the suite lets a client end with an error, because it has to refuse something.
MAY_REFUSE = {"http-invalid-tool-headers"}
# Where it has to end with that one, because there is nobody there to be believed.
MUST_REFUSE = {"auth/scope-retry-limit", "auth/resource-mismatch",
               "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected",
               "auth/iss-normalized", "auth/metadata-issuer-mismatch"}
REFUSED = 3  # how everything-client ends with MCP_E_AUTH
# Names of checks that a modern client leaves the suite to skip: it sends no such message.
MAY_SKIP = {"ClientMcpMethodHeader_initialize",
            "ClientMcpMethodHeader_notifications_initialized"}
# Is added to nearly every scenario, and succeeds where little was sent.
EVERYWHERE = "wire-schema-valid"
STATUSES = {"SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"}
LATE = (124, 137)  # of timeout(1)
FINDING = 99  # a sanitizer's: it must not look like a client that refuses something
SHOWN = 40  # lines of what a program said
WHOLE = "(whole leg)"
NOT_WAITING = "stale: it passes, and need not wait"
PASS, FAIL, WAIT, STALE = "pass", "fail", "wait", "stale"


@dataclasses.dataclass
class Leg:
    """One run of the suite."""
    role: str
    revision: str
    folder: pathlib.Path
    status: int  # the suite's
    faults: list = dataclasses.field(default_factory=list)  # of the server, for one

    def __str__(self):
        return f"{self.role} {self.revision}"


@dataclasses.dataclass
class Verdict:
    scenario: str
    scored: bool
    state: str
    reason: str = ""


class Broken(Exception):
    """Something is not as the suite leaves it."""


# ---- what has to run -------------------------------------------------------------------


def read_requirements(path, role):
    """{scenario: is it scored} of a role, from the suite's list for a revision."""
    found, section, entry = {}, None, None
    for line in path.read_text().splitlines():
        key, _, value = line.strip(" -").partition(": ")
        if not line or line.lstrip().startswith("#"):
            continue
        if re.fullmatch(r"\w+:", line):
            section = line[:-1]
        elif section in ("server", "client") and re.fullmatch(r"  - [\w./-]+", line):
            found.update({key: True} if section == role else {})
        elif section == "not_scored" and re.fullmatch(r"  - scenario: [\w./-]+", line):
            entry = value
        elif section == "not_scored" and re.fullmatch(r"    leg: (server|client)", line):
            found.update({entry: False} if value == role else {})
        elif section != "not_scored" or not re.match(r"    (reason: |note: |  )", line):
            raise Broken(f"{path}: not understood: {line}")
    if True not in found.values():
        raise Broken(f"{path}: nothing is required of a {role}")
    return found


def read_waiting(path):
    """{pattern: what it waits for}"""
    lines = [line.split(None, 1) for line in path.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    if any(len(line) != 2 for line in lines):
        raise Broken(f"{path}: a pattern without a reason")
    return dict(lines)


def pattern_of(scenario, waiting):
    """The pattern it waits by, or None."""
    return next((one for one in waiting if fnmatch.fnmatchcase(scenario, one)), None)


def find_unused(waiting, scenarios):
    """Words of our lists that no scenario of any leg needs any more."""
    for one in sorted(waiting):
        if not fnmatch.filter(scenarios, one):
            yield f"waiting.txt: {one} matches no scenario"
    for one in sorted(ALSO | MAY_REFUSE | MUST_REFUSE):
        if one not in scenarios:
            yield f"gate.py: there is no scenario {one}"


# ---- what is there ---------------------------------------------------------------------


def read_results(leg):
    """{scenario: [checks.json, ...]}; the suite adds the time to a folder's name."""
    top, found = leg.folder / "checks", collections.defaultdict(list)
    for path in sorted(top.rglob("checks.json")):
        name = path.parent.relative_to(top).as_posix()
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
        found[name.removeprefix("server-") if leg.role == "server" else name].append(path)
    return found


def read_checks(paths):
    if len(paths) != 1:
        raise Broken(f"{len(paths)} results" if paths else "no result")
    try:
        checks = json.loads(paths[0].read_text())
        if isinstance(checks, list) and all(
                check["status"] in STATUSES and isinstance(check["id"], str)
                for check in checks):
            return checks
    except (ValueError, TypeError, KeyError):
        pass
    raise Broken("its checks.json is malformed")


def read_exits(leg):
    """{scenario: status} of the client; of several runs, that of the worst."""
    path, found = leg.folder / "exits", {}
    for line in path.read_text().splitlines() if path.exists() else []:
        status, _, name = line.partition(" ")
        found[name] = max(int(status), found.get(name, 0))
    return found


def end_of(path):
    """The last lines of what a program said, for a report."""
    said = path.read_text(errors="replace").splitlines() if path.exists() else []
    return "".join(f"\n    {line}" for line in said[-SHOWN:])


# ---- judging ---------------------------------------------------------------------------


def fault_of_checks(checks):
    """The first fault, or nothing."""
    for bad in ("FAILURE", "WARNING", "SKIPPED"):
        for check in checks:
            if check["status"] == bad and not (
                    bad == "SKIPPED" and check.get("name") in MAY_SKIP):
                words = check.get("errorMessage") or check.get("description") or ""
                return f"{check['id']}: {bad}: {' '.join(str(words).split())[:300]}"
    if not any(check["status"] == "SUCCESS" and check["id"] != EVERYWHERE
               for check in checks):
        return "no check succeeded"
    return ""


def is_crash(status):
    return status is not None and status not in LATE and (status == FINDING or status > 128)


def fault_of_exit(scenario, status):
    if status is None:
        return "the client did not run to its end"
    if status in LATE:
        return "the client took too long"
    if status > 128:
        return f"the client died of signal {status - 128}"
    if scenario in MUST_REFUSE and status in (0, 1):
        return f"the client did not refuse, its status is {status}"
    if status and not (status == 1 and scenario in MAY_REFUSE
                       or status == REFUSED and scenario in MUST_REFUSE):
        return f"the client exited with status {status}"
    return ""


def fault_of_suite(leg, failed):
    """Its status has to be what its results ask for: 1 says no more than that one failed."""
    path = leg.folder / "suite.out"
    printed = path.read_text(errors="replace") if path.exists() else ""
    if leg.status in LATE:
        return "the suite took too long"
    if not re.search(r"^Total: \d+ passed", printed, re.M):
        return f"the suite did not come to its end: status {leg.status}"
    if leg.status != int(failed):
        return f"the suite's status is {leg.status}, its results say {int(failed)}"
    return ""


def judge_scenario(leg, scenario, scored, paths, waiting, exits):
    """Its verdict, and whether the suite itself takes it for failed."""
    try:
        checks = read_checks(paths)
    except Broken as broken:  # nothing to wait for: something is wrong
        return Verdict(scenario, scored, FAIL, str(broken)), True
    failed = any(check["status"] == "FAILURE" for check in checks)
    fault = fault_of_checks(checks)
    status = exits.get(scenario)
    ending = fault_of_exit(scenario, status) if leg.role == "client" else ""
    if ending:
        said = end_of(paths[0].with_name("stderr.txt"))
        fault = "; ".join(filter(None, (fault, ending))) + said
    pattern = pattern_of(scenario, waiting)
    if is_crash(status):  # that waits for nothing
        state, reason = FAIL, fault
    elif pattern:
        state, reason = WAIT if fault else STALE, pattern if fault else NOT_WAITING
    elif scored or scenario in ALSO:
        state, reason = FAIL if fault else PASS, fault
    else:
        state, reason = FAIL, "unknown: say in gate.py or waiting.txt what it is to us"
    return Verdict(scenario, scored, state, reason), failed


def judge(leg, required, waiting):
    """A verdict for each scenario that is required, and one for each other fault."""
    results, exits = read_results(leg), read_exits(leg)
    verdicts, failed = [], False
    for scenario, scored in required.items():
        verdict, bad = judge_scenario(leg, scenario, scored, results.pop(scenario, []),
                                      waiting, exits)
        verdicts.append(verdict)
        failed = failed or (scored and bad)
    verdicts += [Verdict(name, False, FAIL, "is not in the requirements") for name in results]
    for fault in [fault_of_suite(leg, failed), *leg.faults]:
        verdicts += [Verdict(WHOLE, False, FAIL, fault)] if fault else []
    return verdicts


# ---- telling ---------------------------------------------------------------------------


def passed_of(verdicts, required, scored):
    passed = sum(one.state == PASS and one.scored == scored for one in verdicts)
    return f"{passed} of {list(required.values()).count(scored)}"


def row_of(leg, verdicts, required):
    """Of the table: leg, scored, unscored, waiting."""
    waiting = sum(one.state == WAIT for one in verdicts)
    return (str(leg), passed_of(verdicts, required, True),
            passed_of(verdicts, required, False), str(waiting or ""))


def lines_of(leg, verdicts, waiting):
    """What did not pass, and what waits."""
    for one in verdicts:
        if one.state in (FAIL, STALE):
            yield f"FAIL {leg}: {one.scenario}: {one.reason}"
    counts = collections.Counter(one.reason for one in verdicts if one.state == WAIT)
    for pattern, count in counts.items():
        yield f"waiting {leg}: {pattern} ({count}): {waiting[pattern]}"
