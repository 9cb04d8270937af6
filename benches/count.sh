#!/usr/bin/env bash
# Instructions per call of the tree kernels under callgrind: the difference of two runs, so that start-up drops out.
set -eu
cd "$(dirname "$0")/.."
bin=$(cargo bench --bench kernels --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json,sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("executable") and m["target"]["name"] == "kernels": print(m["executable"])')
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bin" --count "$1" "$2" "$3" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
printf '%-18s' kernel
machines=${MACHINES:-pend2 arm7 tree36 chain16 chain128}
for machine in $machines; do printf '%10s' "$machine"; done
echo
for kernel in ${KERNELS:-aba rnea crba jerk reactions rnea_derivatives aba_derivatives}; do
    printf '%-18s' "$kernel"
    for machine in $machines; do
        few=$(count "$kernel" "$machine" 100)
        many=$(count "$kernel" "$machine" 300)
        printf '%10d' $(((many - few) / 200))
    done
    echo
done
