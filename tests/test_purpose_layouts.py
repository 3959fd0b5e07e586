"""
On purpose or by accident, in every way to start and to lay out a server: real files, real processes.

Each server holds five tools, and a layout is known by five letters, P or A: the server's own raise, its own accident,
a raise and an accident in a helper module, and an error of its own class that nobody raised. Nearly always it is PAPAP;
PAAAP where nothing says that the helper is the author's, until the author names it.
"""

import compileall
import concurrent.futures
import json
import os
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import toolfault


SUPPORT = Path(__file__).parent / "support"

SERVER = """
import sys
from {helper} import check, crash
from purpose_report import report

class Own(Exception):
    pass

def raises():
    raise ValueError("no")

def crashes():
    int("x")

def helper_raises():
    check(0)

def helper_crashes():
    crash("x")

def unraised():
    return Own("no")

def main():
    report(raises, crashes, helper_raises, helper_crashes, unraised, also=[{helper!r}])
"""

MAIN = """
if __name__ == "__main__":
    main()
"""

HELPER = """
def check(n):
    if n < 1:
        raise ValueError("n must be positive")

def crash(text):
    return int(text)
"""

# Cells of a notebook: one namespace, a new file name for each.
NOTEBOOK = """
import sys, types

main = sys.modules["__main__"] = types.ModuleType("__main__")
for n, cell in enumerate({cells!r}):
    exec(compile(cell, {name!r} % n, "exec"), main.__dict__)
"""

# As `mcp run` and `fastmcp run` load a server: by path, with no entry in sys.modules.
LOADER = """
import importlib.util, sys

sys.path.insert(0, {folder!r})
spec = importlib.util.spec_from_file_location({name!r}, {path!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.main()
"""

TRACED = {
    "no tracing": "",
    "tracing by line": """
def trace(frame, event, arg):
    return trace
sys.settrace(trace)
""",
    "tracing by opcode": """
def trace(frame, event, arg):
    frame.f_trace_opcodes = True
    return trace
sys.settrace(trace)
""",
    "profiling": "sys.setprofile(lambda *a: None)",
    "monitoring": """
if sys.version_info >= (3, 12):
    sys.monitoring.use_tool_id(3, "test")
    for event in (1 << n for n in range(15)):
        try:
            sys.monitoring.set_events(3, sys.monitoring.get_events(3) | event)
            sys.monitoring.register_callback(3, event, lambda *a: None)
        except ValueError:
            pass
""",
    "warm code": """
for tool in (raises, crashes, helper_raises, helper_crashes) * 300:
    try:
        tool()
    except ValueError:
        pass
""",
}

LAYOUTS = {}


def layout(name, told="PAPAP", also="PAPAP"):
    """
    Enter a function that lays files out below a folder, and returns how to start them.
    """

    def enter(build):
        LAYOUTS[name] = (build, told, also)
        return build

    return enter


