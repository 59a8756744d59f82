#!/bin/sh
# check_configs.sh PE_RUN PYTHON CHECK_VIEWERS CONFIGS FOLDER: run every config and open its results everywhere.
set -e
"$2" -c 'import h5py, netCDF4, xarray' 2>/dev/null || exit 77
for config in "$4"/*.yaml; do
  # Minutes of training on a text that is not in the tree; the quick variant stands for them.
  case $(basename "$config") in length_generalization.yaml | tasks.yaml | trained_checkpoints.yaml | trained_for_decide.yaml) continue ;; esac
  # Two rows of the grid have all that six have; three values of a number make the report's lines.
  rows=
  case $(basename "$config") in
  trained_grid.yaml) rows="sweep={extrapolation.weights: [$4/../data/trained/rope-0.h5, $4/../data/trained/alibi-0.h5], t5.max_distance: [24, 32, 48]}" ;;
  esac
  "$1" "$config" --quiet output="$5/$(basename "$config" .yaml).h5" ${rows:+"$rows"} >/dev/null
done
exec "$2" "$3" "$5"/*.h5
