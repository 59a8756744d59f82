"""Every code that `pe-run explain` lists: its example is run and gives that code, its exit code and its sentence; and
docs/errors.md is what `pe-run explain --all --format md` prints.

PE_RUN, SOURCE and WORK come in the environment; it is run in WORK.
"""
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PE_RUN = os.environ["PE_RUN"]
SOURCE = os.environ["SOURCE"]
BUILD = os.path.dirname(PE_RUN)
SOUND = """\
model: {random: {heads: 1, head_dim: 4, d_model: 4}}
schemes: [rope]
experiments: [relative_position: {length: 4, shifts: [1]}]
"""
# No user should ever see it, so there is no example.
WITHOUT = {"E0902"}
# Sanitizers need more address space than this leaves.
LIMITED = {"E0901", "E0708"}


def explain(*arguments):
    return subprocess.run([PE_RUN, "explain", *arguments], capture_output=True, text=True, check=True).stdout


def prepare(place, example):
    """A folder with a sound config.yaml, the data, and the plugins that the example names; and what is to be run."""
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place, 0o755)
    os.symlink(os.path.join(SOURCE, "data"), os.path.join(place, "data"))
    is_config = not example.startswith("$")
    with open(os.path.join(place, "config.yaml"), "w", encoding="utf-8") as file:
        file.write(example + "\n" if is_config else SOUND)
    for name in re.findall(r"\w+\.so\b", example):
        for folder in ("", "deadly"):
            path = os.path.join(BUILD, "tests", "bad_plugins", folder, name)
            if os.path.exists(path):
                shutil.copy(path, place)
    return "pe-run config.yaml" if is_config else "\n".join(line[2:] for line in example.splitlines())


def run(place, commands):
    """Exit code of the last command, and what all print. Whoever hangs is ended with all that it started."""
    environment = {**os.environ, "PATH": BUILD + ":" + os.environ["PATH"]}
    process = subprocess.Popen(["sh", "-c", commands], cwd=place, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return process.returncode, output.decode("utf-8", "replace")


def run_example(code, example):
    return run(code, prepare(code, example))


def main():
    rows = json.loads(explain("--all", "--format", "json"))["rows"]
    listed = json.loads(explain("--format", "json"))["rows"]
    wrong = []
    if [row["code"] for row in rows] != [row["code"] for row in listed]:
        wrong.append("the list and --all have other codes")
    n_run = 0
    with ThreadPoolExecutor(4) as pool:
        ran = {row["code"]: pool.submit(run_example, row["code"], row["example"]) for row in rows if row["example"]}
    for row in rows:
        code, example = row["code"], row["example"]
        if not row["cause"] or not row["fix"] or bool(example) == (code in WITHOUT):
            wrong.append(f"{code}: cause, fix or example is missing")
        if not example or (code in LIMITED and os.environ.get("SANITIZER")):
            continue
        returned, output = ran[code].result()
        n_run += 1
        if returned != row["exit_code"] or not re.search(rf"error\[{code}\]: .*{re.escape(row['says'])}", output):
            wrong.append(f"{code}: exit code {returned} instead of {row['exit_code']}, or not \"{row['says']}\":\n{output}")
        if code not in explain(code):
            wrong.append(f"{code}: is not explained by its code")
    page = explain("--all", "--format", "md")
    with open(os.path.join(SOURCE, "docs", "errors.md"), encoding="utf-8") as file:
        stored = file.read()
    if page != stored:
        wrong.append("docs/errors.md is not what `pe-run explain --all --format md` prints:\n" + "".join(
            difflib.unified_diff(stored.splitlines(True), page.splitlines(True))))
    print("\n".join(wrong) if wrong else f"{len(rows)} codes are explained; {n_run} examples give what they say")
    sys.exit(bool(wrong))


main()