def write(root, **files):
    """
    Write files; double underscores in a name stand for the folders, a trailing one for an ``__init__``.
    """
    for name, text in files.items():
        parts = name.split("__")
        path = root.joinpath(*parts[:-1], f"{parts[-1] or '__init__'}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def server(helper="helper", main=MAIN):
    return SERVER.format(helper=helper) + main


@layout("python server.py, a sibling file")
def script(root):
    write(root, server=server(), helper=HELPER)
    return [str(root / "server.py")]


@layout("python server.py by a relative path")
def relative(root):
    write(root, app__server=server(), app__helper=HELPER)
    return ["app/server.py"]


@layout("python server.py, a package beside it")
def script_and_package(root):
    write(root, server=server("lib.helper"), lib__="", lib__helper=HELPER)
    return [str(root / "server.py")]


@layout("python server.py, a folder without __init__ beside it")
def script_and_folder(root):
    write(root, server=server("lib.helper"), lib__helper=HELPER)
    return [str(root / "server.py")]


@layout("python server.py, tools/ beside services/")
def tools_beside_services(root):
    write(
        root,
        server="from tools.server import main\nmain()",
        tools__="",
        tools__server=server("services.helper"),
        services__="",
        services__helper=HELPER,
    )
    return [str(root / "server.py")]


@layout("python folder")
def folder(root):
    write(root, app__main=server(), app__helper=HELPER)
    (root / "app" / "main.py").rename(root / "app" / "__main__.py")
    return [str(root / "app")]


@layout("python - < server.py")
def from_stdin(root):
    # The file is called <stdin>, and seems to lie in the current folder, where the helper is found too.
    write(root, helper=HELPER)
    (root / "stdin").write_text(server(), encoding="utf-8")
    return ["-"]


@layout("python -c", told="PAAAP")
def command(root):
    write(root, helper=HELPER)
    return ["-c", server()]


@layout("a top-level module that something else imports")
def imported(root):
    write(root, server=server(), helper=HELPER)
    return ["-c", "import server; server.main()"]


@layout("python -m server")
def as_module(root):
    write(root, server=server(), helper=HELPER)
    return ["-m", "server"]


@layout("python -m acme.server")
def as_package_module(root):
    write(root, acme__="", acme__server=server("acme.helper"), acme__helper=HELPER)
    return ["-m", "acme.server"]


@layout("python -m acme.server, a relative import")
def as_package_module_relative(root):
    write(root, acme__="", acme__server=server(".helper"), acme__helper=HELPER)
    return ["-m", "acme.server"]


@layout("python -m acme")
def as_package(root):
    write(root, acme__="", acme__main=server("acme.helper"), acme__helper=HELPER)
    (root / "acme" / "main.py").rename(root / "acme" / "__main__.py")
    return ["-m", "acme"]


@layout("python -m acme.deep.server, a helper above it")
def deep(root):
    write(root, acme__="", acme__deep__="", acme__deep__server=server("acme.helper"), acme__helper=HELPER)
    return ["-m", "acme.deep.server"]


@layout("python -m acme.server, a package beside it")
def beside_package(root):
    write(root, acme__="", acme__server=server("core.helper"), core__="", core__helper=HELPER)
    return ["-m", "acme.server"]


@layout(".pyc files only, as a script")
def compiled_script(root):
    write(root, server=server(), helper=HELPER)
    _compile(root)
    return [str(root / "server.pyc")]


@layout(".pyc files only, as a package")
def compiled_package(root):
    write(root, acme__="", acme__server=server("acme.helper"), acme__helper=HELPER)
    _compile(root)
    return ["-m", "acme.server"]


def _compile(root):
    assert compileall.compile_dir(root, quiet=1, legacy=True)
    for path in root.rglob("*.py"):
        path.unlink()


@layout("a script inside a package folder")
def inside_package(root):
    write(root, acme__="", acme__server=server(), acme__helper=HELPER)
    return [str(root / "acme" / "server.py")]


@layout("a symlinked script")
def symlinked(root):
    write(root, app__server=server(), app__helper=HELPER)
    (root / "bin").mkdir()
    (root / "bin" / "serve").symlink_to(root / "app" / "server.py")
    return [str(root / "bin" / "serve")]


@layout("a symlinked project")
def symlinked_folder(root):
    write(root, app__server=server("lib.helper"), app__lib__="", app__lib__helper=HELPER)
    (root / "current").symlink_to(root / "app")
    return [str(root / "current" / "server.py")]


@layout("runpy.run_path")
def run_path(root):
    write(root, server=server(main="main()"), helper=HELPER)
    return ["-c", f"import runpy; runpy.run_path({str(root / 'server.py')!r})"]


@layout("runpy.run_path as __main__")
def run_path_as_main(root):
    write(root, server=server(), helper=HELPER)
    return ["-c", f"import runpy; runpy.run_path({str(root / 'server.py')!r}, run_name='__main__')"]


@layout("runpy.run_module")
def run_module(root):
    write(root, acme__="", acme__server=server("acme.helper"), acme__helper=HELPER)
    return ["-c", "import runpy; runpy.run_module('acme.server', run_name='__main__', alter_sys=True)"]


@layout("loaded by path, as mcp run does")
def by_path(root):
    write(root, app__server=server(), app__helper=HELPER)
    app = root / "app"
    return ["-c", LOADER.format(folder=str(app), name="server_module", path=str(app / "server.py"))]


@layout("loaded by path, under a dotted name of no such place")
def by_path_dotted(root):
    write(root, app__server=server(), app__helper=HELPER)
    app = root / "app"
    return ["-c", LOADER.format(folder=str(app), name="plugins.weather.server", path=str(app / "server.py"))]


@layout("loaded under a dotted name of no such place, a stranger above it", told="PAAAP")
def by_path_dotted_stranger(root):
    # The folder must not climb by the dots of a made-up name.
    write(root, app__server=server("stranger"), stranger=HELPER)
    return ["-c", LOADER.format(folder=str(root), name="plugins.weather.server", path=str(root / "app" / "server.py"))]


@layout("two packages in one namespace, the author's own helper")
def namespace(root):
    write(root, ns__one__="", ns__one__server=server("ns.one.helper"), ns__one__helper=HELPER)
    return ["-m", "ns.one.server"]


@layout("two packages in one namespace, installed, a stranger's helper", told="PAAAP")
def namespace_stranger(root):
    site = root / "site-packages"
    write(site, ns__one__="", ns__one__server=server("ns.two.helper"), ns__two__="", ns__two__helper=HELPER)
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from ns.one.server import main; main()"]


@layout("a module directly in a namespace, a stranger's beside it", told="PAAAP")
def namespace_module(root):
    site = root / "site-packages"
    write(site, ns__server=server("ns.helper"), ns__helper=HELPER)
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from ns.server import main; main()"]


@layout("a .venv inside the project, the author's helper")
def venv_inside(root):
    site = root / ".venv" / "lib" / "python3" / "site-packages"
    write(root, server=server(), helper=HELPER)
    write(site, library=HELPER)
    return [str(root / "server.py")]


@layout("a .venv inside the project, a library of it", told="PAAAP")
def venv_library(root):
    site = root / ".venv" / "lib" / "python3" / "site-packages"
    write(root, start=f"import sys; sys.path.append({str(site)!r})\nfrom server import main\nmain()")
    write(root, server=server("library"))
    write(site, library=HELPER)
    return [str(root / "start.py")]


@layout("Debian's dist-packages inside the project", told="PAAAP")
def dist_packages(root):
    site = root / "usr" / "lib" / "python3" / "dist-packages"
    write(root, start=f"import sys; sys.path.append({str(site)!r})\nfrom server import main\nmain()")
    write(root, server=server("library"))
    write(site, library=HELPER)
    return [str(root / "start.py")]


@layout("an installed package, its own helper")
def installed(root):
    site = root / "site-packages"
    write(site, acme__="", acme__server=server("acme.helper"), acme__helper=HELPER)
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from acme.server import main; main()"]


@layout("two packages installed by one wheel", told="PAAAP")
def one_wheel(root):
    site = root / "site-packages"
    write(site, acme__="", acme__server=server("core"), core__=HELPER)
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from acme.server import main; main()"]


@layout("loose modules in site-packages", told="PAAAP")
def loose(root):
    site = root / "site-packages"
    write(site, server=server(), helper=HELPER)
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from server import main; main()"]


def record(folder, name):
    """
    Write the metadata of a distribution that owns all files of a folder that no other one owns.
    """
    listed = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.dist-info/RECORD"))
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.py"))]
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"{file},sha256=abc,10\n" for file in files if f"{file}," not in listed]
    (info / "RECORD").write_text("".join([*lines, f"{info.name}/RECORD,,\n"]), encoding="utf-8")


