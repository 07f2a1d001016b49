#!/bin/sh
# Check what `python -m lab.zoo write MODEL FOLDER` wrote, without memplan: lab/zoo/check.sh FOLDER, from a checkout.
set -eu
folder=$1
cc -O2 -o "$folder/check" extensions/checkers/check.c
cc -O2 -o "$folder/plan" extensions/checkers/plan.c
for proof in "$folder"/*.proof; do
    name=${proof%.proof}
    case $name in
    *.order) python3 extensions/checkers/order.py "${name%.order}.graph.json" "$proof" ;;
    *)
        "$folder/plan" "$name.csv" "$name.plan.csv"
        "$folder/check" "$name.csv" "$proof"
        ;;
    esac
done
