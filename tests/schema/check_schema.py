#!/usr/bin/env python3
"""check_schema.py PE_RUN SOURCE: docs/pe-run.schema.json is a schema, and it and pe-run say the same of configs."""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"left out: {missing} (Debian's python3-jsonschema and python3-yaml)")
    sys.exit(77)

import json

PE_RUN, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
FIRST_LINE = "# yaml-language-server: $schema=../docs/pe-run.schema.json"


class Loader(yaml.SafeLoader):
    """YAML 1.2, as pe-run and editors read it: 1e-4 is a number, `no` is text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":float"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$"), list("-+.0123456789"))

# What both refuse: a name, and what is added to (or stands instead of) a sound config.
SOUND = """
model: {random: {}}
schemes:
  - rope: {base: 5e5}
  - none
experiments:
  - relative_position: {length: 16}
"""
WRONG = {
    "an unknown key": SOUND + "sed: 3\n",
    "a word for a number": SOUND + "seed: many\n",
    "a negative seed": SOUND + "seed: -1\n",
    "a fraction for a whole number": SOUND + "seeds: 1.5\n",
    "no schemes": "model: {random: {}}\nexperiments: [equivariance]\n",
    "no experiments": "model: {random: {}}\nschemes: [rope]\n",
    "an unknown scheme": SOUND.replace("- none", "- nope"),
    "an unknown experiment": SOUND.replace("relative_position", "relative"),
    "an unknown parameter": SOUND.replace("base: 5e5", "basee: 5e5"),
    "a parameter out of range": SOUND.replace("base: 5e5", "base: -5"),
    "a word that is no choice": SOUND.replace("base: 5e5", "layout: interleavd"),
    "a parameter beside the name": SOUND.replace("- none", "- none:\n    base: 3"),
    "two schemes in one entry": SOUND.replace("- none", "- none:\n    alibi:"),
    "an unknown key of an experiment": SOUND.replace("length: 16", "lenght: 16"),
    "a list for a number": SOUND.replace("length: 16", "length: [16]"),
    "two models": SOUND.replace("{random: {}}", "{random: {}, matrix: {x: [[1]]}}"),
    "no model in model": SOUND.replace("{random: {}}", "{layer: 0}"),
    "an unknown key of a model": SOUND.replace("random: {}", "random: {head: 4}"),
    "a quoted number": SOUND + 'seed: "3"\n',
    "a number for a boolean": SOUND.replace("- none", "- none:\n    positions: {shuffled: 1}"),
    "a sweep of no list": SOUND + "sweep: {rope.base: 3}\n",
    "a list of schemes that is none": SOUND.replace("  - rope: {base: 5e5}\n  - none", "  rope: {}"),
    "a tensor of words": SOUND.replace("- none", "- learned: {table: [[a, b]]}"),
    "two of the tokens": SOUND.replace("{random: {}}", "{weights: w.h5, tokens: {ids: [1], text: a}}"),
}
RIGHT = {
    "as it is": SOUND,
    "numbers in every spelling": SOUND.replace("5e5", ".5e+6").replace("length: 16", "length: 16, shifts: [1, 1e2]"),
    "a title that looks like a number": SOUND + "title: 2026\n",
    "a choice or a list": SOUND.replace("- none", "- alibi: {slopes: [0.5, 0.25, 0.125, 0.0625]}"),
    "auto": SOUND.replace("- none", "- rope:\n    label: far\n    positions: {divide: auto}"),
    "a short form of positions": SOUND.replace("{random: {}}", "{random: {length: 3}, positions: [0, 1, 5]}").replace("length: 16", ""),
    "one word for a list": SOUND + "expect: toeplitz_residual.rope < 1\n",
    "a sweep": SOUND + "sweep: {rope.base: [1e4, 5e5]}\n",
    "an entry without keys": SOUND.replace("- none", "- none:"),
}


def main():
    schema = json.loads((SOURCE / "docs/pe-run.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    def complaint(text):
        error = jsonschema.exceptions.best_match(validator.iter_errors(yaml.load(text, Loader)))
        return error and f"{'/'.join(map(str, error.path))}: {error.message[:200]}"

    def refused(text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([PE_RUN, "plan", file.name], capture_output=True, text=True)
            return done.returncode and (done.stderr.strip() or done.returncode)

    faults = []
    configs = sorted((SOURCE / "configs").glob("*.yaml"))
    for path in configs:
        text = path.read_text()
        if text.splitlines()[0] != FIRST_LINE:
            faults.append(f"{path.name}: its first line is not '{FIRST_LINE}'")
        said = complaint(text)
        if said:
            faults.append(f"{path.name}: {said}")
    template = (SOURCE / "templates/my_scheme.yaml").read_text()
    if complaint(template):
        faults.append(f"templates/my_scheme.yaml: {complaint(template)}")
    for name, text in WRONG.items():
        if not complaint(text):
            faults.append(f"{name}: the schema takes it")
        if not refused(text):
            faults.append(f"{name}: pe-run takes it")
    for name, text in RIGHT.items():
        if complaint(text):
            faults.append(f"{name}: {complaint(text)}")
        if refused(text):
            faults.append(f"{name}: {refused(text)}")
    print(f"{len(configs)} shipped configs, {len(RIGHT)} sound and {len(WRONG)} wrong ones")
    if len(configs) < 5:
        faults.append("hardly a config in configs/")
    print("\n".join(faults))
    sys.exit(bool(faults))


main()
