//go:build unix

package signin

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock says whether the file is locked for this process from now on.
func tryLock(file *os.File) (bool, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
