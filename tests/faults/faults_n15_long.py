"""Field report N15 (sglang #29603, 32-bit products): 46341 squared does not fit into 32 bits. A bias over so many
tokens that does not fit is refused with its true size, never a small or negative one. (That attention over so many
tokens runs in blocks is held by tests/unit/test_attention.c.)"""
import resource

from runs import *

TOKENS = 46341
BYTES = TOKENS * TOKENS * 4  # 8589953124: float32


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES // 2, BYTES // 2))


def main():
    if SANITIZER:
        print("sanitizers need more address space than this leaves")
        sys.exit(77)
    place = folder("n15")
    out = os.path.join(place, "bias.h5")
    outcome = run("apply", "alibi", "--site", "bias", "--heads", "1", "--queries", f"0:{TOKENS}", "--keys", f"0:{TOKENS}",
                  "--out", out, preexec_fn=limited)
    expect_code(outcome, 70, "a bias of 8 GiB in 4 GiB")
    expect("error[E0901]" in outcome.err and str(BYTES) in outcome.err, f"it does not say {BYTES} bytes", outcome)
    expect(not os.listdir(place), "something is left behind")
    print(f"{TOKENS} tokens: refused naming {BYTES} bytes, nothing left behind")


main()
