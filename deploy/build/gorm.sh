#!/bin/sh
# Prints the flag of `go build` with which the binary is a quarter smaller, and writes the files that the flag names.
#
# GORM 1.30.2 and later look up the hooks of a model by a name that is a variable. The linker must then keep every method of every
# type. The build takes a copy of the same GORM in which the nine names are constants, and the linker leaves out what is never
# called (docs/adr/0122). A GORM without that line is built as it is: the flag is empty then.
set -eu
cd "$(dirname "$0")/../.."
call='modelValue\.MethodByName(string(cbName))'
from=$(go list -f '{{.Module.Dir}}' gorm.io/gorm)
to=bin/gorm
grep -q "$call" "$from/schema/schema.go" || { echo 'GORM has changed: deploy/build/gorm.sh has nothing to do' >&2; exit 0; }

new=$(mktemp -d "${TMPDIR:-/tmp}/gorm.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp -R "$from/." "$new"
chmod -R u+w,go+rX "$new"
find "$new" -name '*_test.go' -exec rm -f {} +
sed "s/$call/hookOf(modelValue, cbName)/" "$from/schema/schema.go" >"$new/schema/schema.go"
cp deploy/build/hooks.go.txt "$new/schema/hooks.go"
{ cat go.mod; echo; echo "replace gorm.io/gorm => ./$to"; } >"$new/build.mod"
cp go.sum "$new/build.sum"
mkdir -p bin
rm -rf "$to"
mv "$new" "$to"
trap - EXIT
echo "-modfile=$to/build.mod"
