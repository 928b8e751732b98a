"""listing - the tests of a build, as ctest would run them"""
import collections
import json
import subprocess

Test = collections.namedtuple("Test", "command environment labels")


def read_tests(build):
    """{name: Test}"""
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                             stdout=subprocess.PIPE, check=True).stdout
    tests = {}
    for test in json.loads(listing)["tests"]:
        properties = {one["name"]: one["value"] for one in test.get("properties", [])}
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        tests[test["name"]] = Test(test.get("command"), environment,
                                   properties.get("LABELS", []))
    return tests
