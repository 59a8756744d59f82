"""A disk that is really full: exit 4 with the reason, nothing broken and nothing lost; enlarged, the same command goes
on to the bytes of a run that had room. Needs root, for a small tmpfs; else skipped."""
from runs import *

CONFIG = CONFIG.replace("length: 4}}", "length: 4}}\nseeds: 4")
SIZES = (0, 8, 40, 100, 200, 400)  # KiB


def mount(where, *arguments):
    done = subprocess.run(["mount", *arguments, where], capture_output=True, text=True, check=False)
    return done.returncode == 0


def check(place, disk, size, whole, path):
    """A run on a disk of this size, then on a larger one; and how many jobs were kept."""
    output = os.path.join(disk, "out.h5")
    if not mount(disk, "-t", "tmpfs", "-o", f"size={max(size, 4)}k,nr_inodes=100", "tmpfs"):
        print("a tmpfs cannot be mounted here: skipped")
        sys.exit(77)
    try:
        if size == 0:  # not even a folder
            with open(os.path.join(disk, "filler"), "wb") as file:
                file.write(b"\0" * 4096)
        outcome = run(path, "output=" + output)
        expect_code(outcome, 4, f"a disk of {size} KiB")
        expect("No space left on device" in outcome.err and disk in outcome.err, "no word of the disk, or of the file", outcome)
        expect(not os.path.exists(output) and not left_behind(disk), f"{size} KiB: something is left", outcome)
        held = [name for name in parts(output) or [] if name.endswith(".h5")]
        expect(mount(disk, "-o", "remount,size=64m"), "the disk cannot be enlarged")
        again = run(path, "output=" + output)
        expect_code(again, 0, f"{size} KiB, enlarged")
        expect(len(again.jobs("kept")) == len(held), f"{size} KiB: {len(held)} parts, but not as many kept", again)
        expect(digest(output) == whole, f"{size} KiB, enlarged: other bytes", again)
        return len(held)
    finally:
        subprocess.run(["umount", disk], check=True)


def main():
    if os.geteuid() != 0:
        print("not root: skipped")
        sys.exit(77)
    place = folder("full")
    whole, path = reference(place, CONFIG)
    disk = folder(os.path.join(place, "disk"))
    held = [check(place, disk, size, whole, path) for size in SIZES]
    expect(held[0] == 0 and 0 < held[-1] < len(JOBS) * 4, f"jobs kept on disks of {SIZES} KiB: {held}: no size is between")
    print(f"disks of {SIZES} KiB keep {held} of {len(JOBS) * 4} jobs; enlarged, all have the same bytes")


main()
