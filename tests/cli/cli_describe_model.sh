# describe SCHEME --from config.json: tables in every format, schemes that do not match, files that are refused.
. "$SOURCE/tests/cli/checks.sh"

models=$SOURCE/data/model-configs

# Every released model, by the scheme it has.
for file in "$models"/*.json; do
  case $(basename "$file" .json) in
  bloom-560m | mpt-7b) scheme=alibi ;;
  t5-small) scheme=t5 ;;
  *) scheme=rope ;;
  esac
  expect_code 0 "$PE_RUN" describe $scheme --from "$file"
  expect_output effective_logit_multiplier
done
for format in table json csv md; do
  expect_code 0 "$PE_RUN" describe rope --from "$models/llama-4-scout.json" --format $format
  expect_output "layers without rope"
done

# The numbers of tests/golden/data/model_configs.h5, at the places where readers go wrong.
expect_code 0 "$PE_RUN" describe rope --from "$models/llama-3.1-8b.json"
expect_output "factor counts"
expect_code 0 "$PE_RUN" describe rope --from "$models/phi-4-mini.json" --format csv
expect_output "effective_logit_multiplier,1.416666666666666"
expect_output "switch_length,4096"
expect_code 0 "$PE_RUN" describe rope --from "$models/gemma-3-27b.json"
expect_output "sliding_attention      52  0-4, 6-10,"
expect_code 0 "$PE_RUN" describe rope --from "$models/qwen2.5-vl-7b.json" --format csv
expect_output "40,40,104,width,"
expect_code 0 "$PE_RUN" describe alibi --from "$models/bloom-560m.json" --format csv
expect_output "15,0.00390625"
expect_code 0 "$PE_RUN" describe t5 --from "$models/t5-small.json" --format csv
expect_output "15,91"
if command -v python3 >/dev/null; then
  "$PE_RUN" describe rope --from "$models/olmo-3.1-32b.json" --format json | python3 -c '
import json, sys
d, t, tables = json.JSONDecoder(), sys.stdin.read().strip(), []
while t:
    table, n = d.raw_decode(t)
    tables.append(table)
    t = t[n:].lstrip()
assert len(tables) == 6, [table["title"] for table in tables]
assert len(tables[1]["rows"]) == 64'
fi

# Another scheme than the file has is told, with the command that is right.
expect_code 2 "$PE_RUN" describe alibi --from "$models/llama-2-7b.json"
expect_output "describes a model with rope, not alibi"
expect_output "describe rope --from"
expect_code 2 "$PE_RUN" describe rope --from "$models/t5-small.json"
expect_output "describes a model with t5, not rope"

# The 13 broken files.
for file in "$models"/broken/*.json; do
  case $(basename "$file" .json) in
  04-* | 06-*) expect_code 0 "$PE_RUN" describe rope --from "$file" ;;
  *)
    expect_code 2 "$PE_RUN" describe rope --from "$file"
    expect_output "$file:"
    expect_output "error[E01"
    ;;
  esac
done
expect_code 0 "$PE_RUN" describe rope --from "$models/broken/04-factor-below-1.json" --format csv
expect_output "factor 0.25 is below 1"

# Files that are none.
expect_code 2 "$PE_RUN" describe rope --from missing.json
expect_output "missing.json: error[E0102]"
expect_code 2 "$PE_RUN" describe rope --from .
expect_output "a directory"
printf '{"model_type": "llama", "model_type": "llama"}' >twice.json
expect_code 2 "$PE_RUN" describe rope --from twice.json
expect_output "duplicate object key"
printf '{"rope_theta": NaN}' >nan.json
expect_code 2 "$PE_RUN" describe rope --from nan.json
expect_output "nan.json:1:"
printf '[1, 2]' >list.json
expect_code 2 "$PE_RUN" describe rope --from list.json
expect_output "a list where an object of keys is meant"
printf '{}' >empty.json
expect_code 2 "$PE_RUN" describe rope --from empty.json
expect_output "no model_type is given"
printf '{"model_type": "gpt2"}' >gpt2.json
expect_code 2 "$PE_RUN" describe rope --from gpt2.json
expect_output "'gpt2' has a learned table of positions"

# Wrong use.
expect_code 2 "$PE_RUN" describe rope base=5e5 --from "$models/llama-2-7b.json"
expect_output "no KEY=VALUE"
expect_code 2 "$PE_RUN" describe --from "$models/llama-2-7b.json"
expect_code 0 "$PE_RUN" describe --help
expect_output "--from=config.json"
