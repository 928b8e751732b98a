"""man - the man pages are well formed, and have all that help and the headers have."""
import re
import shutil
from check import BUILD, ROOT, case, finish, run, skip, tracked

MADE = BUILD / "src/cli/made"
MCPCTL = BUILD / "bin/mcpctl"
# scdoc writes a paragraph after each heading, which mandoc then leaves out.
ALLOWED = re.compile(r"WARNING: skipping paragraph macro: ")


def lint(page):
    _, output = run("mandoc", "-T", "lint", "-W", "warning", page)
    return [line for line in output.splitlines() if not ALLOWED.search(line)]


def plain(page):
    """The page as it is read, its lines in one and blanks once."""
    _, output = run("mandoc", "-T", "ascii", "-O", "width=400", page)
    return re.sub(r"\s+", " ", re.sub(r".\x08", "", output))


def help_of(*words):
    return run(MCPCTL, "help", *words)[1]


def commands():
    listed = help_of().split("\nCommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+)", listed, re.M)


def told(text):
    """What help says in one piece: names of options, and examples."""
    yield from re.findall(r"^  (--[\w-]+)", text, re.M)
    for lines in re.findall(r"^Examples:\n((?:  .*\n)+)", text, re.M):
        yield from map(str.strip, lines.splitlines())
    yield from (line.strip() for line in re.findall(r"^    \S.*$", text, re.M))


def page_faults():
    page = plain(MADE / "mcpctl.1")
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS",
                    "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"):
        if f" {section} " not in page:
            yield f"mcpctl.1 has no section {section}"
    texts = {"mcpctl": help_of(), **{name: help_of(name) for name in commands()}}
    for name, text in texts.items():
        if name != "mcpctl" and f" mcpctl {name} " not in page:
            yield f"mcpctl.1 does not have the command {name}"
        for piece in told(text):
            if re.sub(r"\s+", " ", piece) not in page:
                yield f"mcpctl.1 does not have, of {name}: {piece}"


def functions(header):
    return re.findall(r"^MCP_API\b[^;]*?\b(mcp_\w+)\(", (ROOT / header).read_text(), re.M)


def header_faults(header):
    page = MADE / f"man3/mcp_{header.stem}.3"
    if not page.exists():
        return [f"{page.name} does not exist"]
    text, faults = plain(page), lint(page)
    for name in functions(header):
        alias = MADE / f"man3/{name}.3"
        if text.count(f"{name}(") < 2:  # its prototype, and its contract
            faults.append(f"{page.name} does not tell of {name}")
        if not alias.exists() or alias.read_text() != f".so man3/{page.name}\n":
            faults.append(f"{alias.name} does not lead to {page.name}")
    return faults


if not (MADE / "mcpctl.1").exists() or not shutil.which("mandoc"):
    skip("man_pages", "needs scdoc, and then mandoc")
else:
    case("mcpctl_1_is_well_formed", lint(MADE / "mcpctl.1"))
    case("mcpctl_1_has_all_that_help_has", list(page_faults()))
    for header in tracked("include/mcp/*.h"):
        case(f"{header.stem}_h_has_its_page", header_faults(header))
finish()
