"""pairing - src/x/y.c is proven by tests/x/y_test.c, and every test is registered."""
from check import BUILD, ROOT, case, finish, tracked

# Files without a test of their own, and why.
EXEMPT = {
}

registered = (BUILD / "tests/CTestTestfile.cmake").read_text()
case("each_source_has_its_test", [
    f"{path} has no tests/{path.parts[1]}/{path.stem}_test.c"
    for path in tracked("src/*/*.c")
    if str(path) not in EXEMPT
    and not (ROOT / "tests" / path.parts[1] / f"{path.stem}_test.c").exists()])
case("each_exemption_is_needed", [
    f"{path} is gone or has a test" for path in EXEMPT if not (ROOT / path).exists()
    or (ROOT / "tests" / path[4:].replace(".c", "_test.c")).exists()])
case("each_test_is_registered", [
    f"ctest does not know {path}" for path in tracked("tests/*/*_test.c")
    if f"add_test([=[{path.parts[1]}/{path.stem}]=]" not in registered])
case("each_source_is_listed", [
    f"{path} is not in {path.parent}/CMakeLists.txt" for path in tracked("src/*/*.c")
    if path.name not in (ROOT / path.parent / "CMakeLists.txt").read_text().split()])
finish()
