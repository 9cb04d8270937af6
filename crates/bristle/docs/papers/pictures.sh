#!/bin/sh
# Makes the pictures of ../papers.md anew, and pictures.md, which holds them as data for `cargo doc`. Takes the folder that
# `bristle reproduce all --out FOLDER` has written.
set -eu
from=$1
cd "$(dirname "$0")"
cp "$from/do2007/work_precision.svg" "$from/do2007/kick.svg" "$from/do2007/clock.svg" .
cp "$from/do2007/figure15.svg" ringing.svg
cp "$from/lee1997/figure5.svg" double_pendulum.svg
cp "$from/acho2004/bounds.svg" "$from/aberger2002/engagement.svg" .
: >pictures.md
for picture in clock work_precision kick ringing double_pendulum bounds engagement; do
    printf '[%s]: data:image/svg+xml;base64,%s\n' "$picture" "$(base64 -w0 "$picture.svg")" >>pictures.md
done
