#!/bin/sh
# Check what `python -m lab.zoo write MODEL FOLDER` wrote, without memplan: lab/zoo/check.sh FOLDER, from a checkout.
set -eu
programs=checkers
for proof in "$1"/*.proof; do
    name=${proof%.proof}
    case $name in
    *.order) python3 $programs/order.py "${name%.order}.graph.json" "$proof" ;;
    *)
        python3 $programs/plan.py "$name.csv" "$name.plan.csv"
        python3 $programs/check.py "$name.csv" "$proof"
        ;;
    esac
done
