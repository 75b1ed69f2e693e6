#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completion: what bash offers on a command line, by bash's own machinery; the scripts of zsh and fish are valid and know every
command and option. All are compared with what the command says of itself."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROFCONV = os.environ.get("PROFCONV")


def output(*arguments):
    return subprocess.run([PROFCONV, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def shown_commands():
    return re.findall(r"^  profconv ([a-z]+) ", output("--help"), re.M)


def shown_options(command):
    return set(re.findall(r"^  (?:-\w, |    )--([a-z-]+)", output("help", command), re.M))


def formats(letter):
    """Names of formats that can be read (r) or written (w), from the table."""
    table = output("formats").split("\n\n")[0].splitlines()[1:]
    return {line.split()[0] for line in table if letter in re.search(r" (rw|r|w) ", line).group(1)}


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="profconv-complete-")
        cls.script = os.path.join(cls.folder, "profconv.bash")
        with open(cls.script, "w", encoding="utf-8") as file:
            file.write(output("completion", "bash"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def offers(self, *words):
        """The last word is the one under the cursor; --x=y stands as bash cuts it: --x, =, y."""
        # The function that `complete` has registered is called as readline would.
        driver = ("source \"$0\"; spec=$(complete -p profconv); spec=${spec##*-F }; function=${spec%% *}; COMP_WORDS=(\"$@\"); "
                  "COMP_CWORD=$(($# - 1)); \"$function\" profconv \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "--norc", "-c", driver, self.script, "profconv", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    def test_commands(self):
        self.assertEqual(self.offers(""), set(shown_commands()) | {"--help", "--version"})
        self.assertEqual(self.offers("con"), {"convert"})

    def test_every_option_of_every_command(self):
        for command in shown_commands():
            offered = {word.rstrip("=")[2:] for word in self.offers(command, "--")}
            self.assertLessEqual(shown_options(command), offered, command)
            for word in offered:  # and none that the command refuses
                done = subprocess.run([PROFCONV, command, "--" + word, "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, text=True)
                self.assertNotRegex(done.stderr, "no such option|not an option", f"{command} --{word}")

    def test_formats(self):
        for words in (("convert", "--to", "="), ("convert", "-t", ""), ("convert", "--to", "")):
            self.assertEqual(self.offers(*words), formats("w"), words)
        self.assertEqual(self.offers("convert", "--from", "=", "perf-d"), {"perf-data"})
        self.assertEqual(self.offers("info", "-f", ""), formats("r"))
        self.assertEqual(self.offers("merge", "--from", "="), {""} - {""})  # a time there, not a format

    def test_values(self):
        self.assertEqual(self.offers("check", "--for", "=", ""), {"go-pgo", "llvm", "gcc"})
        self.assertEqual(self.offers("convert", "--demangle", ""), {"full", "simple", "none"})
        self.assertEqual(self.offers("top", "--by", "=", "f"), {"function", "file"})
        self.assertEqual(self.offers("completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.offers("convert", "-s", "collapsed.weig"), {"collapsed.weight="})
        self.assertEqual(self.offers("convert", "-s", "flamegraph.format", "=", ""), {"auto", "html", "svg"})

    def test_settings_are_those_that_are_listed(self):
        listed = set(re.findall(r"^  ([a-z0-9-]+\.[a-z0-9-]+=)", output("formats", "--list-settings"), re.M))
        self.assertGreater(len(listed), 20)
        self.assertEqual(self.offers("convert", "-s", ""), listed)

    def test_help(self):
        self.assertLessEqual(set(shown_commands()) | formats("r") | formats("w") | {"symbolize"}, self.offers("help", ""))

    def test_files_are_left_to_bash(self):
        self.assertEqual(self.offers("convert", "-o", "x"), set())
        self.assertEqual(self.offers("convert", "x"), set())


class Others(unittest.TestCase):
    def check(self, shell, pattern):
        script = output("completion", shell)
        for command in shown_commands():
            self.assertIn(command, script)
            for option in shown_options(command):
                self.assertRegex(script, pattern % re.escape(option))
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed; its script was not parsed")
        done = subprocess.run([shell, "-n", "/dev/stdin"], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        return script

    def test_zsh(self):
        self.check("zsh", r"--%s[='}\[]")

    def test_fish(self):
        script = self.check("fish", r"-l %s ")
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
            done = subprocess.run(["fish", "--no-config", "-c", script + "\ncomplete -C 'profconv convert --to='"], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            offered = {line.split("\t")[0].replace("--to=", "") for line in done.stdout.splitlines()}
            self.assertLessEqual(formats("w"), offered, done.stderr)

    def test_usage(self):
        for arguments in ([], ["tcsh"], ["bash", "zsh"]):
            done = subprocess.run([PROFCONV, "completion", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (2, b""))


if __name__ == "__main__":
    if not PROFCONV:
        print("skipped: PROFCONV does not name the command")
        sys.exit(77)
    unittest.main()
