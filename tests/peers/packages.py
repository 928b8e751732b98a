"""packages - what tests need from the npm registry, in the versions of lock files

A lock file is made by "npm install --package-lock-only --ignore-scripts" beside its
package.json, with omit-lockfile-registry-resolved=true: it names no registry. One for which
the registry did not have all optional packages, for other systems too, is refused by
"npm ci": in programs/package.json an override names a version that has them all.
"""
import fcntl
import filecmp
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
OLDEST_NODE = 22  # what the inspector and the conformance suite need


def install(source, home):
    """The packages that source/package-lock.json names, in home/node_modules. Asks nothing
    of the registry if that lock file was installed before."""
    lock, installed = source / "package-lock.json", home / "installed"
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "installing", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # scripts that share a build may run at once
        if installed.exists() and filecmp.cmp(lock, installed, shallow=False):
            return
        installed.unlink(missing_ok=True)
        for path in source.glob("package*.json"):
            shutil.copy(path, home)
        subprocess.run(["npm", "ci", "--prefix", home, "--ignore-scripts", "--no-audit",
                        "--no-fund", "--loglevel", "error"], check=True, timeout=600,
                       stdin=subprocess.DEVNULL,
                       env={**os.environ, "NPM_CONFIG_UPDATE_NOTIFIER": "false"})
        shutil.copy(lock, installed)


def find_node(build):
    """The folder of a node that is new enough: the system's, or one in the build."""
    system = shutil.which("node")
    major = subprocess.run([system, "-p", "process.versions.node.split('.')[0]"], check=True,
                           text=True, stdout=subprocess.PIPE).stdout
    if int(major) >= OLDEST_NODE:
        return pathlib.Path(system).parent
    home = build / "peers/node"
    install(HERE / "node", home)
    return home / "node_modules/.bin"
