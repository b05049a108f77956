# Installs the Debian package $1, without starting its service or creating a cluster:
# the tests need only the programs.
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.conf

undo() {
	rm -f "$policy"
	for file in "$policy" "$clusters"; do
		[ ! -e "$file.kept" ] || mv "$file.kept" "$file"
	done
}
trap undo EXIT
[ -e "$policy.kept" ] || [ ! -e "$policy" ] || mv "$policy" "$policy.kept"
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod +x "$policy"

get() { apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; }
get update
case $1 in
postgresql)
	get install --no-install-recommends postgresql-common
	[ -e "$clusters.kept" ] || cp -p "$clusters" "$clusters.kept"
	echo 'create_main_cluster = false' >>"$clusters"
	get install --no-install-recommends postgresql
	;;
*)
	get install --no-install-recommends "$1"
	# Some packages have a unit of systemd and no script.
	update-rc.d "$1" disable || ! command -v systemctl >/dev/null || systemctl disable "$1"
	;;
esac
