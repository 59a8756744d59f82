"""No plugin makes pe-run exit 0 without its results: every plugin of tests/bad_plugins, named in a config, either has
its results in the output, or costs its own job (exit 1), or is refused before the first one (exit 3), with the code and
the sentence that say why."""
import json

from sweep import *

CONFIG = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 4}}
seed: 3
schemes:
  - alibi
  - %s: {}
    label: bad
    plugin: %s
experiments: [equivariance, {relative_position: {length: 8, shifts: [1, 7]}}]
"""

REFUSED = {
    "default_out_of_range": ("E0307", "the default 11 is not in"),
    "entry_is_function": ("E0305", "is no data"),
    "entry_too_small": ("E0306", "takes 4 bytes"),
    "id_with_slash": ("E0307", "its id does not match"),
    "ids_twice": ("E0307", "the id stands twice"),
    "newer_major": ("E0306", "built for version 99.3"),
    "no_entry": ("E0305", "exports no pe_plugin_entry"),
    "null_create": ("E0307", "create is NULL"),
    "null_member": ("E0307", "bias_add is NULL"),
    "null_schemes": ("E0307", "schemes is NULL"),
    "older_layout": ("E0306", "the struct_size of pe_plugin_entry is 40"),
    "undefined_symbol": ("E0304", "undefined symbol: missing_fn"),
    "wrong_magic": ("E0306", "the magic of pe_plugin_entry"),
    "deadly/constructor_crashes": ("E0309", "SIGSEGV"),
    "deadly/constructor_exits": ("E0309", "ended the process by exit("),
    "deadly/constructor_hangs": ("E0310", "was not loaded within"),
}
FAILED = {
    "bias_infinite": ("E0703", "bias_add gave"),
    "create_crashes": ("E0701", ""),
    "create_nothing": ("E0702", "create returned PE_OK and no instance"),
    "create_refuses_defaults": ("E0701", "base must be a power of two"),
    "derived_grows": ("E0702", "needs 4 elements, then 5"),
    "destroy_twice": ("E0706", "SIG"),
    "domain_nonsense": ("E0702", "domain makes no sense"),
    "embed_nan": ("E0703", "embed_add gave"),
    "ends_abort": ("E0706", "SIGABRT"),
    "ends_exit": ("E0706", "ended the process by exit(0)"),
    "ends_exit_now": ("E0706", "ended the process by exit(0)"),
    "ends_memory": ("E0708", "out of memory"),
    "ends_never": ("E0707", "--timeout"),
    "ends_never_stubborn": ("E0707", "--timeout"),
    "ends_stack": ("E0706", "SIGSEGV"),
    "frees_host_memory": ("E0706", "SIG"),
    "process_closes_files": ("E0706", "closed files that are pe-run's own"),
    "qk_nan": ("E0703", "qk_apply gave"),
    "qk_unwritten": ("E0703", "unwritten"),
    "scale_nan": ("E0702", "score_scale is not a finite number"),
    "shape_overflow": ("E0702", "tensor_shape of gain makes no sense"),
    "status_silent": ("E0702", "PE_ERR_INTERNAL"),
    "status_unknown": ("E0702", "a status the contract does not have (99)"),
    "trait_content_not_told": ("E0706", "SIGSEGV"),
    "traits_lost": ("E0702", "lacks traits of the scheme"),
    "width_zero": ("E0702", "qk_width is 0"),
    "writes_after": ("E0704", "embed_add wrote outside its buffer"),
    "writes_before": ("E0706", "SIG"),
    "writes_far": ("E0706", "SIGSEGV"),
    "writes_null": ("E0706", "SIGSEGV"),
}
# Their schemes have names of their own.
OWN_NAME = {"sound", "sound_gradient", "fast_math", "helper_1", "helper_2", "newer_minor", "thread_destructor"}
SOON = {"ends_never", "ends_never_stubborn"}


def plugins():
    found = []
    for place in ("", "deadly/"):
        for name in sorted(os.listdir(os.path.join(BAD_PLUGINS, place))):
            if name.endswith(".so"):
                found.append(place + name[:-3])
    return found


def jobs_with_numbers(output):
    shown = run("show", output, "--format", "json")
    rows = json.loads(shown.out.split("\n}\n")[0] + "\n}")["rows"] if shown.code == 0 else []
    return {row["path"] for row in rows if row["status"] == "measured" and row["tensors"]}


def try_plugin(place, name):
    scheme = os.path.basename(name) if name in OWN_NAME else "spoiled"
    stem = os.path.join(place, name.replace("/", "_"))
    path = config(stem + ".yaml", CONFIG % (scheme, os.path.join(BAD_PLUGINS, name + ".so")))
    limit = "2s" if name in SOON else "10m"
    outcome = run(path, f"output={stem}.h5", "-j1", "--threads", "1", "--timeout", limit, "--memory", "300M")
    code, sentence = REFUSED.get(name) or FAILED.get(name) or ("", "")
    told = [line for line in outcome.err.splitlines() if f"error[{code}]" in line and sentence in line]
    if name in REFUSED:
        expect_code(outcome, 3, name)
        expect(told and not os.path.exists(stem + ".h5"), f"{name}: {code}, '{sentence}'", outcome)
    elif name in FAILED:
        expect_code(outcome, 1, name)
        expect(any("/bad failed" in line for line in told), f"{name}: {code}, '{sentence}'", outcome)
        expect(not re.search(r"/(alibi|none) failed", outcome.err), f"{name}: costs another's job", outcome)
    else:
        expect_code(outcome, 0, name)
        missing = {"equivariance/bad", "relative_position/bad"} - jobs_with_numbers(stem + ".h5")
        expect(not missing, f"{name}: exit 0 without the results of {missing}", outcome)


def main():
    if SANITIZER:
        print("sanitizers end these plugins otherwise")
        sys.exit(77)
    place = folder("every_plugin")
    runs.PE_RUN = small_home(place)
    names = plugins()
    missing = (REFUSED.keys() | FAILED.keys()) - set(names)
    expect(not missing, f"not built: {missing}")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for tried in [pool.submit(try_plugin, place, name) for name in names]:
            tried.result()
    n_sound = len(names) - len(REFUSED) - len(FAILED)
    print(f"{len(names)} plugins: {len(REFUSED)} refused, {len(FAILED)} cost their own job, {n_sound} have their results")


main()
