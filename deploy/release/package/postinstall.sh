#!/bin/sh
# After installation and upgrade. The service is not started by itself: it has no keys yet.
set -e
getent passwd modelgateway >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/modelgateway --shell /usr/sbin/nologin modelgateway
# systemd makes it as well, but commands may run before the first start.
install -d -o modelgateway -g modelgateway -m 0700 /var/lib/modelgateway
chgrp modelgateway /etc/modelgateway/env
chmod 0640 /etc/modelgateway/env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart modelgateway.service
fi
