"""terminal - mcpctl in a real terminal (tmux): the bar, Ctrl-C, questions, the shell.

Each case is a session of tmux, on a socket of its own, with one shell in it: keys are typed,
and the screen is read until it shows what it should. Nothing waits for a fixed time."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
from check import BUILD, case, finish, scratch, skip

BIN = BUILD / "bin"
PATIENCE = 60  # seconds until the screen must show something
# mcpctl and its servers have as long for each step (src/cli/times.h)
TIMES = "opening=60000 confirm=60000 end=60000 exit=60000 lookup=60000"


class Terminal:
    def __init__(self, name, home):
        self.socket = f"mcp-check-{os.getpid()}-{name}"
        self.home = pathlib.Path(home)
        environment = {"HOME": home, "TERM": "xterm-256color", "PATH": os.environ["PATH"],
                       "LANG": "C.UTF-8", "PS1": "$ ", "MCPCTL_TIMES": TIMES}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40",
                  "env", "--default-signal", "-i", *(f"{k}={v}" for k, v in environment.items()),
                  "/bin/sh", cwd=BIN)
        self.see(r"^\$")

    def tmux(self, *words, **options):
        return subprocess.run(["tmux", "-L", self.socket, *map(str, words)], check=True,
                              text=True, stdout=subprocess.PIPE, **options).stdout

    def type(self, text, enter=True):
        self.tmux("send-keys", "-l", text)
        if enter:
            self.press("Enter")

    def press(self, key):
        self.tmux("send-keys", key)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-S", "-")  # from its first line

    def see(self, pattern):
        """Until it is there; the whole screen, or an AssertionError that shows it."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            screen = self.screen()
            if re.search(pattern, screen, re.M):
                return screen
            time.sleep(0.02)
        raise AssertionError(f"the screen never showed {pattern!r}:\n{screen.rstrip()}")

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], check=False,
                       stderr=subprocess.DEVNULL)


def progress_is_a_bar(t):
    t.type("./mcpctl call ./probe-server count to=100000 delay_ms=20; echo exit $?")
    t.see(r"^\[.*\] +\d+% ")
    t.press("C-c")
    screen = t.see(r"^exit 130")
    assert "canceled tools/call count" in screen, screen
    assert not re.search(r"^\[=.*\] +\d+%", screen, re.M), "the bar stayed:\n" + screen


def ctrl_c_cancels_and_says_so(t):
    t.type("./mcpctl --trace call ./probe-server hang seconds=600; echo exit $?")
    t.see('"tools/call"')
    t.press("C-c")
    screen = t.see(r"^exit 130")
    assert '"notifications/cancelled"' in screen, screen
    assert "canceled tools/call hang" in screen, screen
    assert "and the server answers" in screen, screen


def results_are_for_people(t):
    t.type("clear; ./mcpctl tools ./probe-server; ./mcpctl call ./probe-server echo text=hello")
    screen = t.see(r"^hello$")
    assert re.search(r"^NAME +ARGUMENTS +DESCRIPTION", screen, re.M), screen
    assert re.search(r"^add +a b +Add two numbers", screen, re.M), screen


def missing_arguments_are_asked_for(t):
    t.type("./mcpctl call ./probe-server echo; echo exit $?")
    t.see("what to say")
    t.type("typed by hand")
    screen = t.see(r"^exit 0")
    assert re.search(r"^typed by hand$", screen, re.M), screen


def a_form_is_filled_in(t):
    t.type("./mcpctl call ./example-asking book; echo exit $?")
    t.see("Tell me about your trip")
    t.see("Where to")
    t.type("Oslo")
    t.see("[Ss]eat")
    t.type("window")
    t.see("days")
    t.type("3")
    t.see(r"y/n|\[y|accept|Send")
    t.type("y")
    screen = t.see(r"^exit 0")
    assert "Oslo, window seat, 3 days" in screen, screen


def ctrl_c_ends_a_question(t):
    t.type("./mcpctl call ./example-asking book; echo exit $?")
    t.see("Where to")
    t.press("C-c")
    t.see(r"^exit (130|6)")
    t.type("echo typed")  # the terminal echoes again
    t.see(r"^\$ echo typed$")


def an_input_of_a_configuration_is_asked_for(t):
    folder = t.home / ".config/Code/User"
    folder.mkdir(parents=True)
    (folder / "mcp.json").write_text(json.dumps({
        "inputs": [{"type": "promptString", "id": "key", "password": True}],
        "servers": {"shop": {"command": "sh", "env": {"KEY": "${input:key}"},
                             "args": ["-c", f"echo k=${{#KEY}} >&2; exec {BIN}/probe-server"]}}}))
    t.type("./mcpctl --trace ping shop; echo exit $?")
    t.see(r"^key> *$")
    t.type("unseen")
    screen = t.see(r"^exit 0")
    assert re.search(r"^k=6$", screen, re.M) and "unseen" not in screen, screen


