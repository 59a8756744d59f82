# vectors: what is written, that it is right, and what is refused.
. "$SOURCE/tests/cli/checks.sh"

vectors() {
  "$PE_RUN" vectors "$@"
}

# They are what the variant gives, and another variant does not.
expect_code 0 vectors rope base=5e5 --positions 0,1,1000,131071 --out rope.h5
expect_code 0 "$PE_RUN" compare rope base=5e5 --positions 0,1,1000,131071 -- rope.h5:/out_q in=rope.h5:/in_q
expect_code 0 "$PE_RUN" compare rope base=5e5 --positions 0,1,1000,131071 -- rope.h5:/out_cos
expect_code 0 "$PE_RUN" compare rope base=5e5 -- rope.h5:/derived/inv_freq
expect_code 1 "$PE_RUN" compare rope --positions 0,1,1000,131071 -- rope.h5:/out_q in=rope.h5:/in_q
expect_output "another base: 500000"
expect_code 0 vectors xpos --out xpos.h5
expect_code 0 "$PE_RUN" compare xpos -- xpos.h5:/out_k in=xpos.h5:/in_k role=key
expect_code 1 "$PE_RUN" compare xpos -- xpos.h5:/out_k in=xpos.h5:/in_k role=query
expect_code 0 vectors sinusoidal layout=halves --out s.h5
expect_code 0 "$PE_RUN" compare sinusoidal layout=halves -- s.h5:/out_embedding
expect_code 0 vectors t5 --heads 3 --out t5.h5
expect_code 0 "$PE_RUN" compare t5 table=t5.h5:/tensors/table -- t5.h5:/out_bias
expect_code 0 vectors learned max_positions=16 --out learned.h5
expect_code 0 "$PE_RUN" compare learned max_positions=16 table=learned.h5:/tensors/table -- learned.h5:/out_embedding

# The same bytes each time.
expect_code 0 vectors rope base=5e5 --positions 0,1,1000,131071 --out again.h5
cmp rope.h5 again.h5

# JSON, against the formulas in another language: float64 to the last digits.
expect_code 0 vectors rope base=5e5 rotary_dim=8 --positions 0,1,7,1000 --out rope.json
expect_code 0 vectors alibi --heads 12 --out alibi.json
expect_code 0 vectors 'learned' max_positions=16 --out learned.json
if command -v python3 >/dev/null; then
  python3 - <<'PYTHON'
import json, math

v = json.load(open("rope.json"))
t = v["tensors"]
assert v["scheme"] == "rope" and v["parameters"]["base"] == 5e5 and v["parameters"]["rotary_dim"] == 8
heads, n, d = t["in_q"]["shape"]
assert (heads, n, d) == (2, 4, 16) and t["out_scores"]["shape"] == [2, 4, 4]
positions = t["in_positions"]["data"]
turned = {}
for name in "q", "k":
    x = t["in_" + name]["data"]
    assert all(value * 1024 == int(value * 1024) and abs(value) <= 2 for value in x)
    out = list(x)
    for row in range(heads * n):
        for i in range(4):
            angle = positions[row % n] * 5e5 ** (-2 * i / 8)
            a, b = x[row * d + i], x[row * d + i + 4]
            out[row * d + i] = a * math.cos(angle) - b * math.sin(angle)
            out[row * d + i + 4] = b * math.cos(angle) + a * math.sin(angle)
    for ours, theirs in zip(out, t["out_" + name]["data"]):
        assert abs(ours - theirs) <= 2e-14 + 3e-15 * 1000, (ours, theirs)
    turned[name] = out
for i, score in enumerate(t["out_scores"]["data"]):
    h, row, column = i // (n * n), i // n % n, i % n
    q = turned["q"][(h * n + row) * d:][:d]
    k = turned["k"][(h * n + column) * d:][:d]
    assert abs(sum(a * b for a, b in zip(q, k)) / 4 - score) <= 1e-12
alibi = json.load(open("alibi.json"))
slopes = alibi["tensors"]["derived/slopes"]["data"]
expected = [2.0 ** -(h + 1) for h in range(8)] + [2.0 ** -(0.5 * (2 * h + 1)) for h in range(4)]
assert all(abs(a - b) <= 1e-14 * b for a, b in zip(slopes, expected))
PYTHON
fi

# Wrong use.
expect_code 2 vectors rope
expect_output "--out is missing"
expect_code 2 vectors --out no.h5
expect_output "no SCHEME given"
expect_code 2 vectors rope --out no.txt
expect_output "neither FILE.h5 nor FILE.json"
expect_code 2 vectors rop --out no.h5
expect_output "did you mean 'rope'"
expect_code 2 vectors rope bas=1 --out no.h5
expect_output "did you mean 'base'"
expect_code 1 vectors rope --head-dim 15 --out no.h5
expect_output "odd"
expect_code 2 vectors rope2d --out no.h5
expect_output "has 2 coordinates"
expect_code 1 vectors learned max_positions=8 --out no.h5
expect_output "E0705"
expect_code 2 vectors rope --heads none --out no.h5
mkdir -p folder.h5
expect_code 4 vectors rope --out folder.h5
test ! -e no.h5
expect_code 0 vectors --help
expect_output "--out=FILE"

# More than fits into the machine is refused at once; far positions are fine.
expect_code 2 "$PE_RUN" vectors rope --positions 0:3000000 --out huge.json
expect_output "error[E0201]: --positions: vectors of 3000000 positions and 2 heads are about 2.9e+05 GB"
[ ! -e huge.json ]
expect_code 0 "$PE_RUN" vectors rope --positions 1000000:1000016 --out far.json
