#!/bin/sh
# After installation and upgrade. The service is not started by itself: it has no keys yet.
set -e
getent passwd modelgateway >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/modelgateway --shell /usr/sbin/nologin modelgateway
chgrp modelgateway /etc/modelgateway/env
chmod 0640 /etc/modelgateway/env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart modelgateway.service
fi