def the_doctor_shows_what_it_is_at(t):
    t.type("./mcpctl doctor 'sleep 600'; echo exit $?")
    t.see(r"^. 1  Answers the handshake")
    t.press("C-c")
    screen = t.see(r"^exit 130")
    assert not re.search(r"^. \d+  ", screen, re.M), "the bar stayed:\n" + screen


def the_shell_completes_and_cancels(t):
    t.type("./mcpctl sh ./probe-server; echo exit $?")
    t.see(r">$")
    t.type("ca", enter=False)
    t.press("Tab")
    t.see(r"> call$")
    t.type("hang_", enter=False)
    t.press("Tab")
    t.see(r"> call hang_async")
    t.type("sec", enter=False)
    t.press("Tab")
    t.see(r"hang_async seconds=$")
    t.type("600 &")
    t.see(r"^\[1\]")
    t.type("jobs")
    t.see(r"\[1\].*hang_async")
    t.type("kill %1")
    t.see("cancel")
    stats_when(t, lambda s: s["live_handlers"] == 0)
    t.type("call count to=100000 delay_ms=20")
    t.see(r"^\[.*\] +\d+% ")
    t.press("C-c")
    t.see("canceled tools/call count.*and the server answers")
    t.type("call count to=100000 delay_ms=20 &")
    t.see(r"^\[1\] call count")
    t.type("fg")
    t.see(r"^\[.*\] +\d+% ")
    t.press("C-c")
    t.see(r"^\[1\] canceled: call count")
    t.type("call echo text=still-here")
    t.see(r"^still-here$")
    t.type("quit")
    t.see(r"^exit \d+")


def ctrl_z_stops_the_shell_and_fg_goes_on(t):
    t.type("./mcpctl sh ./probe-server")
    t.see(r"^probe-server>$")
    t.type("call echo te", enter=False)
    t.see(r"call echo te$")
    t.press("C-z")
    t.see(r"Stopped")
    t.type("stty -a; echo typed")  # the terminal is as it was
    screen = t.see(r"^typed$")
    assert "susp = ^Z" in screen and " icanon" in screen and " echo " in screen, screen
    t.type("fg")
    t.see(r"(?s)\$ fg\n.*probe-server> call echo te")
    t.type("xt=after-it")
    t.see(r"^after-it$")
    t.type("quit")
    t.see(r"> quit\n\$")


def stats_when(t, is_so):
    """Asks the shell for the server's stats until they are so: a handler that was told to
    stop needs a moment. Lines that the terminal has broken are put together again."""
    def seen():
        joined = t.screen().replace("\n", "")
        return re.findall(r'"structuredContent": *(\{[^{}]*\})', joined)

    stats = None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before = len(seen())
        t.type("call stats --json")
        while len(seen()) <= before and time.monotonic() < until:
            time.sleep(0.02)
        stats = json.loads((seen() or ["null"])[-1])
        if stats and is_so(stats):
            return stats
    raise AssertionError(f"the server says {stats}")


def over_stdio_nothing_is_left(t, era):
    t.type(f"./mcpctl --trace --era {era} sh ./probe-server; echo exit $?")
    t.see(r">$")
    t.type("call hang seconds=600")
    t.see('"tools/call"')
    t.press("C-c")
    t.see("canceled tools/call hang: notifications/cancelled sent, and the server answers")
    t.type("clear", enter=False)
    t.press("C-c")  # clears the line, and no more
    stats = stats_when(t, lambda s: s["live_handlers"] == 0 and s["pool_free"] == 10)
    assert stats["started"] == stats["cancelled"], stats  # 0: it had not begun yet
    t.type("quit")
    t.see(r"^exit \d+")


def over_stdio_nothing_is_left_in_the_modern_era(t):
    over_stdio_nothing_is_left(t, "modern")


def over_stdio_nothing_is_left_in_the_legacy_era(t):
    over_stdio_nothing_is_left(t, "legacy")


CASES = [over_stdio_nothing_is_left_in_the_modern_era,
         over_stdio_nothing_is_left_in_the_legacy_era,
         results_are_for_people, progress_is_a_bar, ctrl_c_cancels_and_says_so,
         missing_arguments_are_asked_for, a_form_is_filled_in, ctrl_c_ends_a_question,
         an_input_of_a_configuration_is_asked_for, the_doctor_shows_what_it_is_at,
         the_shell_completes_and_cancels, ctrl_z_stops_the_shell_and_fg_goes_on]


def play(test, home):
    terminal = Terminal(test.__name__, home)
    try:
        test(terminal)
        return []
    except (AssertionError, subprocess.CalledProcessError) as fault:
        return [str(fault)]
    finally:
        terminal.close()


if not shutil.which("tmux"):
    skip("terminal", "there is no tmux (scripts/setup test installs it)")
else:
    with scratch() as home:
        for test in CASES:
            case(test.__name__, play(test, home))
finish()
