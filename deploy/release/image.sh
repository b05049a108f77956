#!/usr/bin/env bash
# usage: image.sh VERSION FOLDER IMAGE [FLAG…]   Builds the image for amd64 and arm64 with the binaries of FOLDER, so that an image and
# the archives of a release are the same program, and no processor has to be emulated. Without --push it is written to a file.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1#v} folder=$2 image=$3
shift 3
work=$(mktemp -d "${TMPDIR:-/tmp}/release-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data"
for processor in amd64 arm64; do
  name=modelgateway_${version}_linux_$processor
  tar -xzf "$folder/$name.tar.gz" -C "$work" "$name/modelgateway"
  mkdir -p "$work/linux/$processor"
  mv "$work/$name/modelgateway" "$work/linux/$processor/modelgateway"
done
[ $# -gt 0 ] || set -- --output "type=oci,dest=$folder/modelgateway_${version}_image.tar"
docker buildx build --platform linux/amd64,linux/arm64 --provenance=mode=max --sbom=true \
  --tag "$image:$version" --label "org.opencontainers.image.version=$version" --label org.opencontainers.image.licenses=Apache-2.0 \
  -f deploy/release/Dockerfile "$@" "$work"