def starts(site, module="acme.server"):
    return ["-c", f"import sys; sys.path.insert(0, {str(site)!r}); from {module} import main; main()"]


@layout("a wheel with two packages")
def wheel(root):
    site = root / "venv" / "lib" / "python3.11" / "site-packages"
    write(site, stranger__="", stranger__lib=HELPER)
    record(site, "stranger")
    write(site, acme__="", acme__server=server("core"), core__=HELPER)
    record(site, "acme")
    return starts(site)


@layout("a wheel whose name is not its package's")
def wheel_of_another_name(root):
    site = root / "site-packages"
    write(site, acme__="", acme__server=server("core.deep.helper"))
    write(site, core__="", core__deep__="", core__deep__helper=HELPER)
    record(site, "company-tools")
    return starts(site)


@layout("a wheel with two modules")
def wheel_of_modules(root):
    site = root / "site-packages"
    write(site, server=server(), helper=HELPER)
    record(site, "tools")
    return starts(site, "server")


@layout("a wheel with two packages of a namespace")
def wheel_of_namespace(root):
    site = root / "site-packages"
    write(site, ns__one__="", ns__one__server=server("ns.two.helper"), ns__two__="", ns__two__helper=HELPER)
    record(site, "ns-tools")
    return starts(site, "ns.one.server")


