#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`pip install bindings/python` without a network: into an environment of its own, with the library that CMake built;
says to build first where there is none; an editable install; a wheel is the same twice."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

pybinding.start()
LIBRARY = os.environ["PROFCONV_LIBRARY"]
USE = ("import profconv; p = profconv.read(b'main;work 3\\nmain 4\\n'); print(profconv.library_path(), p.total()); "
       "assert p.to_bytes('pprof')")
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "http_proxy": "http://127.0.0.1:1",
           "https_proxy": "http://127.0.0.1:1"}


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFCONV") and k not in ("PYTHONPATH",)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return dict(env, **OFFLINE, **more)


def run(*arguments, check=True, **more):
    env = clean_environment(**more)
    return subprocess.run(arguments, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=check)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        # The tree as a checkout has it, with a build folder of its own.
        cls.checkout = os.path.join(cls.folder, "checkout")
        cls.source = os.path.join(cls.checkout, "bindings", "python")
        shutil.copytree(pybinding.PACKAGE, cls.source, ignore=shutil.ignore_patterns("__pycache__"))
        made = run(sys.executable, "-m", "venv", os.path.join(cls.folder, "env"), check=False)
        if made.returncode != 0:
            pybinding.skip(f"venv does not work here: {made.stdout.strip().splitlines()[-1:]}")
        cls.python = os.path.join(cls.folder, "env", "bin", "python")

    def pip(self, *arguments, **more):
        return run(self.python, "-m", "pip", *arguments, **more)

    def build_folder(self):
        build = os.path.join(self.checkout, "build")
        os.makedirs(build, exist_ok=True)
        shutil.copy(os.path.realpath(LIBRARY), os.path.join(build, "libprofconv.so.0"))
        return build

    def test_1_without_a_library(self):
        failed = self.pip("install", self.source, check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("Build the library first", failed.stdout)

    def test_2_from_a_checkout(self):
        build = self.build_folder()
        self.pip("install", self.source)
        os.rename(build, build + "-away")  # what is installed stands alone
        try:
            used = run(self.python, "-c", USE).stdout.split()
        finally:
            os.rename(build + "-away", build)
        self.assertTrue(used[0].startswith(os.path.join(self.folder, "env")), used)
        self.assertTrue(used[0].endswith("profconv/libprofconv.so.0"), used)
        self.assertEqual(used[1], "7")
        shown = self.pip("show", "-f", "profconv").stdout
        self.assertIn("Version: 0.1.0", shown)
        self.assertIn("profconv/py.typed", shown)
        self.pip("check")
        self.pip("uninstall", "-y", "profconv")
        self.assertNotEqual(run(self.python, "-c", "import profconv", check=False).returncode, 0)

    def test_3_library_by_name_and_target(self):
        target = os.path.join(self.folder, "target")
        self.pip("install", "--target", target, self.source, PROFCONV_LIBRARY=LIBRARY)
        used = run(sys.executable, "-c", USE, PYTHONPATH=target).stdout.split()
        self.assertEqual(used, [os.path.join(target, "profconv", "libprofconv.so.0"), "7"])

    def test_4_editable(self):
        self.build_folder()
        installed = self.pip("install", "-e", self.source, check=False)
        if installed.returncode != 0 and "editable" in installed.stdout and "setup.py" in installed.stdout:
            self.skipTest("this pip is too old for editable installs without setup.py")
        self.assertEqual(installed.returncode, 0, installed.stdout)
        self.assertTrue(run(self.python, "-c", USE).stdout.startswith(os.path.join(self.checkout, "build")))

    def test_5_wheels_are_reproducible_and_complete(self):
        sys.path.insert(0, self.source)
        import profconv_build

        os.environ["PROFCONV_LIBRARY"] = LIBRARY
        wheels = []
        for name in ("a", "b"):
            folder = os.path.join(self.folder, name)
            os.mkdir(folder)
            wheels.append(os.path.join(folder, profconv_build.build_wheel(folder)))
        with open(wheels[0], "rb") as a, open(wheels[1], "rb") as b:
            self.assertEqual(a.read(), b.read())
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = set(wheel.namelist())
            lines = wheel.read("profconv-0.1.0.dist-info/RECORD").decode().splitlines()
            record = {line.split(",")[0] for line in lines}
        self.assertEqual(names, record)
        modules = {f"profconv/{n}" for n in os.listdir(os.path.join(self.source, "profconv"))
                   if n.endswith((".py", ".typed"))}
        self.assertLessEqual(modules | {"profconv/libprofconv.so.0"}, names)
        sdist = profconv_build.build_sdist(self.folder)
        target = os.path.join(self.folder, "from-sdist")
        self.pip("install", "--target", target, os.path.join(self.folder, sdist), PROFCONV_LIBRARY=LIBRARY)
        self.assertEqual(run(sys.executable, "-c", USE, PYTHONPATH=target).stdout.split()[1], "7")

    def test_6_versions_agree(self):
        sys.path.insert(0, pybinding.PACKAGE)
        import profconv

        with open(os.path.join(pybinding.PACKAGE, "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn(f'version = "{profconv.__version__}"', file.read())
        self.assertEqual(profconv.__version__, profconv.version())


if __name__ == "__main__":
    unittest.main(warnings="ignore")
