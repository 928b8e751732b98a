"""check - the frame of every check: cases with verdicts, as the C tests have them."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
CC = os.environ.get("CC", "cc")
_verdicts = []


def case(name, faults):
    """One case; it passes if there is no fault. A fault is a sentence."""
    _verdicts.append((name, "FAIL" if faults else "PASS"))
    for fault in faults:
        print(f"{name}: {fault}")


def skip(name, reason):
    """One case that cannot be decided here."""
    _verdicts.append((name, "SKIP"))
    print(f"{name}: skipped: {reason}")


def finish():
    path = os.environ.get("MCP_TEST_RESULTS")
    if path:
        lines = [f"{name}\t{verdict}\n" for name, verdict in _verdicts]
        pathlib.Path(path).write_text("".join(lines))
    sys.exit(any(verdict == "FAIL" for _, verdict in _verdicts))


def run(*command, **options):
    """Runs a command; returns (status, everything it printed)."""
    done = subprocess.run([str(word) for word in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout


def faults_of(*command, **options):
    status, output = run(*command, **options)
    return [f"{' '.join(map(str, command))}\n{output}"] if status else []


def scratch():
    return tempfile.TemporaryDirectory(prefix="mcp-check-")


def tracked(*globs):
    """Files of the tree, as paths from its root, build folders left out."""
    for pattern in globs:
        for path in sorted(ROOT.glob(pattern)):
            inside = path.relative_to(ROOT)
            if path.is_file() and not inside.parts[0].startswith(("build", ".git")):
                yield inside
