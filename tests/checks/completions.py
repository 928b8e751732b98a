"""completions - what the three shells offer, asked in the shells themselves.

In a home whose .cursor/mcp.json has the probe server as `notes`, by its URL: a completion
starts nothing. A shell that is not there is passed over."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
from check import BUILD, case, finish, run, scratch, skip

MADE = BUILD / "src/cli/made"
PROBE = BUILD / "bin/probe-server"
SOCKET = "'unix:a socket'"  # a target with a blank
# What is typed, and the one word that it becomes.
CASES = {
    "a_command": ("mcpctl ca", "call"),
    "a_command_behind_options": ("mcpctl --era legacy too", "tools"),
    "a_choice": ("mcpctl --era mod", "modern"),
    "a_common_option": ("mcpctl call --no-inp", "--no-input"),
    "an_own_option": ("mcpctl call --arg", "--args"),
    "a_command_for_help": ("mcpctl help ben", "bench"),
    "a_configured_server": ("mcpctl call not", "notes"),
    "a_tool": ("mcpctl call notes sta", "stats"),
    "a_tool_behind_options": ("mcpctl call --era auto notes sta", "stats"),
    "a_tool_of_a_socket": (f"mcpctl call {SOCKET} sta", "stats"),
    "an_argument": ("mcpctl call notes echo te", "text="),
    "a_folder": ("mcpctl --cwd fold", "folder"),
}

BASH = """
. "$MADE/mcpctl.bash"
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_mcpctl mcpctl
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Behind a URI there are colons, at which bash cuts the word: it replaces the last part.
BASH_CUT = {
    "a_resource": (["mcpctl", "read", "notes", "watch", ":", "//2"], "//2"),
    "a_choice_behind_an_equals_sign": (["mcpctl", "--era", "=", "leg"], "legacy"),
}
# A name that would end the quotes it is completed in, and run something.
EVIL = "evil'\"$(id)"
BASH_EVIL = {
    "without_quotes": ("", "evil\\'\\\"\\$\\(id\\)"),
    "in_single_quotes": ("'", ""),
    "in_double_quotes": ('"', ""),
}
FISH = 'source "$MADE/mcpctl.fish"; complete -C $argv[1]'
ZSHRC = """
fpath=($MADE $fpath)
autoload -Uz compinit
compinit -u -D
unsetopt auto_menu beep
show() { print -r -- "<<$BUFFER>>" }
zle -N show
bindkey '^X' show
"""
ZSH = """
zmodload zsh/zpty
zpty z zsh -i
zpty -w z "print rea''dy"
zpty -r -m z line '*ready*'
for typed; do
    zpty -w -n z "$typed"$'\\t\\C-x'
    zpty -r -m z line '*<<*>>*'
    print -r -- ${${line##*<<}%%>>*}
    zpty -w -n z $'\\C-u'
done
zpty -d z
"""


def split(line):
    """As bash would: only SOCKET has a blank in a word."""
    return [SOCKET if word == "\0" else word for word in
            line.replace(SOCKET, "\0").split(" ")]


@contextlib.contextmanager
def serving(*options):
    """The first line of a probe server."""
    server = subprocess.Popen([PROBE, *options], stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()


def bash_faults(line, words, expected, env):
    status, output = run("bash", "-c", BASH, "bash", line, *words, env=env, cwd=env["HOME"])
    words = [word.rstrip("/") for word in output.split()]
    return [] if status == 0 and words == [expected] else [f"{line!r}: {output!r}"]


def in_bash(env):
    for name, (line, expected) in CASES.items():
        case(f"bash_completes_{name}", bash_faults(line, split(line), expected, env))
    for name, (words, expected) in BASH_CUT.items():
        line = " ".join(words).replace(" : ", ":").replace(" = ", "=")
        case(f"bash_completes_{name}", bash_faults(line, words, expected, env))
    for name, (quote, expected) in BASH_EVIL.items():
        line = f"mcpctl call {quote}ev"
        status, output = run("bash", "-c", BASH, "bash", line, *line.split(" "), env=env,
                             cwd=env["HOME"])
        case(f"bash_obeys_no_name_{name}",
             [] if status == 0 and output.strip() == expected else [output])
    _, output = run("bash", "-c", BASH, "bash", "mcpctl ", "mcpctl", "", env=env)
    case("bash_offers_no_hidden_command",
         [output] if "generate" in output.split() or "call" not in output.split() else [])


def in_fish(env):
    for name, (line, expected) in CASES.items():
        status, output = run("fish", "-c", FISH, line, env=env, cwd=env["HOME"])
        words = [word.split("\t")[0].rstrip("/") for word in output.splitlines()]
        case(f"fish_completes_{name}", [] if status == 0 and words == [expected] else
             [f"{line!r}: {output!r}"])


def in_zsh(env):
    """All in one session: it takes long to start."""
    (pathlib.Path(env["HOME"]) / ".zshrc").write_text(ZSHRC)
    status, output = run("zsh", "-f", "-c", ZSH, "zsh", *(line for line, _ in CASES.values()),
                         env={**env, "ZDOTDIR": env["HOME"]}, cwd=env["HOME"], timeout=120)
    lines = output.splitlines()
    for i, (name, (line, expected)) in enumerate(CASES.items()):
        found = lines[i] if i < len(lines) else f"nothing ({status})"
        whole = line[:line.rindex(" ") + 1] + expected
        case(f"zsh_completes_{name}", [] if found.rstrip(" =/") == whole.rstrip("=") else
             [f"{line!r}: {found!r}"])


def in_all(folder, url):
    home = pathlib.Path(folder)
    (home / "folder").mkdir()
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text(json.dumps(
        {"mcpServers": {"notes": {"url": url}, EVIL: {"command": "x"}}}))
    env = {**os.environ, "HOME": folder, "MADE": str(MADE), "TERM": "dumb",
           "PATH": f"{BUILD}/bin:{os.environ['PATH']}",
           "MCPCTL_TIMES": "words=60000"}  # however busy the machine is (src/cli/times.h)
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        env[f"XDG_{name}_HOME"] = folder
    for shell, cases in (("bash", in_bash), ("fish", in_fish), ("zsh", in_zsh)):
        if shutil.which(shell):
            cases(env)
        else:
            skip(shell, f"there is no {shell}")


with scratch() as folder, serving("--http", "127.0.0.1:0") as url, \
        serving("--unix", f"{folder}/a socket"):
    in_all(folder, url)
finish()
