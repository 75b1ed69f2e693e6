# SPDX-License-Identifier: MIT
"""The build backend of the Python package (PEP 517, PEP 660): a wheel is a zip file with the package, the shared
library that CMake built, and three small files about them. Nothing but the standard library.

The library is PROFCONV_LIBRARY, or build/libprofconv.so.0 of the checkout. A sdist has no library, so building from one
needs PROFCONV_LIBRARY.
"""
import base64
import hashlib
import io
import os
import re
import sysconfig
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
LIBRARY = "libprofconv.so.0"
TIME = (1980, 1, 1, 0, 0, 0)  # the same input gives the same wheel


def _field(name):
    """A text of pyproject.toml, whose few lines are as this file needs them (tomllib is in Python 3.11 only)."""
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        return re.search(rf'^{name} = "(.*)"$', file.read(), re.M).group(1)


def _lists():
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    classifiers = re.findall(r'^    "(.* :: .*)",$', text, re.M)
    extras = re.findall(r'^(\w+) = \["([^"]*)"\]$', text.split("[project.optional-dependencies]")[1], re.M)
    return classifiers, extras


def _library():
    chosen = os.environ.get("PROFCONV_LIBRARY")
    if chosen:
        if os.path.isfile(chosen):
            return chosen
        raise SystemExit(f"profconv: PROFCONV_LIBRARY is {chosen}, which is no file")
    for name in (LIBRARY, "libprofconv.so"):
        path = os.path.join(CHECKOUT, "build", name)
        if os.path.isfile(path):
            return path
    raise SystemExit(f"profconv: there is no {os.path.join(CHECKOUT, 'build', LIBRARY)}. "
                     "Build the library first (cmake -B build && "
                     "cmake --build build, in the checkout), or name it in PROFCONV_LIBRARY.")


def _metadata():
    classifiers, extras = _lists()
    lines = ["Metadata-Version: 2.1", f"Name: {_field('name')}", f"Version: {_field('version')}",
             f"Summary: {_field('description')}", "License: MIT", f"Requires-Python: {_field('requires-python')}"]
    lines += [f"Classifier: {c}" for c in classifiers]
    for extra, requirement in extras:
        lines += [f"Provides-Extra: {extra}", f'Requires-Dist: {requirement}; extra == "{extra}"']
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        return "\n".join(lines + ["Description-Content-Type: text/markdown", "", file.read()]).encode()


def _tag():
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def _wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: profconv_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()


def _package_files():
    folder = os.path.join(HERE, "profconv")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(folder, name), "rb") as file:
                yield f"profconv/{name}", file.read()


def _info_folder():
    return f"{_field('name')}-{_field('version')}.dist-info"


def _write_wheel(folder, files):
    name = f"{_field('name')}-{_field('version')}-{_tag()}.whl"
    info = _info_folder()
    files = list(files) + [(f"{info}/METADATA", _metadata()), (f"{info}/WHEEL", _wheel_text())]
    record = []
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(path, data):
            entry = zipfile.ZipInfo(path, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in path else 0o100644) << 16
            wheel.writestr(entry, data)

        for path, data in files:
            add(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
        add(f"{info}/RECORD", ("\n".join(record + [f"{info}/RECORD,,"]) + "\n").encode())
    return name


# ---- what a build frontend calls ----


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with open(_library(), "rb") as file:
        library = file.read()
    return _write_wheel(wheel_directory, list(_package_files()) + [(f"profconv/{LIBRARY}", library)])


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A path file: the checkout's own files are used, and the library of its build tree."""
    return _write_wheel(wheel_directory, [("profconv-checkout.pth", (HERE + "\n").encode())])


def build_sdist(sdist_directory, config_settings=None):
    base = f"{_field('name')}-{_field('version')}"
    name = f"{base}.tar.gz"
    files = list(_package_files())
    for path in ("pyproject.toml", "profconv_build.py", "README.md"):
        with open(os.path.join(HERE, path), "rb") as file:
            files.append((path, file.read()))
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files + [("PKG-INFO", _metadata())]:
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name
