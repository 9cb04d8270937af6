#!/usr/bin/env bash
# Instructions per evaluation and joint of the formulations under callgrind, on chains of pins.
set -eu
cd "$(dirname "$0")/.."
bin=$(cargo bench -p bristle-papers --bench pendulum_formulations --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json,sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("executable") and m["target"]["name"] == "pendulum_formulations": print(m["executable"])')
rounds=2
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='bristle_papers::bench::chains::Chain::evaluate' \
        "$bin" --count "$1" "$2" $rounds 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
lengths=${LENGTHS:-2 4 8 16 32 64 128 256}
printf '%-24s' formulation
for n in $lengths; do printf '%8s' "$n"; done
echo
for way in "… crossings located" implicit jerk; do
    printf '%-24s' "$way"
    for n in $lengths; do
        # sixty points a round
        printf '%8d' $(($(count "$way" "$n") / (60 * rounds * n)))
    done
    echo
done