@layout("a stranger's package of the same namespace", told="PAAAP")
def wheel_of_another_namespace(root):
    site = root / "site-packages"
    write(site, ns__two__="", ns__two__helper=HELPER)
    record(site, "ns-two")
    write(site, ns__one__="", ns__one__server=server("ns.two.helper"))
    record(site, "ns-one")
    return starts(site, "ns.one.server")


@layout("a stranger's package beside a wheel", told="PAAAP")
def wheel_and_stranger(root):
    site = root / "site-packages"
    write(site, core__=HELPER)
    record(site, "core")
    write(site, acme__="", acme__server=server("core"))
    record(site, "acme")
    return starts(site)


@layout("a wheel started with -m")
def wheel_as_module(root):
    site = root / "site-packages"
    write(site, acme__="", acme__server=server("core", MAIN), core__=HELPER)
    record(site, "acme")
    return [
        "-c",
        f"import sys, runpy; sys.path.insert(0, {str(site)!r}); runpy.run_module('acme.server', {{}}, '__main__', True)",
    ]


@layout("a wheel in a cache, linked into an environment")
def wheel_linked(root):
    # uv keeps what it unpacked, and may link to it.
    archive = root / "cache" / "archive-v0" / "x1" / "lib"
    write(archive, acme__="", acme__server=server("core"), core__=HELPER)
    record(archive, "acme")
    site = root / "venv" / "site-packages"
    site.mkdir(parents=True)
    for entry in archive.iterdir():
        (site / entry.name).symlink_to(entry)
    return starts(site)


@layout("installed into a folder of its own")
def wheel_in_target(root):
    target = root / "build"
    write(target, stranger__="")
    record(target, "stranger")
    write(target, acme__="", acme__server=server("core"), core__=HELPER)
    record(target, "acme")
    return starts(target)


@layout("a zipapp with what was installed into it")
def zipped_wheel(root):
    app = root / "app"
    write(app, stranger__="")
    record(app, "stranger")
    write(app, acme__="", acme__server=server("core"), core__=HELPER)
    record(app, "acme")
    zipapp.create_archive(app, root / "app.pyz", main="acme.server:main")
    return [str(root / "app.pyz")]


@layout("a zipapp beside a stranger's package", told="PAAAP")
def zipped_stranger(root):
    app = root / "app"
    write(app, core__=HELPER)
    record(app, "core")
    write(app, acme__="", acme__server=server("core"))
    record(app, "acme")
    zipapp.create_archive(app, root / "app.pyz", main="acme.server:main")
    return [str(root / "app.pyz")]


@layout("an editable install")
def editable(root):
    site = root / "site-packages"
    site.mkdir()
    (site / "acme.pth").write_text(str(root / "src"), encoding="utf-8")
    write(root / "src", acme__="", acme__server=server("core"), core__=HELPER)
    return ["-c", f"import site; site.addsitedir({str(site)!r}); from acme.server import main; main()"]


@layout("dependencies vendored beside the script", told="PAAAP")
def vendored(root):
    write(root, server=server(), helper=HELPER)
    (root / "library-1.0.dist-info").mkdir()
    return [str(root / "server.py")]


@layout("a zipapp")
def zipped(root):
    write(root, app__main=server(), app__helper=HELPER)
    (root / "app" / "main.py").rename(root / "app" / "__main__.py")
    zipapp.create_archive(root / "app", root / "app.pyz")
    return [str(root / "app.pyz")]


@layout("a zip file with a package", told="PAPAP")
def zipped_package(root):
    write(root, app__acme__="", app__acme__server=server("acme.helper"), app__acme__helper=HELPER, app__main="")
    zipapp.create_archive(root / "app", root / "app.pyz", main="acme.server:main")
    return [str(root / "app.pyz")]


