//go:build unix

package main

import (
	"math"
	"slices"
)

// point is one measurement of a component: what it used with so many replicas at so many
// calls a second, while a share of the machine's processors was idle.
type point struct {
	replicas, rate, idle float64
	used                 float64 // milliseconds of processor time a second
}

// model is what a component uses: an amount for each replica, even without calls, an amount for
// each call, and more for a call that wakes an idle processor.
type model struct {
	perReplica float64 // milliseconds of processor time a second
	perCall    float64 // microseconds of processor time
	perWake    float64 // microseconds of processor time, times the idle share
	typical    float64 // the median difference of a measurement from the model, as a share of the measurement
	off        float64 // the largest difference of a measurement from the model, as a share of the measurement
}

// leastSeen is the least that a measurement of some seconds can tell from nothing, since the
// kernel counts in hundredths of a second.
const leastSeen = 1.0

// terms is how many numbers a model has.
const terms = 3

// at is what the model says: milliseconds of processor time a second.
func (m model) at(replicas, rate, idle float64) float64 {
	return m.perReplica*replicas + (m.perCall+m.perWake*idle)*rate/1000
}

// fit finds the model with the least squares of differences as shares of what was measured:
// so that a difference of a tenth counts the same at each rate. A number that would be
// negative is left out, and so is one that the measurements do not tell from another.
func fit(points []point) (m model, err error) {
	use := [terms]bool{true, true, true}
	for {
		found, err := leastSquares(points, use)
		if err != nil && use[terms-1] { // the machine was never idle, or always as idle
			use[terms-1] = false
			continue
		}
		if err != nil {
			return m, err
		}
		least := 0
		for i := range found {
			if found[i] < found[least] {
				least = i
			}
		}
		if found[least] >= 0 {
			m = model{perReplica: found[0], perCall: found[1], perWake: found[2]}
			break
		}
		use[least] = false
	}
	differences := make([]float64, 0, len(points))
	for _, p := range points {
		differences = append(differences, math.Abs(m.at(p.replicas, p.rate, p.idle)-p.used)/max(p.used, leastSeen))
	}
	slices.Sort(differences)
	m.typical, m.off = differences[len(differences)/2], differences[len(differences)-1]
	return m, nil
}

// leastSquares solves the normal equations of those terms that are used; the others are 0.
func leastSquares(points []point, use [terms]bool) (x [terms]float64, err error) {
	var a [terms][terms + 1]float64
	for _, p := range points {
		weight := 1 / max(p.used, leastSeen)
		row := [terms]float64{p.replicas, p.rate / 1000, p.rate / 1000 * p.idle}
		for i := range row {
			for j := range row {
				if use[i] && use[j] {
					a[i][j] += row[i] * row[j] * weight * weight
				}
			}
			if use[i] {
				a[i][terms] += row[i] * p.used * weight * weight
			}
		}
	}
	for i := range a {
		if !use[i] {
			a[i][i] = 1
		}
	}
	return eliminate(a)
}

// eliminate solves equations whose matrix is positive definite.
func eliminate(a [terms][terms + 1]float64) (x [terms]float64, err error) {
	for i := range a {
		first := a[i][i]
		for before := range i {
			factor := a[i][before] / a[before][before]
			for j := range a[i] {
				a[i][j] -= factor * a[before][j]
			}
		}
		if a[i][i] <= 1e-9*first {
			return x, errNoFigures
		}
	}
	for i := terms - 1; i >= 0; i-- {
		x[i] = a[i][terms]
		for j := i + 1; j < terms; j++ {
			x[i] -= a[i][j] * x[j]
		}
		x[i] /= a[i][i]
	}
	return x, nil
}
