"""The process that people start stays small and loads no plugin, whatever the jobs take: its peak of memory is under
64 MiB, and no plugin's file is ever mapped in it."""
import time

from runs import *

LIMIT_KIB = 64 << 10
# Four jobs that keep logits, 8 heads of 512 x 512: their workers take more than the limit.
CONFIG = """\
model: {random: {heads: 8, head_dim: 64, length: 512}}
seeds: 1
schemes: [none, rope, alibi, t5]
experiments: [{extrapolation: {train_length: 256, lengths: [512], window: 64, save: [logits]}}]
"""


def watch(process):
    """Its peak in KiB, the plugins that it mapped, and the largest peak among its workers."""
    peak = worker_peak = 0
    plugins = set()
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                peak = max([peak] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
            with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
                plugins |= {line.split()[-1] for line in file if "/plugins/" in line}
            for child in children_of(process.pid):
                with open(f"/proc/{child}/status", encoding="utf-8") as file:
                    worker_peak = max([worker_peak] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has just ended
        time.sleep(0.01)
    return peak, plugins, worker_peak


def main():
    if SANITIZER:
        print("sanitizers take memory of their own: skipped")
        sys.exit(77)
    place = folder("parent")
    path = config(os.path.join(place, "config.yaml"), CONFIG)
    output = os.path.join(place, "out.h5")
    for what in ("a run", "a run that keeps all"):
        process = subprocess.Popen([PE_RUN, path, "output=" + output, "-j", "2"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        peak, plugins, worker_peak = watch(process)
        expect(process.returncode == 0, f"{what}: exit code {process.returncode}")
        expect(0 < peak < LIMIT_KIB, f"{what}: the parent took {peak / 1024:.1f} MiB")
        expect(worker_peak > LIMIT_KIB, f"{what}: {worker_peak / 1024:.1f} MiB in a worker: nothing is tested")
        expect(not plugins, f"{what}: the parent mapped {sorted(plugins)}")
        print(f"{what}: {peak / 1024:.1f} MiB in the parent, {worker_peak / 1024:.0f} MiB in a worker, no plugin mapped; "
              f"output of {os.path.getsize(output) >> 20} MiB")


main()