@layout("a frozen program", told="PAAAP")
def frozen(root):
    # PyInstaller and cx_Freeze unpack everything into one folder, and say so.
    write(root, server=f"import sys; sys.frozen = True\n{server()}", helper=HELPER)
    return [str(root / "server.py")]


@layout("exec in a dict without a name", told="PAAAA", also="PAPAA")
def exec_in_dict(root):
    # Classes made there say that they are builtins.
    write(root, helper=HELPER)
    return ["-c", f"space = {{}}; exec({server(main='')!r}, space); space['main']()"]


@layout("exec in a dict with a name", told="PAAAP")
def exec_in_named_dict(root):
    write(root, helper=HELPER)
    return ["-c", f"space = {{'__name__': 'typed'}}; exec({server(main='')!r}, space); space['main']()"]


@layout("a notebook, the helper in another cell")
def notebook(root):
    cells = [HELPER, server().replace("from helper import check, crash", "")]
    write(root, kernel=NOTEBOOK.format(cells=cells, name="/tmp/ipykernel_1/%d.py"))
    return [str(root / "kernel.py")]


@layout("an IPython terminal, the helper in another cell")
def terminal(root):
    cells = [HELPER, server().replace("from helper import check, crash", "")]
    write(root, kernel=NOTEBOOK.format(cells=cells, name="<ipython-input-%d-cafe>"))
    return [str(root / "kernel.py")]


@layout("a notebook, the helper in a file", told="PAAAP")
def notebook_and_file(root):
    write(root, kernel=NOTEBOOK.format(cells=["", server()], name="/tmp/ipykernel_1/%d.py"), helper=HELPER)
    return [str(root / "kernel.py")]


@layout("the module is also imported under its own name")
def imported_twice(root):
    write(root, server=server(), helper=HELPER + "\nimport server\n")
    return [str(root / "server.py")]


@layout("the script is named like a module of the standard library")
def named_like_stdlib(root):
    write(root, calendar=server(), helper=HELPER)
    return ["-c", LOADER.format(folder=str(root / "nowhere"), name="calendar", path=str(root / "calendar.py"))]


for mode in ("prepend", "append", "importlib"):

    @layout(f"pytest with --import-mode={mode}")
    def in_pytest(root, mode=mode):
        write(root, tests__test_server=server(main="\ndef test_it(): main()"), tests__helper=HELPER)
        (root / "pytest.ini").write_text("[pytest]\npythonpath = tests\n", encoding="utf-8")
        return ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--import-mode={mode}", str(root / "tests")]


for flags in (["-O"], ["-OO"], ["-X", "dev"], ["-X", "no_debug_ranges"], ["-X", "frozen_modules=off"], ["-I"]):

    @layout(f"python {' '.join(flags)}")
    def with_flags(root, flags=flags):
        path = [str(root), str(SUPPORT)]
        write(root, server=f"import sys; sys.path[:0] = {path!r}\n{server()}", helper=HELPER)
        return [*flags, str(root / "server.py")]


for kind, prelude in TRACED.items():

    @layout(f"under {kind}")
    def traced(root, prelude=prelude):
        write(root, server=server(main=f"{prelude}\nmain()"), helper=HELPER)
        return [str(root / "server.py")]


def run(root, build):
    """
    Start a server, and return what the judge said in it.
    """
    argv = build(root)
    out = root / "out.json"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "PYTEST_"))},
        "PYTHONPATH": os.pathsep.join([str(root), str(SUPPORT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PURPOSE_OUT": str(out),
        "PURPOSE_TOOLFAULT": str(Path(toolfault.__file__).parent),
    }
    stdin = root / "stdin"
    done = subprocess.run(
        [sys.executable, *argv],
        input=stdin.read_text(encoding="utf-8") if stdin.exists() else "",
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if not out.exists():
        return [done.stdout + done.stderr]
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """
    What each server said; all of them run at once, as many as there are cores.
    """
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {name: pool.submit(run, tmp_path_factory.mktemp("project"), LAYOUTS[name][0]) for name in LAYOUTS}
    return {name: future.result() for name, future in runs.items()}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout(told, name):
    """
    A server knows its author's modules however it was started; where it can't, the author may name them.
    """
    _, without, also = LAYOUTS[name]

    assert [without, also] == told[name]
