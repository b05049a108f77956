package app

import (
	"strings"

	"modelgateway/models"
)

// warnOfPlatform says what the operating system does not give: docs/upgrade.md tells what to do about it.
func warnOfPlatform(system, database string, w *warner) {
	if system != "windows" {
		return
	}
	if strings.HasPrefix(database, "sqlite:") && database != models.InMemory {
		w.add("DATABASE_URL", "Windows gives the file of the database the access rights of its folder: let only the account of the gateway open it")
	}
	w.add("SHUTDOWN_GRACE_SECONDS", "Windows ends the process some seconds after its console is closed or the user logs off, even if "+
		"SHUTDOWN_GRACE_SECONDS is longer; Ctrl-C lets running streams finish")
}
