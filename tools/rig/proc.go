// Package rig is what the programs that measure the gateway share: they start gateways and a
// scripted upstream, call them, read what the processes use, and write pages. It needs Linux.
package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// CPUTime is what a process with all its threads has used of the processors,
// in user and in system mode.
func CPUTime(pid int) (time.Duration, error) {
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

// Memory is a figure of /proc/PID/status in bytes: VmRSS is what a process holds in memory,
// RssAnon the part of it that it has written to, VmHWM the most that it has held.
func Memory(pid int, name string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no " + name + " in /proc")
}

// RestartPeak makes what a process holds now its VmHWM (proc(5), clear_refs).
func RestartPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// OpenFiles is how many descriptors a process holds.
func OpenFiles(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

// TreeTime is the processor time of a process, of its children that run and of those that
// have ended: all of a PostgreSQL server. A child that ends between two readings is counted
// by its parent from then on.
func TreeTime(pid int) (time.Duration, error) {
	const utime, stime, cutime, cstime = 14, 15, 16, 17
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for child := range strings.FieldsSeq(string(list)) {
		if used, err := statTimes(child, utime, stime); err == nil { // else it has just ended
			sum += used
		}
	}
	own, err := statTimes(strconv.Itoa(pid), utime, stime, cutime, cstime)
	return sum + own, err
}

// Machine is how long all processors together were busy, for this system or for another
// that shares them, and how long they were idle.
func Machine() (busy, idle time.Duration, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	const first, idling, waiting, last = 1, 4, 5, 8 // as proc(5) has them; guests are in the first two
	if len(fields) <= last {
		return 0, 0, errors.New("/proc/stat is not in its form")
	}
	for i := first; i <= last; i++ {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		if i == idling || i == waiting {
			idle += time.Duration(n) * tick
		} else {
			busy += time.Duration(n) * tick
		}
	}
	return busy, idle, nil
}
