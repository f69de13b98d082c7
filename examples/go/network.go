package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const hidden = 16

// network has one hidden layer of tanh, followed by softmax.
type network struct {
	layer1, layer2     *mat.Dense // weights
	gradient1          *mat.Dense
	gradient2          *mat.Dense
	activated, guessed mat.Dense
}

// newNetwork returns a network that always has the same small initial weights.
func newNetwork() *network {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(rows, columns int) *mat.Dense {
		weights := mat.NewDense(rows, columns, nil)
		weights.Apply(func(int, int, float64) float64 { return random.NormFloat64() * 0.1 }, weights)
		return weights
	}
	return &network{
		layer1:    draw(features, hidden),
		layer2:    draw(hidden, species),
		gradient1: mat.NewDense(features, hidden, nil),
		gradient2: mat.NewDense(hidden, species, nil),
	}
}

// step trains once on all examples, and returns the loss before the update.
func (n *network) step(inputs, labels *mat.Dense, rate float64) float64 {
	loss := n.guess(inputs, labels)
	examples, _ := inputs.Dims()

	var wrong, back mat.Dense
	wrong.Sub(&n.guessed, labels)
	wrong.Scale(1/float64(examples), &wrong)
	n.gradient2.Mul(n.activated.T(), &wrong)
	back.Mul(&wrong, n.layer2.T())
	back.Apply(func(i, j int, v float64) float64 {
		a := n.activated.At(i, j)
		return v * (1 - a*a)
	}, &back)
	n.gradient1.Mul(inputs.T(), &back)

	descend := func(weights, gradient *mat.Dense) {
		weights.Apply(func(i, j int, v float64) float64 { return v - rate*gradient.At(i, j) }, weights)
	}
	descend(n.layer1, n.gradient1)
	descend(n.layer2, n.gradient2)
	return loss
}

// guess computes the probabilities of all species, and returns the mean cross entropy.
func (n *network) guess(inputs, labels *mat.Dense) float64 {
	n.activated.Mul(inputs, n.layer1)
	n.activated.Apply(func(_, _ int, v float64) float64 { return math.Tanh(v) }, &n.activated)
	n.guessed.Mul(&n.activated, n.layer2)
	loss := 0.0
	examples, _ := inputs.Dims()
	for i := range examples {
		row := n.guessed.RawRowView(i)
		total := floats.LogSumExp(row)
		for j, v := range row {
			loss -= labels.At(i, j) * (v - total)
			row[j] = math.Exp(v - total)
		}
	}
	return loss / float64(examples)
}

// accuracy returns the fraction of examples whose species the last guess got right.
func (n *network) accuracy(labels *mat.Dense) float64 {
	examples, _ := labels.Dims()
	right := 0.0
	for i := range examples {
		best := floats.MaxIdx(n.guessed.RawRowView(i))
		right += labels.At(i, best)
	}
	return right / float64(examples)
}
