"""examples - each example runs as its first comment says, and ends well.

Those that begin with build/bin/ are run so, without input; what serves a port until it is
told to stop is for the tests of HTTP."""
import re
import subprocess
from check import BUILD, ROOT, case, finish, run, tracked

COMMAND = re.compile(r"^ \*     (build/bin/.*)$", re.M)
SERVES = ("example-http-mount", "example-http-client") # one of them needs another's URL
SECONDS = 120


def faults_of_line(line):
    words = [str(BUILD / word[len("build/"):]) if word.startswith("build/") else word
             for word in line.split()]
    try:
        status, output = run(*words, stdin=subprocess.DEVNULL, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return ["it does not end"]
    return [f"status {status}\n{output}"] if status or not output else []


lines = {line for path in tracked("examples/*.c")
         for line in COMMAND.findall((ROOT / path).read_text())}
for line in sorted(lines):
    programs = [word.rpartition("/")[2] for word in line.split()]
    if not set(programs) & set(SERVES):
        case("_".join(programs).replace("-", "_"), faults_of_line(line))
finish()
