#!/usr/bin/env python3
"""A new command is one file and one line: adds `nay toy` to a copy of cli/ by these steps alone, builds it, uses it."""
import os
import shutil
import subprocess

from harness import BUILD, SOURCE, run, test, write

PROJECT = """cmake_minimum_required(VERSION 3.21)
project(toy C)
include(GNUInstallDirs)
add_library(nay_static STATIC IMPORTED)
set_target_properties(nay_static PROPERTIES IMPORTED_LOCATION "{build}/libnay.a"
                      INTERFACE_INCLUDE_DIRECTORIES "{source}/include")
add_subdirectory(cli)
"""

TOY = """/* cmd_toy.c - nay toy: says its name as often as asked. */
#include "options.h"

static int toy_run(options *o) {
  for (uint64_t i = 0; i < (o->limit != 0 ? o->limit : 1); i++) out_text("toy %s\\n", o->operands[0]);
  return EXIT_FOUND;
}

static const option_row toy_options[] = {
    {"times", 0, "N", OPTION_COUNT, AT(limit), "how often", NULL, 0, "play"},
    {0},
};

const command command_toy = {
    .name = "toy",
    .run = toy_run,
    .summary = "say toy",
    .operands = "play|rest",
    .min_operands = 1,
    .max_operands = 1,
    .verbs = "play rest",
    .own = toy_options,
    .about = "Says toy.",
};
"""


def call(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=1200)


@test("a toy command: a file, a line, and help, manual, completions and verbs know it")
def _():
    shutil.copytree(os.path.join(SOURCE, "cli"), "cli")
    write("CMakeLists.txt", PROJECT.format(build=os.path.abspath(BUILD), source=os.path.abspath(SOURCE)))
    write("cli/cmd_toy.c", TOY)  # the file
    with open("cli/commands.h") as f:
        header = f.read()
    assert header.count("  X(man)                \\\n") == 1
    write("cli/commands.h", header.replace("  X(man) ", "  X(toy)                \\\n  X(man) "))  # the line
    for step in (["cmake", "-S", ".", "-B", "out", "-DCMAKE_C_FLAGS=-O0"], ["cmake", "--build", "out", "-j2"]):
        done = call(*step)
        assert done.returncode == 0, done.stdout + done.stderr
    program = "out/cli/nay"
    assert call(program, "toy", "play", "--times", "2").stdout == "toy play\ntoy play\n"
    assert "  toy       say toy\n" in call(program, "help").stdout
    assert "--times=N" in call(program, "help", "toy").stdout
    assert "nay-toy(1)" in call(program, "man", "--markdown").stdout
    assert "play: how often" in call(program, "man", "--markdown", "toy").stdout
    for shell in ("bash", "zsh", "fish"):
        with open(f"out/cli/nay.{shell}") as f:
            text = f.read()
        assert "toy" in text and "times" in text and "play rest" in text, shell
    assert "did you mean toy?" in call(program, "toi").stderr
    assert "did you mean play?" in call(program, "toy", "plya").stderr
    wrong = call(program, "toy", "rest", "--times", "2")
    assert wrong.returncode == 2 and "--times is not for 'nay toy rest'" in wrong.stderr


run()
