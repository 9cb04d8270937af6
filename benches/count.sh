#!/usr/bin/env bash
# Instructions per call of the tree kernels under callgrind, counted from entry to return.
set -eu
cd "$(dirname "$0")/.."
bin=$(cargo bench --bench kernels --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json,sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("executable") and m["target"]["name"] == "kernels": print(m["executable"])')
calls=200
count() {
    local out
    out=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="bristle_multibody::*::$1" \
        "$bin" --count "$1" "$2" $calls 2>&1) || {
        # valgrind 3.19 does not know one encoding of `vmovq` that compilers emit for AVX
        echo "$out" | sed -n 's/.*\(unhandled instruction\|SIG\)/\1/p' >&2
        echo "this valgrind cannot run the kernels: take a newer one" >&2
        exit 1
    }
    echo "$out" | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
printf '%-18s' kernel
machines=${MACHINES:-pend2 arm7 tree36 chain16 chain128}
for machine in $machines; do printf '%10s' "$machine"; done
echo
for kernel in ${KERNELS:-aba rnea crba jerk reactions rnea_derivatives aba_derivatives factor_rows solve_rows jerk_begin jerk_rows}; do
    printf '%-18s' "$kernel"
    for machine in $machines; do
        n=$(count "$kernel" "$machine")
        printf '%10d' $((n / calls))
    done
    echo
done
