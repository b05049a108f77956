#!/bin/sh
# dpkg says "remove", rpm the number of packages that are left. An upgrade leaves the service running.
set -e
case ${1:-} in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now modelgateway.service
  fi
  ;;
esac
