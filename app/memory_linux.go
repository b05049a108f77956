package app

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropProgramPages takes the pages of the program's own file out of the process: mostly code
// that only the start runs, or a burst. What runs again is mapped again from the system's
// cache of files. Pages that can be written are not touched.
func dropProgramPages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for r := bufio.NewReader(maps); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if from, size, ok := ownPages(line, program); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, size, syscall.MADV_DONTNEED) // memory is only kept where it fails
		}
	}
}

// ownPages reads a line of /proc/self/maps. It returns false unless these are pages of the
// program's file that are only read or executed.
func ownPages(line, program string) (from, size uintptr, ok bool) {
	fields := strings.Fields(line)
	const path = 5
	if len(fields) <= path || fields[path] != program || fields[1] != "r-xp" && fields[1] != "r--p" {
		return 0, 0, false
	}
	begin, end, _ := strings.Cut(fields[0], "-")
	b, err := strconv.ParseUint(begin, 16, 64)
	e, err2 := strconv.ParseUint(end, 16, 64)
	if err != nil || err2 != nil || e <= b {
		return 0, 0, false
	}
	return uintptr(b), uintptr(e - b), true
}
