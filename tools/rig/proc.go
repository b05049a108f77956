// Package rig is what the programs that measure the gateway share: they start gateways and a
// scripted upstream, call them, read what the processes use, and write pages. It needs Linux.
package rig

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// CPUTime is what a process with all its threads has used of the processors,
// in user and in system mode.
func CPUTime(pid int) (time.Duration, error) {
	used, err := stat(pid)
	return seconds(used.CPUTime()), err
}

func stat(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ThreadTime is CPUTime without the threads that have ended, in nanoseconds: the other has
// hundredths of a second.
func ThreadTime(pid int) (sum time.Duration, err error) {
	threads, err := procfs.AllThreads(pid)
	for _, thread := range threads {
		used, failed := thread.Schedstat()
		err = errors.Join(err, failed)
		sum += time.Duration(used.RunningNanoseconds)
	}
	return sum, err
}

// Memory is a figure of /proc/PID/status in bytes: VmRSS is what a process holds in memory,
// RssAnon the part of it that it has written to, VmHWM the most that it has held.
func Memory(pid int, name string) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	s, err := p.NewStatus()
	bytes, known := map[string]uint64{"VmRSS": s.VmRSS, "RssAnon": s.RssAnon, "VmHWM": s.VmHWM}[name]
	if err == nil && !known {
		err = errors.New("no " + name + " in /proc")
	}
	return int64(bytes), err
}

// RestartPeak makes what a process holds now its VmHWM (proc(5), clear_refs).
func RestartPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// OpenFiles is how many descriptors a process holds.
func OpenFiles(pid int) (int, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	return p.FileDescriptorsLen()
}

// TreeTime is the processor time of a process, of its children that run and of those that
// have ended: all of a PostgreSQL server. A child that ends between two readings is counted
// by its parent from then on.
func TreeTime(pid int) (time.Duration, error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for child := range strings.FieldsSeq(string(list)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		if used, err := CPUTime(id); err == nil { // else it has just ended
			sum += used
		}
	}
	const ticks = 100 // a second: USER_HZ on every architecture that Go runs on
	own, err := stat(pid)
	return sum + seconds(own.CPUTime()) + time.Duration(own.CUTime+own.CSTime)*time.Second/ticks, err
}

// Machine is how long all processors together were busy, for this system or for another
// that shares them, and how long they were idle. The time of guests is in the users' too.
func Machine() (busy, idle time.Duration, err error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, 0, err
	}
	all, err := proc.Stat()
	c := all.CPUTotal
	return seconds(c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal), seconds(c.Idle + c.Iowait), err
}
