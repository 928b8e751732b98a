"""tree - nothing in the files ties them to one machine or leaves work unnamed."""
import re
from check import ROOT, case, finish, tracked

RULES = {
    "no_mirror_host_names":
        r"\b(?:deb|ftp|archive|security|registry|mirrors?|packages?|pypi|snapshot)"
        r"[\w-]*\.[\w.-]*\b(?:org|com|net|io)\b",
    "no_paths_of_one_machine": r"(?<![\w.}>])/(?:home|root|work|Users|mnt)/\w+",
    "no_open_work_without_an_issue": r"\b(?:TO" r"DO|FIX" r"ME|X{3})\b(?! ?\(#\d+\))",
}


def texts():
    for path in tracked("*", ".*", "*/**/*", ".ci/*"):
        if path.parts[:2] == ("fuzz", "corpus"):
            continue
        try:
            yield path, (ROOT / path).read_text().splitlines()
        except UnicodeDecodeError:
            continue


files = list(dict(texts()).items())
for name, pattern in RULES.items():
    case(name, [f"{path}:{number}: {line.strip()}" for path, lines in files
                for number, line in enumerate(lines, 1) if re.search(pattern, line)])
finish()
