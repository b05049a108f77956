package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// cpuTime is what a process with all its threads has used of the processors,
// in user and in system mode.
func cpuTime(pid int) (time.Duration, error) {
	const utime, stime = 14, 15 // as proc(5) counts them
	return statTimes(strconv.Itoa(pid), utime, stime)
}

// statTimes is the sum of some fields of /proc/PID/stat.
func statTimes(pid string, fields ...int) (time.Duration, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in brackets, the second field, may hold anything: count from its end.
	rest := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var sum int64
	for _, field := range fields {
		if len(rest) < field-2 {
			return 0, fmt.Errorf("/proc/%s/stat is not in its form", pid)
		}
		n, err := strconv.ParseInt(rest[field-3], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// residentMemory is what a process holds in memory, in KiB, its program and
// shared pages included.
func residentMemory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strconv.ParseFloat(strings.Fields(value)[0], 64)
		}
	}
	return 0, errors.New("no VmRSS in /proc")
}

// openFiles is how many descriptors a process holds.
func openFiles(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

// listener is the process that listens on a TCP port of this machine, or 0.
func listener(port string) int {
	number, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	inode := listeningInode(number)
	if inode == "" {
		return 0
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2]) // the pattern lets only digits in
			return pid
		}
	}
	return 0
}

func listeningInode(port int) string {
	const listening = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == listening {
				return fields[9]
			}
		}
	}
	return ""
}

// busyTime is the processor time of all visible processes, with that of ended
// children.
func busyTime() (time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	const utime, stime, cutime, cstime = 14, 15, 16, 17
	var sum time.Duration
	for _, entry := range entries {
		if name := entry.Name(); name[0] >= '1' && name[0] <= '9' {
			used, err := statTimes(name, utime, stime, cutime, cstime)
			if err == nil { // else it has just ended
				sum += used
			}
		}
	}
	return sum, nil
}
