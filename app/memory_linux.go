package app

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropProgramPages takes the pages of the program's own file out of the process: mostly code
// that only the start runs, or a burst. What runs again is mapped again from the system's
// cache of files.
func dropProgramPages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for _, m := range unchangedMappings(maps, program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.size, syscall.MADV_DONTNEED) // memory is only kept where it fails
	}
}

type mapping struct{ from, size uintptr }

// unchangedMappings reads /proc/self/smaps. It returns the mappings of the program's file that
// are only read or executed, and have no page that was changed before: the loader writes
// addresses into some and protects them then, and the file does not have these.
func unchangedMappings(smaps io.Reader, program string) (all []mapping) {
	var (
		at               mapping
		own, noneChanged bool
	)
	for r := bufio.NewReader(smaps); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return all
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2: // not a name and a value
		case !strings.HasSuffix(fields[0], ":"):
			at, own = header(fields, program)
		case fields[0] == "Anonymous:":
			noneChanged = fields[1] == "0"
		case fields[0] == "Swap:" && own && noneChanged && fields[1] == "0":
			all = append(all, at)
		}
	}
}

// header reads the first line of a mapping. It returns false unless it is of the program's
// file and cannot be written.
func header(fields []string, program string) (m mapping, ok bool) {
	const path = 5
	if len(fields) <= path || fields[path] != program || fields[1] != "r-xp" && fields[1] != "r--p" {
		return mapping{}, false
	}
	begin, end, _ := strings.Cut(fields[0], "-")
	b, err := strconv.ParseUint(begin, 16, 64)
	e, err2 := strconv.ParseUint(end, 16, 64)
	if err != nil || err2 != nil || e <= b {
		return mapping{}, false
	}
	return mapping{uintptr(b), uintptr(e - b)}, true
}
