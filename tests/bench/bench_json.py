"""Every benchmark of pe-bench runs, small, and says seconds and peak memory as JSON; wrong settings are refused.

usage: bench_json.py PE_BENCH CONFIG
"""
import json
import subprocess
import sys

BENCH, CONFIG = sys.argv[1:]
SMALL = {"scan": ["length=64", "heads=2", "head_dim=16", "repeats=1"],
         "ceilings": ["repeats=1", "head_dim=16"],
         "exponential": ["repeats=1"],
         "scheme": ["length=128", "heads=1", "head_dim=16", "repeats=1"],
         "train": ["steps=1", "layers=1", "d_model=16", "heads=2", "length=8", "batch=2"],
         "write": ["megabytes=1", "repeats=1"],
         "start": ["repeats=1"],
         "config": [f"path={CONFIG}"],
         "process": ["repeats=1", "--", "true"]}
WRONG = [["nothing"], [], ["scan", "length=x"], ["scan", "length=0"], ["scan", "colour=red"], ["scan", "scheme=nobody"],
         ["scan", "heads=3", "kv_heads=2"], ["scheme", "scheme=none"], ["write", "folder=/no/such/folder"], ["config"],
         ["config", "path=/no/such.yaml"], ["process"], ["process", "--", "/no/such/program"], ["process", "--", "false"]]


def run(arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False)


listed = [line.split(":")[0] for line in run(["--help"]).stdout.splitlines()[1:] if line[:1].isalpha()]
assert sorted(listed) == sorted(SMALL), listed
for name, settings in SMALL.items():
    done = run([name, "--json", *settings])
    assert done.returncode == 0, (name, done)
    result = json.loads(done.stdout)
    assert result["bench"] == name and result["seconds"] > 0 and result["peak_mib"] > 0, result
    assert name in run([name, "--help"]).stdout
for arguments in WRONG:
    done = run(arguments)
    assert done.returncode == 2 and done.stderr and not done.stdout, (arguments, done)
start = json.loads(run(["start", "repeats=3", "--json"]).stdout)
assert 0 < start["seconds_min"] <= start["seconds"] <= start["seconds_max"] and start["cpu_seconds_min"] > 0, start
