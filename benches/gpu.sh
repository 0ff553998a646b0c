#!/usr/bin/env bash
# Runs device_step and its peer in PyTorch in turn on an NVIDIA GPU, and prints their lines of JSON; then the kernels of a
# step of ours, and a training from text to report.
#
# usage: benches/gpu.sh FOLDER [PATTERN]
#   FOLDER   holds the built bench (device_step or device_step-HASH) and the command dsokr
#   PATTERN  a regular expression: only parts whose names match, such as 'minilm .*bf16' or 'ours'
# PYTHON is the interpreter with PyTorch (default: python3). Whole logs go to $OUT/gpu.log, if OUT is set.
set -uo pipefail
folder=$(cd "${1:?usage: benches/gpu.sh FOLDER [PATTERN]}" && pwd)
pattern=${2:-.}
cd "$(dirname "$0")/.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$(find "$folder" -maxdepth 1 -name 'device_step*' -type f -perm -u+x | head -1)
python=${PYTHON:-python3}

# part LINES NAME COMMAND…: the last lines of its output, and of its errors if it fails
part() {
    [[ $2 =~ $pattern ]] || return 0
    local begun=$SECONDS code
    timeout 100 "${@:3}" >"$work/out" 2>"$work/err"
    code=$?
    { echo "== $2: exit $code after $((SECONDS - begun)) s" && cat "$work/err" "$work/out"; } >>"${OUT:-$work}/gpu.log"
    echo "$2: $(tail -"$1" "$work/out")"
    [ $code = 0 ] || { echo "  exit $code after $((SECONDS - begun)) s" && tail -5 "$work/err"; }
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for sizes in "minilm 6 384 12 1536 64 128" "scibert 12 768 12 3072 32 128"; do
    read -r name numbers <<<"$sizes"
    for run in "bf16 cuda" "f32 cuda" "tf32 cuda" "bf16 cuda ragged"; do # shellcheck disable=SC2086
        part 1 "$name ours $run" "$bench" $numbers $run
        for mode in compile eager; do part 1 "$name peer $run $mode" "$python" benches/device_step.py $numbers $run $mode; done
    done
done
kernels=(env CUBECL_DEBUG_LOG="$work/kernels" CUBECL_DEBUG_OPTION=profile-full "$bench" 6 384 12 1536 64 128 bf16 cuda)
part 30 "kernels" bash -c '"${@:2}" && benches/launches.py "$1" | head -29' - "$work/kernels" "${kernels[@]}"
part 9 "training" "$folder/dsokr" train configs/quickstart-transformer.toml --device cuda --out "$work/run"
