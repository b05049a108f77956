#!/usr/bin/env bash
# usage: check.sh VERSION [FLAG…]   Makes a release twice and compares: in two folders of other names, with a cache of builds each,
# so that nothing of the first one is in the second one. Only the end time in the provenance, and signatures, may differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/release-check.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
for folder in first "second/deeper down"; do
  mkdir -p "$work/$folder"
  git archive HEAD | tar -x -C "$work/$folder"
  (cd "$work/$folder" && umask "$([ "$folder" = first ] && echo 022 || echo 077)" &&
    GOCACHE="$work/cache-${folder%%/*}" go run ./deploy/release -version "$version" -out dist "$@")
  rm -rf "$work/cache-${folder%%/*}"
done
echo "comparing"
diff -r --exclude='*.provenance.json' --exclude='*.sig' "$work/first/dist" "$work/second/deeper down/dist"
[ -s "$work/first/dist/checksums.txt" ]
echo "equal: $(wc -l <"$work/first/dist/checksums.txt") files"
